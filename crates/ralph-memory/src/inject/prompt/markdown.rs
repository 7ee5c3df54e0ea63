//! Text of others inside a prompt: whatever it holds, it ends where it should.

/// A text between fences that are longer than any in it, so that nothing of it can close them.
pub(super) fn fenced(text: &str) -> String {
    let fence = fence_for(text);
    let end = if text.ends_with('\n') { "" } else { "\n" };
    format!("{fence}\n{text}{end}{fence}\n")
}

/// The fence that a text needs.
pub(super) fn fence_for(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or_default();
    "`".repeat((longest + 1).max(3))
}

/// A text on one line.
pub(super) fn one_line(text: &str) -> String {
    let spaced: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    spaced.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A text as the end of a list's item: its further lines stand further in, so that a heading or a fence in it ends with
/// the item.
pub(super) fn in_item(text: &str) -> String {
    let mut lines = text.trim().lines().map(str::trim_end);
    let mut item = lines.next().unwrap_or_default().to_owned();
    for line in lines {
        item.push('\n');
        if !line.is_empty() {
            item.push_str("  ");
            item.push_str(line);
        }
    }
    item
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fence_is_longer_than_those_in_the_text() {
        assert_eq!(fenced("a"), "```\na\n```\n");
        assert_eq!(fenced("```\nopen\n"), "````\n```\nopen\n````\n");
        assert_eq!(fenced(""), "```\n\n```\n");
    }

    #[test]
    fn other_texts_stay_where_they_are_put() {
        assert_eq!(one_line(" a\n## b\tc\u{1b}[0m "), "a ## b c [0m");
        assert_eq!(in_item("a\n\n## b\r\n```\n"), "a\n\n  ## b\n  ```");
    }
}
