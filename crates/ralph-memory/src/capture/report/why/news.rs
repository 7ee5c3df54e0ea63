//! Whether lines report a failure that was known before.

use std::collections::BTreeSet;

use super::super::failure_lines::{failure_of, may_report_failure, reports_failure};

/// The known failures, normalised.
#[derive(Debug, Default)]
pub(super) struct KnownLines(BTreeSet<String>);

/// How a line relates to the known failures. For a block, the greatest value counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum LineNews {
    /// It was printed before or only contains counts.
    Nothing,
    /// Not known, but not a line that would have been recorded.
    Unnoted,
    /// A known failure.
    Known,
    /// A new failure.
    New,
}

/// Whether a block reports a known failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum News {
    New,
    Unsure,
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
        let reports = may_report_failure(line) && reports_failure(line);
        match (reports, self.0.contains(&failure)) {
            (true, true) => LineNews::Known,
            (true, false) => LineNews::New,
            (false, true) => LineNews::Nothing,
            (false, false) => LineNews::Unnoted,
        }
    }

    /// Whether the line is known or irrelevant.
    pub(super) fn has(&self, line: &str) -> bool {
        matches!(self.news_of(line), LineNews::Known | LineNews::Nothing)
    }
}

impl LineNews {
    /// The result for a block with this greatest value.
    pub(super) fn of_block(self) -> News {
        match self {
            Self::New => News::New,
            Self::Unnoted => News::Unsure,
            Self::Known | Self::Nothing => News::Old,
        }
    }
}
