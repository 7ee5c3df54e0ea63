//! A few lines at the bottom of the output that are redrawn in place. New output is printed above them.
//!
//! Between redraws the cursor rests on the first character of the block. Whatever a terminal does on resize (rewrap
//! lines, cut rows off), the cursor stays on that character, and everything after it is erased. So the number of rows
//! that the block occupies need not be known.
//!
//! One case cannot be repaired. If a window becomes so narrow that the wrapped block has more rows than the window, the
//! terminal moves the first rows to the scrollback before any program learns the new size, and the scrollback cannot be
//! erased. Rows still on the screen are erased, and printed output stays intact.

/// Synchronized output: the terminal does not show a half-drawn block.
const BEGIN: &str = "\x1b[?2026h";
const END: &str = "\x1b[?2026l";
/// The cursor is hidden while lines are drawn.
const HIDE_CURSOR: &str = "\x1b[?25l";
const SHOW_CURSOR: &str = "\x1b[?25h";
/// Lines that turn out too long are cut by the terminal instead of wrapped.
const DO_NOT_WRAP: &str = "\x1b[?7l";
const WRAP: &str = "\x1b[?7h";
/// Erases the rest of this row, then all rows below. Terminals that are cleared from the first cell on keep the content
/// in the scrollback, so the first row is never cleared together with the others.
const ERASE: &str = "\r\x1b[K\x1b7\x1b[B\x1b[J\x1b8";

/// The lines that are currently drawn.
#[derive(Debug, Default)]
pub(super) struct Block {
    lines: Vec<String>,
}

impl Block {
    pub(super) const fn new() -> Self {
        Self { lines: Vec::new() }
    }

    /// Replaces the lines; `None` if they are unchanged.
    pub(super) fn draw(&mut self, lines: Vec<String>, reason: RedrawReason) -> Option<String> {
        if lines == self.lines && reason == RedrawReason::Changed {
            return None;
        }
        if lines.is_empty() {
            return Some(self.erase());
        }
        self.lines = lines;
        Some(format!("{BEGIN}{}{END}", self.drawn()))
    }

    /// Prints whole lines above the block.
    pub(super) fn above(&self, text: &str) -> String {
        if self.lines.is_empty() {
            return text.to_owned();
        }
        format!("{BEGIN}{ERASE}{text}{}{END}", self.drawn())
    }

    pub(super) fn erase(&mut self) -> String {
        if self.lines.is_empty() {
            return String::new();
        }
        self.lines.clear();
        format!("{BEGIN}{ERASE}{SHOW_CURSOR}{END}")
    }

    fn drawn(&self) -> String {
        let lines = self.lines.join("\x1b[K\r\n");
        let up = match self.lines.len() {
            0 | 1 => String::new(),
            many => format!("\x1b[{}A", many - 1),
        };
        format!("{HIDE_CURSOR}{DO_NOT_WRAP}\r{lines}\x1b[J{WRAP}\r{up}")
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RedrawReason {
    /// The content may have changed.
    Changed,
    /// The terminal may have lost the lines.
    Disturbed,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use ralph_testkit::{Cursor, Screen};

    fn lines(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn output_is_printed_above_and_the_block_is_erased() {
        let (mut block, mut screen) = (Block::new(), Screen::new(20, 4));
        for round in 0..5 {
            let drawn = block.draw(lines(&["one", &format!("two {round}"), "three"]), RedrawReason::Changed);
            screen.take(drawn.unwrap().as_bytes());
            screen.take(block.above(&format!("printed {round}\r\n")).as_bytes());
            assert_eq!(
                screen.shown(),
                lines(&[&format!("printed {round}"), "one", &format!("two {round}"), "three"])
            );
            assert_eq!(screen.cursor(), Cursor::Hidden);
        }
        screen.take(block.erase().as_bytes());
        assert_eq!(
            screen.lines(),
            lines(&["printed 0", "printed 1", "printed 2", "printed 3", "printed 4"])
        );
        assert_eq!((screen.cursor(), screen.unknown()), (Cursor::Shown, &[][..]));
    }

    #[test]
    fn unchanged_lines_are_redrawn_only_after_a_disturbance() {
        let mut block = Block::new();
        assert!(block.draw(lines(&["one"]), RedrawReason::Changed).is_some());
        assert_eq!(block.draw(lines(&["one"]), RedrawReason::Changed), None);
        assert!(block.draw(lines(&["one"]), RedrawReason::Disturbed).is_some());
        assert_eq!(block.above("x\n"), format!("{BEGIN}{ERASE}x\n{}{END}", block.drawn()));
        assert!(
            block
                .draw(Vec::new(), RedrawReason::Changed)
                .is_some_and(|erased| erased.contains(SHOW_CURSOR))
        );
        assert_eq!((block.above("x\n"), block.erase()), ("x\n".to_owned(), String::new()));
    }

    #[derive(Debug, Clone)]
    enum Step {
        Draw(usize),
        Say(usize),
        Resize(usize, usize),
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            (0..6_usize).prop_map(Step::Draw),
            (1..60_usize).prop_map(Step::Say),
            (12..40_usize, 8..20_usize).prop_map(|(width, height)| Step::Resize(width, height)),
        ]
    }

    proptest! {
        /// Whatever is drawn and printed while the terminal is resized, the scrollback holds exactly the printed
        /// output.
        #[test]
        fn scrollback_holds_exactly_the_printed_output(steps in prop::collection::vec(step(), 1..40)) {
            let (mut block, mut screen) = (Block::new(), Screen::new(30, 12));
            let (mut width, mut height) = (30, 12);
            let mut printed = Vec::new();
            let mut is_too_narrow = false;
            for step in steps {
                match step {
                    Step::Draw(many) => {
                        // Like the live view: at most half the height, and narrower than the terminal.
                        let many = many.min(height / 2);
                        let row = |number: usize| format!("{number}{}", "#".repeat(width - 2));
                        let block_lines = (0..many).map(row).collect();
                        if let Some(drawn) = block.draw(block_lines, RedrawReason::Changed) {
                            screen.take(drawn.as_bytes());
                        }
                    }
                    Step::Say(long) => {
                        let line = format!("{}{}", printed.len(), "=".repeat(long));
                        screen.take(block.above(&format!("{line}\r\n")).as_bytes());
                        printed.push(line);
                    }
                    // A block is redrawn at once after a resize signal.
                    Step::Resize(to_width, to_height) => {
                        // A block wrapped into more rows than the window cannot be removed from the scrollback.
                        let rows = block.lines.len() * width.div_ceil(to_width);
                        is_too_narrow |= rows >= to_height.min(height);
                        screen.resize(to_width, to_height);
                        (width, height) = (to_width, to_height);
                        let many = block.lines.len().min(height / 2);
                        let row = |number: usize| format!("{number}{}", "#".repeat(width - 2));
                        let block_lines = (0..many).map(row).collect();
                        if let Some(drawn) = block.draw(block_lines, RedrawReason::Disturbed) {
                            screen.take(drawn.as_bytes());
                        }
                    }
                }
            }
            screen.take(block.erase().as_bytes());
            let mut lines = screen.lines();
            if is_too_narrow {
                // Printed lines are whole, possibly after the rest of a block row that the terminal joined to them.
                lines = lines.iter().filter_map(|line| line.rsplit('#').next()).map(str::to_owned).collect();
                lines.retain(|line| !line.is_empty());
            }
            prop_assert_eq!(lines, printed);
            prop_assert_eq!(screen.unknown().len(), 0);
        }
    }
}
