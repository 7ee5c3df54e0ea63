//! Wraps text to a width.

use ralph_model::{display_width, pieces};

/// Wraps a text between words. Words longer than a line are broken too.
pub(crate) fn wrapped(text: &str, width: usize) -> Vec<String> {
    filled(text.split_whitespace(), width, |word| pieces(word, width))
}

/// Wraps a text without breaking words or commands between backticks, so that people can copy them.
pub(crate) fn wrapped_around_commands(text: &str, width: usize) -> Vec<String> {
    if display_width(text) <= width {
        return vec![text.to_owned()];
    }
    let pairs = text.matches('`').count() / 2;
    let mut seen = 0;
    let is_between_words = |c: char| {
        seen += usize::from(c == '`');
        c.is_whitespace() && (seen % 2 == 0 || seen > pairs * 2)
    };
    let words = text.split(is_between_words).filter(|word| !word.is_empty());
    filled(words, width, |word| vec![word.to_owned()])
}

/// Fills lines with words; `too_long` splits a word that is longer than a line.
fn filled<'a>(
    words: impl Iterator<Item = &'a str>,
    width: usize,
    too_long: impl Fn(&str) -> Vec<String>,
) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in words {
        match lines.last_mut() {
            Some(line) if display_width(line) + 1 + display_width(word) <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ if display_width(word) <= width => lines.push(word.to_owned()),
            _ => lines.extend(too_long(word)),
        }
    }
    lines
}

/// Wraps each line of a text with [`hung`]. Blank lines are dropped and control characters become spaces.
pub(crate) fn folded(text: &str, width: usize) -> Vec<String> {
    let visible = |line: &str| -> String { line.chars().map(|c| if c.is_control() { ' ' } else { c }).collect() };
    let lines = text.lines().map(|line| visible(line).trim_end().to_owned());
    let lines = lines.filter(|line| !line.is_empty());
    lines.flat_map(|line| hung(&line, width)).collect()
}

/// Like [`folded`], cut to a number of lines with an ellipsis.
pub(crate) fn folded_within(text: &str, width: usize, limit: usize) -> Vec<String> {
    let mut lines = folded(text, width);
    if lines.len() > limit {
        lines.truncate(limit);
        if let Some(last) = lines.last_mut() {
            let columns = width.saturating_sub(1);
            *last = format!(
                "{}…",
                pieces(last, columns).into_iter().next().unwrap_or_default().trim_end()
            );
        }
    }
    lines
}

/// The widest label with hanging text.
const WIDEST_LABEL: usize = 24;

/// Wraps a line with a hanging indent: continuation lines align with the text after the label, or with the indentation.
pub(crate) fn hung(line: &str, width: usize) -> Vec<String> {
    if display_width(line) <= width {
        return vec![line.to_owned()];
    }
    let text = text_of(line, width);
    let label = line.strip_suffix(text).unwrap_or_default();
    let indent = " ".repeat(display_width(label));
    let starts = std::iter::once(label).chain(std::iter::repeat(indent.as_str()));
    let texts = wrapped(text, width.saturating_sub(indent.len()));
    starts
        .zip(texts)
        .map(|(start, text)| format!("{start}{text}"))
        .collect()
}

/// The text of a line after its indentation and label, which two spaces or more separate. A label wider than half the
/// width is part of the text.
fn text_of(line: &str, width: usize) -> &str {
    let content = line.trim_start();
    let Some((label, text)) = content.split_once("  ") else {
        return content;
    };
    let text = text.trim_start();
    let before = display_width(line.strip_suffix(text).unwrap_or_default());
    match label.is_empty() || text.is_empty() || before > WIDEST_LABEL.min(width.div_ceil(2)) {
        true => content,
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_between_words() {
        assert_eq!(wrapped("aa bb  cc\nddddd e", 5), ["aa bb", "cc", "ddddd", "e"]);
        assert_eq!(wrapped("日本 語", 5), ["日本", "語"]);
        assert_eq!(wrapped(" ", 5), [""; 0]);
    }

    #[test]
    fn long_words_are_broken() {
        assert_eq!(wrapped("a bbbbbbb c", 5), ["a", "bbbbb", "bb c"]);
        assert_eq!(wrapped("日本語", 5), ["日本", "語"]);
        assert_eq!(hung("why  test_totals", 9), ["why  test", "     _tot", "     als"]);
    }

    #[test]
    fn folding_keeps_lines_and_text() {
        assert_eq!(folded("a  b\n\n  c\r\nd e f g\n", 5), ["a  b", "  c", "d e f", "g"]);
        assert_eq!(folded("x abcdefgh y", 5), ["x", "abcde", "fgh y"]);
        assert_eq!(folded("a\u{1b}[2Jb", 9), ["a [2Jb"]);
        assert_eq!(folded(" \n", 5), [""; 0]);
    }

    #[test]
    fn cut_text_ends_with_an_ellipsis() {
        assert_eq!(folded_within("aaaa bbbb cccc", 5, 3), ["aaaa", "bbbb", "cccc"]);
        assert_eq!(folded_within("aaaa bbbb cccc", 5, 2), ["aaaa", "bbbb…"]);
        assert_eq!(folded_within("aaaaa bbbbb c", 5, 2), ["aaaaa", "bbbb…"]);
    }

    #[test]
    fn continuation_lines_hang_below_the_text() {
        assert_eq!(hung("task    read the page", 21), ["task    read the page"]);
        assert_eq!(hung("task    read the page", 16), ["task    read the", "        page"]);
        assert_eq!(hung("  one two three", 9), ["  one two", "  three"]);
        assert_eq!(hung("one two three", 7), ["one two", "three"]);
        let far = "a word or two before the label  text";
        assert_eq!(hung(far, 24), ["a word or two before the", "label text"]);
        assert_eq!(hung("abc  abcdefgh", 5), ["abc", "abcde", "fgh"]);
    }

    #[test]
    fn commands_are_not_broken() {
        let hint = "Hint: `ralph a  b` does it; `c d`, too";
        assert_eq!(wrapped_around_commands(hint, 38), [hint]);
        assert_eq!(
            wrapped_around_commands(hint, 24),
            ["Hint: `ralph a  b` does", "it; `c d`, too"]
        );
        assert_eq!(
            wrapped_around_commands(hint, 8),
            ["Hint:", "`ralph a  b`", "does it;", "`c d`,", "too"]
        );
        assert_eq!(
            wrapped_around_commands("a `b c` and ` is no pair", 9),
            ["a `b c`", "and ` is", "no pair"]
        );
        assert_eq!(
            wrapped_around_commands("it is in /a/long/path now", 9),
            ["it is in", "/a/long/path", "now"]
        );
    }

    #[test]
    fn blank_lines_have_no_text() {
        assert_eq!(hung("          ", 5), [""; 0]);
    }
}
