//! Sentences within a width.

use ralph_model::display_width;

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_full_and_words_whole() {
        assert_eq!(wrapped("aa bb  cc\ndddddd e", 5), ["aa bb", "cc", "dddddd", "e"]);
        assert_eq!(wrapped("日本 語", 5), ["日本", "語"]);
        assert_eq!(wrapped(" ", 5), [""; 0]);
    }
}
