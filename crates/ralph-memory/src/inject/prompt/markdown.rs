//! Contains foreign text, so that it cannot break the structure of a prompt.

use ralph_notes::{Fences, normalise_line_breaks, quoted};

/// A text in a fence that is longer than any fence in it.
pub(super) fn fenced(text: &str) -> String {
    let fence = fence_for(text);
    let end = if text.ends_with('\n') { "" } else { "\n" };
    format!("{fence}\n{text}{end}{fence}\n")
}

pub(super) fn fence_for(text: &str) -> String {
    "`".repeat((longest_row_of_ticks(text) + 1).max(3))
}

fn longest_row_of_ticks(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or_default()
}

/// A block quote: with `>` before every line, none can be mistaken for the prompt's structure. Empty for a blank text.
pub(crate) fn quote(text: &str) -> String {
    match without_controls(text).trim_end() {
        "" => String::new(),
        text => quoted(text),
    }
}

/// A title on one line that cannot become a heading of its own.
pub(super) fn title(text: &str) -> String {
    let line = one_line(text);
    if line.starts_with('#') {
        format!("\\{line}")
    } else {
        line
    }
}

pub(super) fn one_line(text: &str) -> String {
    let spaced: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    spaced.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A text without control characters. Line breaks of any kind become `
/// `.
pub(crate) fn without_controls(text: &str) -> String {
    let is_break = |c: char| matches!(c, '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}');
    let is_kept = |c: &char| matches!(c, '\n' | '\t') || !c.is_control();
    let breaks = normalise_line_breaks(text);
    let lines = breaks.chars().map(|c| if is_break(c) { '\n' } else { c });
    lines.filter(is_kept).collect()
}

/// A text as inline code.
pub(super) fn code(line: &str) -> String {
    let longest = longest_row_of_ticks(line);
    let ticks = "`".repeat(longest + 1);
    // Spaces keep its own backticks apart.
    let gap = if longest > 0 { " " } else { "" };
    format!("{ticks}{gap}{line}{gap}{ticks}")
}

/// A text at the end of a list item; further lines are quoted inside the item.
pub(super) fn in_item(text: &str) -> String {
    let text = without_controls(text);
    let mut lines = text.trim().lines().map(str::trim_end);
    let mut item = lines.next().unwrap_or_default().to_owned();
    for line in lines {
        item.push_str("\n  >");
        if !line.is_empty() {
            item.push(' ');
            item.push_str(line);
        }
    }
    item
}

/// A text below a heading, ending with a line break. It is quoted if a line could be mistaken for the prompt's
/// structure.
pub(super) fn below_heading(text: &str) -> String {
    let text = without_controls(text);
    match text.trim_end() {
        "" => String::new(),
        text if is_plain(text) => format!("{text}\n"),
        text => quoted(text),
    }
}

/// Whether a text has no heading, no open fence and no HTML outside of fences.
fn is_plain(text: &str) -> bool {
    if text.lines().any(|line| line.trim_start().starts_with('#')) {
        return false;
    }
    let mut fences = Fences::default();
    let mut start = 0;
    while let Some(rest) = text.get(start..).filter(|rest| !rest.is_empty()) {
        if let Some(after) = fences.after_fence(text, start).filter(|after| *after > start) {
            start = after;
            continue;
        }
        let line = rest.split_inclusive('\n').next().unwrap_or_default();
        start += line.len();
        let line = line.trim();
        let is_underline = |sign: char| !line.is_empty() && line.chars().all(|c| c == sign);
        let begins_structure = ["```", "~~~", "<"].iter().any(|sign| line.starts_with(sign));
        if begins_structure || line.contains("<!--") || is_underline('-') || is_underline('=') {
            return false;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fence_is_longer_than_those_in_the_text() {
        assert_eq!(fenced("a"), "```\na\n```\n");
        assert_eq!(fenced("```\nopen\n"), "````\n```\nopen\n````\n");
        assert_eq!(fenced(""), "```\n\n```\n");
    }

    #[test]
    fn possible_structure_is_quoted() {
        for plain in [
            "a\n\n- b\n  1. c\n",
            "a `#` b\n",
            "x\n```sh\nmake # all\n```\ny\n",
            "a - b\n| - | - |\n",
        ] {
            assert_eq!(below_heading(plain), plain);
        }
        assert_eq!(below_heading(" \n"), "");
        for structure in [
            "## a",
            "a\n  # b",
            "x\n```sh\n# a comment\n```\ny",
            "a\u{2028}# b",
            "```\nopen",
            "~~~~\na\n~~~",
            "a\n---",
            "a\n===",
            "<details>",
            "a <!-- b",
        ] {
            assert!(
                below_heading(structure).lines().all(|line| line.starts_with('>')),
                "{structure:?}"
            );
        }
        assert_eq!(below_heading("a\r\n\r\n# b\r\n\r\n"), "> a\n>\n> # b\n");
    }

    #[test]
    fn texts_stay_contained() {
        assert_eq!(one_line(" a\n## b\tc\u{1b}[0m "), "a ## b c [0m");
        assert_eq!(in_item("a\n\n## b\r\n```\n"), "a\n  >\n  > ## b\n  > ```");
        assert_eq!(quote("a\n\n## b\u{2028}# c\n"), "> a\n>\n> ## b\n> # c\n");
        assert_eq!(quote(" \n"), "");
        assert_eq!(
            (title("a\n# b"), title(" ## a")),
            ("a # b".to_owned(), "\\## a".to_owned())
        );
        assert_eq!(without_controls("a\u{1b}[1m\r## b\r\n\tc\0"), "a[1m\n## b\n\tc");
        assert_eq!(code("make"), "`make`");
        assert_eq!(code("echo `date` ``"), "``` echo `date` `` ```");
    }
}
