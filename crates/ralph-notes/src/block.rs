//! Collects the lines that belong to one entry during a scan.

use crate::lines::{Line, Marker};
use crate::{Entry, Span};

/// Progress within a block. It never goes back, so that stray text after an entry cannot become part of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Heading,
    Quote,
    /// Prose was found: later quotes do not belong to the entry.
    Prose,
    /// A tags or `ralph:` line was found: the text is complete.
    Tagged,
}

/// One side of a merge conflict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Half {
    Ours,
    Theirs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Taken {
    /// The line belongs to the entry.
    Yes,
    /// The entry is already past this kind of line.
    No,
}

/// An entry heading and the lines collected below it.
#[derive(Debug)]
pub(crate) struct Block {
    pub(crate) entry: Entry,
    pub(crate) valid_id: bool,
    phase: Phase,
    /// The side of a conflict that the heading is in.
    half: Option<Half>,
}

impl Block {
    pub(crate) fn new(entry: Entry, valid_id: bool, half: Option<Half>) -> Self {
        Self {
            entry,
            valid_id,
            phase: Phase::Heading,
            half,
        }
    }

    pub(crate) fn quote(&mut self, line: Line) -> Taken {
        self.entry.content = match self.phase {
            Phase::Heading => line.whole(),
            Phase::Quote => self.entry.content.to(line.whole()),
            Phase::Prose | Phase::Tagged => return Taken::No,
        };
        self.phase = Phase::Quote;
        Taken::Yes
    }

    pub(crate) fn tags(&mut self, line: Line) -> Taken {
        let taken = take_once(&mut self.entry.tags, line);
        if taken == Taken::Yes {
            self.phase = Phase::Tagged;
        }
        taken
    }

    pub(crate) fn extra(&mut self, line: Line) -> Taken {
        let taken = take_once(&mut self.entry.extra, line);
        if taken == Taken::Yes && self.phase == Phase::Quote {
            self.phase = Phase::Tagged;
        }
        taken
    }

    pub(crate) fn prose(&mut self) {
        if self.phase != Phase::Tagged {
            self.phase = Phase::Prose;
        }
    }

    /// Handles a conflict marker. Only the heading's side of a conflict belongs to the entry, so the text ends where
    /// the other side begins.
    pub(crate) fn marker(&mut self, marker: Marker) {
        let other_half_follows = match marker {
            Marker::Ours => self.half == Some(Half::Theirs),
            Marker::EndOfOurs => self.phase == Phase::Quote,
            Marker::EndOfTheirs => false,
        };
        if other_half_follows {
            self.prose();
        }
    }
}

fn take_once(part: &mut Span, line: Line) -> Taken {
    if part.is_empty() {
        *part = line.whole();
        Taken::Yes
    } else {
        Taken::No
    }
}
