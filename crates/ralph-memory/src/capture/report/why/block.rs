//! Blocks of related output lines, and the readers that collect them.

use std::fmt::Debug;
use std::path::Path;

/// The maximum number of lines in a block.
const MAX_LINES: usize = 24;

/// How likely a block explains the failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rank {
    /// It has a word that often occurs in errors.
    Word,
    /// It has the format of an error.
    Error,
    /// It has a format that only failures have, with a location.
    Cause,
}

/// The importance of a line in its block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Weight {
    /// The block makes no sense without it.
    Needed,
    Helps,
}

/// Whether the order of an output's blocks is meaningful.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    /// The first may be the cause of the others.
    AsPrinted,
    /// They come from parallel tests.
    Any,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Block {
    pub(super) rank: Rank,
    pub(super) order: Order,
    pub(super) lines: Vec<(Weight, String)>,
}

impl Block {
    pub(super) fn new(rank: Rank) -> Self {
        Self {
            rank,
            order: Order::AsPrinted,
            lines: Vec::new(),
        }
    }

    /// Adds a line unless it is blank or the block is full.
    pub(super) fn push(&mut self, weight: Weight, line: &str) {
        if !line.trim().is_empty() && self.lines.len() < MAX_LINES {
            self.lines.push((weight, line.trim_end().to_owned()));
        }
    }

    pub(super) fn is_full(&self) -> bool {
        self.lines.len() >= MAX_LINES
    }

    /// Its lines with at least this weight.
    pub(super) fn text(&self, only_needed: Option<Weight>) -> String {
        let lines = self.lines.iter();
        let lines = lines.filter(|(weight, _)| only_needed.is_none_or(|wanted| *weight == wanted));
        lines.map(|(_, line)| line.as_str()).collect::<Vec<_>>().join("\n")
    }
}

/// How a reader handled a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// It belongs to the block.
    Taken,
    /// It is the last line of the block.
    Last,
    /// It does not belong to the block, which is complete.
    NotPart,
}

/// Reads related lines one by one.
pub(super) trait Reader: Debug + Send {
    /// Takes the next line if it belongs to the block. `root` is the project root.
    fn take(&mut self, line: &str, root: &Path) -> Step;

    /// Whether a line that starts another format ends this block, for blocks without a clear end.
    fn ends_before(&self, _line: &str) -> bool {
        false
    }

    /// The block; `None` if it explains nothing.
    fn block(self: Box<Self>) -> Option<Block>;
}
