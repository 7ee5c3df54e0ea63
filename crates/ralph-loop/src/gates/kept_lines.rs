//! The kept part of a long output: whole lines from its start and end.

use std::collections::VecDeque;

/// How much of the start is kept, in bytes.
const HEAD_BYTES: usize = 16 * 1024;
/// How much of the end is kept, in bytes.
const TAIL_BYTES: usize = 48 * 1024;

/// The start and the end of an output of any length. Its lines arrive with secrets masked.
#[derive(Debug, Default)]
pub(super) struct KeptLines {
    head: String,
    head_is_full: bool,
    tail: VecDeque<String>,
    tail_bytes: usize,
    left_out: usize,
}

impl KeptLines {
    /// Adds a line, without its line break.
    pub(super) fn take(&mut self, line: &str) {
        let size = line.len() + 1;
        self.head_is_full |= self.head.len() + size > HEAD_BYTES;
        if !self.head_is_full {
            self.head.push_str(line);
            self.head.push('\n');
            return;
        }
        let kept = line.get(..line.floor_char_boundary(TAIL_BYTES - 1)).unwrap_or_default();
        self.left_out += line.len() - kept.len();
        self.tail_bytes += kept.len() + 1;
        self.tail.push_back(kept.to_owned());
        while self.tail_bytes > TAIL_BYTES
            && let Some(oldest) = self.tail.pop_front()
        {
            self.tail_bytes -= oldest.len() + 1;
            self.left_out += oldest.len() + 1;
        }
    }

    /// The kept lines, with a marker where lines are missing.
    pub(super) fn text(&self) -> String {
        let mut text = self.head.clone();
        if self.left_out > 0 {
            text.push_str(&format!("[{} bytes were left out here]\n", self.left_out));
        }
        for line in &self.tail {
            text.push_str(line);
            text.push('\n');
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_and_last_lines_are_kept_whole() {
        let mut kept = KeptLines::default();
        assert_eq!(kept.text(), "");
        (0..10_000).for_each(|number| kept.take(&format!("line {number}")));
        let text = kept.text();
        assert!(text.len() <= HEAD_BYTES + TAIL_BYTES + 50, "{}", text.len());
        assert!(text.starts_with("line 0\nline 1\n") && text.ends_with("line 9998\nline 9999\n"));
        let odd: Vec<&str> = text.lines().filter(|line| !line.starts_with("line ")).collect();
        assert!(
            matches!(odd.as_slice(), [marker] if marker.ends_with(" bytes were left out here]")),
            "{odd:?}"
        );
        kept.take(&"é".repeat(TAIL_BYTES));
        assert!(kept.text().len() <= HEAD_BYTES + TAIL_BYTES + 50);
    }
}
