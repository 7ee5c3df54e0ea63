//! Sentences within a width.

use ralph_model::{display_width, pieces};

/// The lines of a text that are at most so wide, broken between words. A longer word has a line of its own.
pub(crate) fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if display_width(line) + 1 + display_width(word) <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// All of a text within a width: its own lines as they are where they fit, else broken between words, and a word that is
/// longer than a line is broken, too. Blank lines are left out. What a terminal would obey is a space.
pub(crate) fn folded(text: &str, width: usize) -> Vec<String> {
    let visible = |line: &str| -> String { line.chars().map(|c| if c.is_control() { ' ' } else { c }).collect() };
    let lines = text.lines().map(|line| visible(line).trim_end().to_owned());
    let lines = lines.filter(|line| !line.is_empty());
    let fold = |line: String| match display_width(&line) <= width {
        true => vec![line],
        false => wrapped(&line, width),
    };
    let break_up = |line: String| match display_width(&line) <= width {
        true => vec![line],
        false => pieces(&line, width),
    };
    lines.flat_map(fold).flat_map(break_up).collect()
}

/// The same on so many lines at most, with an ellipsis where the rest is left out.
pub(crate) fn folded_within(text: &str, width: usize, most: usize) -> Vec<String> {
    let mut lines = folded(text, width);
    if lines.len() > most {
        lines.truncate(most);
        if let Some(last) = lines.last_mut() {
            let room = width.saturating_sub(1);
            *last = format!(
                "{}…",
                pieces(last, room).into_iter().next().unwrap_or_default().trim_end()
            );
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_full_and_words_whole() {
        assert_eq!(wrapped("aa bb  cc\ndddddd e", 5), ["aa bb", "cc", "dddddd", "e"]);
        assert_eq!(wrapped("日本 語", 5), ["日本", "語"]);
        assert_eq!(wrapped(" ", 5), [""; 0]);
    }

    #[test]
    fn a_text_keeps_its_lines_and_nothing_of_it_is_lost() {
        assert_eq!(folded("a  b\n\n  c\r\nd e f g\n", 5), ["a  b", "  c", "d e f", "g"]);
        assert_eq!(folded("x abcdefgh y", 5), ["x", "abcde", "fgh", "y"]);
        assert_eq!(folded("a\u{1b}[2Jb", 9), ["a [2Jb"]);
        assert_eq!(folded(" \n", 5), [""; 0]);
    }

    #[test]
    fn what_is_left_out_is_said() {
        assert_eq!(folded_within("aaaa bbbb cccc", 5, 3), ["aaaa", "bbbb", "cccc"]);
        assert_eq!(folded_within("aaaa bbbb cccc", 5, 2), ["aaaa", "bbbb…"]);
        assert_eq!(folded_within("aaaaa bbbbb c", 5, 2), ["aaaaa", "bbbb…"]);
    }
}
