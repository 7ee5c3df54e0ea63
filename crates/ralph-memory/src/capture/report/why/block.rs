//! Lines that belong together, and what reads them.

use std::fmt::Debug;
use std::path::Path;

/// How many lines of one block are kept.
const MAX_LINES: usize = 24;

/// How sure it is that lines say why.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rank {
    /// They hold a word that often does.
    Word,
    /// They have the form of an error.
    Error,
    /// They have a form that only failures have, and say where.
    Cause,
}

/// How much a line of a block matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Weight {
    /// Without it the block says nothing.
    Needed,
    /// It helps.
    Helps,
}

/// Whether the blocks of an output come in an order that means something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    /// The first may be the cause of the others.
    AsPrinted,
    /// They are printed by tests that run at the same time.
    Any,
}

/// Lines that belong together.
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

    /// Adds a line, unless it is blank or there are enough.
    pub(super) fn push(&mut self, weight: Weight, line: &str) {
        if !line.trim().is_empty() && self.lines.len() < MAX_LINES {
            self.lines.push((weight, line.trim_end().to_owned()));
        }
    }

    pub(super) fn is_full(&self) -> bool {
        self.lines.len() >= MAX_LINES
    }

    /// Its lines that matter at least so much.
    pub(super) fn text(&self, only_needed: Option<Weight>) -> String {
        let lines = self.lines.iter();
        let lines = lines.filter(|(weight, _)| only_needed.is_none_or(|wanted| *weight == wanted));
        lines.map(|(_, line)| line.as_str()).collect::<Vec<_>>().join("\n")
    }
}

/// What became of a line that was handed to a reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// It belongs to the block.
    Taken,
    /// It belongs to the block, and is its last.
    Last,
    /// It does not belong to the block, which is whole.
    NotMine,
}

/// Reads lines that belong together, one after the other.
pub(super) trait Reader: Debug + Send {
    /// Takes the next line, if it belongs to the block. The project is the folder `root`.
    fn take(&mut self, line: &str, root: &Path) -> Step;

    /// Whether this line, with which another form begins, is the end of the block: of one that cannot tell by itself where
    /// it ends.
    fn gives_way_to(&self, _line: &str) -> bool {
        false
    }

    /// What was read; none when it says nothing.
    fn block(self: Box<Self>) -> Option<Block>;
}
