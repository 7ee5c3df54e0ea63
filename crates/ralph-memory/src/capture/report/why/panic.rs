//! Panics of Rust programs and tests.

use std::path::Path;

use super::block::{Block, Order, Rank, Reader, Step, Weight};

/// The maximum number of lines in a message.
const MAX_MESSAGE: usize = 14;

#[derive(Debug)]
struct Panic {
    block: Block,
    read: usize,
}

/// `thread 'tests::adds' panicked at src/lib.rs:10:5:`, and its message.
pub(super) fn begin(line: &str, heading: Option<&str>) -> Option<Box<dyn Reader>> {
    let trimmed = line.trim_start();
    if !trimmed.starts_with("thread '") || !trimmed.contains(" panicked at ") {
        return None;
    }
    let mut block = Block::new(Rank::Cause);
    block.order = Order::Any;
    // A test's thread has the test's name; a thread started by the test has none.
    if trimmed.starts_with("thread '<unnamed>'")
        && let Some(heading) = heading
    {
        block.push(Weight::Helps, heading);
    }
    block.push(Weight::Needed, trimmed);
    Some(Box::new(Panic { block, read: 0 }))
}

impl Reader for Panic {
    fn take(&mut self, line: &str, _root: &Path) -> Step {
        let ends = [
            "note: ",
            "stack backtrace:",
            "---- ",
            "failures:",
            "test result: ",
            "test ",
        ];
        if ends.iter().any(|end| line.starts_with(end)) || self.read >= MAX_MESSAGE {
            return Step::NotPart;
        }
        self.read += 1;
        // The first three lines are the message, or the assertion and its two values.
        let weight = if self.block.lines.len() <= 3 {
            Weight::Needed
        } else {
            Weight::Helps
        };
        self.block.push(weight, line);
        Step::Taken
    }

    fn ends_before(&self, _line: &str) -> bool {
        true
    }

    fn block(self: Box<Self>) -> Option<Block> {
        Some(self.block)
    }
}
