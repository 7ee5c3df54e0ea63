//! The entry that a scanner is in: which of the lines below its heading are its own.

use crate::lines::{Line, Marker};
use crate::{Entry, Span};

/// How far a block has come. Later parts are never taken for earlier ones, so that stray text after an entry cannot leak
/// into it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Heading,
    Quote,
    /// Prose followed: later quotes are not the entry's.
    Prose,
    /// A comment line of ours was seen: the text is complete.
    Tagged,
}

/// Which side's lines of a conflict these are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Half {
    Ours,
    Theirs,
}

/// What became of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Taken {
    /// It belongs to the entry.
    Yes,
    /// The entry is past such lines.
    No,
}

/// A heading that is meant as an entry, with the lines that follow it.
#[derive(Debug)]
pub(crate) struct Block {
    pub(crate) entry: Entry,
    pub(crate) valid_id: bool,
    phase: Phase,
    /// In which half of a conflict its heading stands.
    half: Option<Half>,
}

impl Block {
    /// A heading without anything below it yet.
    pub(crate) fn new(entry: Entry, valid_id: bool, half: Option<Half>) -> Self {
        Self {
            entry,
            valid_id,
            phase: Phase::Heading,
            half,
        }
    }

    /// Meets a quoted line.
    pub(crate) fn quote(&mut self, line: Line) -> Taken {
        self.entry.content = match self.phase {
            Phase::Heading => line.whole(),
            Phase::Quote => self.entry.content.to(line.whole()),
            Phase::Prose | Phase::Tagged => return Taken::No,
        };
        self.phase = Phase::Quote;
        Taken::Yes
    }

    /// Meets a line of tags.
    pub(crate) fn tags(&mut self, line: Line) -> Taken {
        let taken = take_once(&mut self.entry.tags, line);
        if taken == Taken::Yes {
            self.phase = Phase::Tagged;
        }
        taken
    }

    /// Meets a `ralph:` line.
    pub(crate) fn extra(&mut self, line: Line) -> Taken {
        let taken = take_once(&mut self.entry.extra, line);
        if taken == Taken::Yes && self.phase == Phase::Quote {
            self.phase = Phase::Tagged;
        }
        taken
    }

    /// Meets a line of prose.
    pub(crate) fn prose(&mut self) {
        if self.phase != Phase::Tagged {
            self.phase = Phase::Prose;
        }
    }

    /// Meets a marker of a conflict. An entry that a conflict runs through says what one side says: where the other
    /// side's lines follow, its text ends.
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
