//! Whether lines tell of a failure that was known before.

use std::collections::BTreeSet;

use super::super::telling::{failure_of, may_tell, tells_of_failure};

/// The failures that were known before, each in its normal form.
#[derive(Debug, Default)]
pub(super) struct KnownLines(BTreeSet<String>);

/// What a line tells of what was known. Of lines that belong together the greatest decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum LineNews {
    /// Nothing: it was printed before, or only counts.
    Nothing,
    /// It was not noted before, and is no line that would have been.
    Unnoted,
    /// It tells of a failure that was known.
    Known,
    /// It tells of one that was not.
    New,
}

/// Whether lines that belong together tell of a failure that was known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum News {
    /// They do not.
    New,
    /// Nobody can tell.
    Unsure,
    /// They do.
    Old,
}

impl KnownLines {
    pub(super) fn new(lines: BTreeSet<String>) -> Self {
        Self(lines)
    }

    pub(super) fn news_of(&self, line: &str) -> LineNews {
        if self.0.is_empty() {
            return LineNews::New;
        }
        let Some(failure) = failure_of(line) else {
            return LineNews::Nothing;
        };
        let tells = may_tell(line) && tells_of_failure(line);
        match (tells, self.0.contains(&failure)) {
            (true, true) => LineNews::Known,
            (true, false) => LineNews::New,
            (false, true) => LineNews::Nothing,
            (false, false) => LineNews::Unnoted,
        }
    }

    /// Whether this line is a known one, or says nothing.
    pub(super) fn has(&self, line: &str) -> bool {
        matches!(self.news_of(line), LineNews::Known | LineNews::Nothing)
    }
}

impl LineNews {
    /// What it says of lines that belong together, as the greatest of theirs.
    pub(super) fn of_block(self) -> News {
        match self {
            Self::New => News::New,
            Self::Unnoted => News::Unsure,
            Self::Known | Self::Nothing => News::Old,
        }
    }
}
