//! A few lines at the bottom of what was printed, which are drawn anew in place. What is said meanwhile stands above them.
//!
//! Between two drawings the cursor rests at the first sign of the block. Whatever a terminal does when its size changes
//! (wrap lines anew, cut rows off), the cursor stays at its sign, and what has to be erased is what follows it: nobody has to
//! know how many rows the block takes by now.
//!
//! One thing cannot be taken back. Where a window becomes so narrow at once that the block is wrapped into more rows than the
//! window has, the terminal moves the first of them to the scrollback before anybody is told of the new size, and what is
//! there no program can erase. What is still on the screen is erased then, and what was said stays whole.

/// From here on the terminal may wait with showing what it gets, until the end: no half-drawn block is seen.
const BEGIN: &str = "\x1b[?2026h";
const END: &str = "\x1b[?2026l";
/// The cursor is not seen in the middle of the lines.
const HIDE_CURSOR: &str = "\x1b[?25l";
const SHOW_CURSOR: &str = "\x1b[?25h";
/// A line that is longer than was thought is cut by the terminal and does not push the others down.
const DO_NOT_WRAP: &str = "\x1b[?7l";
const WRAP: &str = "\x1b[?7h";
/// The rest of this row, and then all rows below it. Terminals that are cleared from the first cell of the screen on keep
/// what was there in the scrollback; so the first row is never cleared together with the others.
const ERASE: &str = "\r\x1b[K\x1b7\x1b[B\x1b[J\x1b8";

/// The lines, and whether they are to be seen.
#[derive(Debug, Default)]
pub(super) struct Block {
    lines: Vec<String>,
}

impl Block {
    pub(super) const fn new() -> Self {
        Self { lines: Vec::new() }
    }

    /// Draws these lines in place of those that are there; none when they are the same.
    pub(super) fn draw(&mut self, lines: Vec<String>, why: Why) -> Option<String> {
        if lines == self.lines && why == Why::Changed {
            return None;
        }
        if lines.is_empty() {
            return Some(self.erase());
        }
        self.lines = lines;
        Some(format!("{BEGIN}{}{END}", self.drawn()))
    }

    /// Prints a text, whole lines, above them.
    pub(super) fn above(&self, text: &str) -> String {
        if self.lines.is_empty() {
            return text.to_owned();
        }
        format!("{BEGIN}{ERASE}{text}{}{END}", self.drawn())
    }

    /// Takes them away.
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

/// Why lines are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Why {
    /// There may be something new in them.
    Changed,
    /// The terminal may have lost them.
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
    fn what_is_said_stands_above_and_nothing_is_left_of_the_block() {
        let (mut block, mut screen) = (Block::new(), Screen::new(20, 4));
        for round in 0..5 {
            let drawn = block.draw(lines(&["one", &format!("two {round}"), "three"]), Why::Changed);
            screen.take(drawn.unwrap().as_bytes());
            screen.take(block.above(&format!("said {round}\r\n")).as_bytes());
            assert_eq!(
                screen.shown(),
                lines(&[&format!("said {round}"), "one", &format!("two {round}"), "three"])
            );
            assert_eq!(screen.cursor(), Cursor::Hidden);
        }
        screen.take(block.erase().as_bytes());
        assert_eq!(
            screen.lines(),
            lines(&["said 0", "said 1", "said 2", "said 3", "said 4"])
        );
        assert_eq!((screen.cursor(), screen.unknown()), (Cursor::Shown, &[][..]));
    }

    #[test]
    fn the_same_is_not_drawn_again_unless_the_terminal_may_have_lost_it() {
        let mut block = Block::new();
        assert!(block.draw(lines(&["one"]), Why::Changed).is_some());
        assert_eq!(block.draw(lines(&["one"]), Why::Changed), None);
        assert!(block.draw(lines(&["one"]), Why::Disturbed).is_some());
        assert_eq!(block.above("x\n"), format!("{BEGIN}{ERASE}x\n{}{END}", block.drawn()));
        assert!(
            block
                .draw(Vec::new(), Why::Changed)
                .is_some_and(|erased| erased.contains(SHOW_CURSOR))
        );
        assert_eq!((block.above("x\n"), block.erase()), ("x\n".to_owned(), String::new()));
    }

    /// What happens to a block.
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
        /// Whatever is drawn and said while a terminal changes its size as it likes, the scrollback holds what was said.
        #[test]
        fn the_scrollback_holds_what_was_said_and_nothing_else(steps in prop::collection::vec(step(), 1..40)) {
            let (mut block, mut screen) = (Block::new(), Screen::new(30, 12));
            let (mut width, mut height) = (30, 12);
            let mut said = Vec::new();
            let mut is_too_narrow = false;
            for step in steps {
                match step {
                    Step::Draw(many) => {
                        // As the picture does: never more than half of the height, never as wide as the terminal.
                        let many = many.min(height / 2);
                        let block_lines = (0..many).map(|number| format!("{number}{}", "#".repeat(width - 2))).collect();
                        if let Some(drawn) = block.draw(block_lines, Why::Changed) {
                            screen.take(drawn.as_bytes());
                        }
                    }
                    Step::Say(long) => {
                        let line = format!("{}{}", said.len(), "=".repeat(long));
                        screen.take(block.above(&format!("{line}\r\n")).as_bytes());
                        said.push(line);
                    }
                    // A block that was drawn for the old size is drawn again at once, as a signal tells of the new one.
                    Step::Resize(to_width, to_height) => {
                        // One that is wrapped into more rows than there are cannot be taken back from the scrollback.
                        let rows = block.lines.len() * width.div_ceil(to_width);
                        is_too_narrow |= rows >= to_height.min(height);
                        screen.resize(to_width, to_height);
                        (width, height) = (to_width, to_height);
                        let many = block.lines.len().min(height / 2);
                        let block_lines = (0..many).map(|number| format!("{number}{}", "#".repeat(width - 2))).collect();
                        if let Some(drawn) = block.draw(block_lines, Why::Disturbed) {
                            screen.take(drawn.as_bytes());
                        }
                    }
                }
            }
            screen.take(block.erase().as_bytes());
            let mut lines = screen.lines();
            if is_too_narrow {
                // What was said is whole, be it behind the rest of a row that the terminal takes for its beginning.
                lines = lines.iter().filter_map(|line| line.rsplit('#').next()).map(str::to_owned).collect();
                lines.retain(|line| !line.is_empty());
            }
            prop_assert_eq!(lines, said);
            prop_assert_eq!(screen.unknown().len(), 0);
        }
    }
}
