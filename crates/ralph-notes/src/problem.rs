//! What is wrong in a notes file, and where.

use std::fmt;

use crate::Span;

/// Something in a file that is not read, or should be looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Where it stands.
    pub at: Span,
    /// What it is.
    pub kind: ProblemKind,
}

/// What is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProblemKind {
    /// A heading that looks like an entry but has no valid id; the block is skipped.
    BadId {
        /// The heading as it stands.
        heading: String,
    },
    /// An entry without any text; the block is skipped.
    NoText {
        /// Its id.
        id: String,
    },
    /// An entry whose bytes are not UTF-8; the block is skipped.
    NotUtf8 {
        /// Its id.
        id: String,
    },
    /// A section that is none of this file's; its entries are not read.
    UnknownSection {
        /// Its heading.
        heading: String,
        /// How many entries stand in it.
        entries: usize,
    },
    /// Quoted lines that belong to no entry.
    OrphanedQuote,
    /// An id that an earlier entry has already.
    DuplicateId {
        /// The id.
        id: String,
    },
    /// A tags line that cannot be read; the entry is read without tags.
    BadTags {
        /// The entry's id.
        id: String,
    },
    /// A `ralph:` line that cannot be read.
    BadExtra {
        /// The entry's id.
        id: String,
    },
    /// A second tags line or `ralph:` line of one entry.
    SecondComment {
        /// The entry's id.
        id: String,
        /// Which of the two lines it is.
        word: &'static str,
    },
    /// A line with characters that nobody sees.
    Invisible {
        /// They, as `<U+202E>`.
        characters: String,
    },
    /// A merge that git could not finish; what the other side says is not read.
    ConflictMarkers,
    /// Two entries that a merge made of one which both sides had changed.
    OpenConflict {
        /// The entry that was put in beside the other one.
        id: String,
        /// The other one.
        other: String,
    },
}

impl ProblemKind {
    /// Whether something that was meant to be an entry is not read because of it.
    #[must_use]
    pub fn hides_an_entry(&self) -> bool {
        match self {
            Self::BadId { .. } | Self::NoText { .. } | Self::NotUtf8 { .. } | Self::ConflictMarkers => true,
            Self::UnknownSection { entries, .. } => *entries > 0,
            Self::OrphanedQuote
            | Self::DuplicateId { .. }
            | Self::BadTags { .. }
            | Self::BadExtra { .. }
            | Self::SecondComment { .. }
            | Self::Invisible { .. }
            | Self::OpenConflict { .. } => false,
        }
    }
}

impl fmt::Display for ProblemKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BadId { heading } => write!(f, "{heading:?} is not a valid id, so this block is not read"),
            Self::NoText { id } => write!(f, "{id} has no quoted text, so it is not read"),
            Self::NotUtf8 { id } => write!(f, "{id} is not UTF-8, so it is not read"),
            Self::UnknownSection { heading, entries: 1 } => {
                write!(
                    f,
                    "the section {heading:?} is none of this file's, so its entry is not read"
                )
            }
            Self::UnknownSection { heading, entries } => write!(
                f,
                "the section {heading:?} is none of this file's, so its {entries} entries are not read"
            ),
            Self::OrphanedQuote => f.write_str("these quoted lines belong to no entry"),
            Self::DuplicateId { id } => write!(f, "the id {id} stands here a second time"),
            Self::BadTags { id } => write!(
                f,
                "the tags line of {id} is not `<!-- tags: a, b | created: YYYY-MM-DD -->`, so it is read without tags"
            ),
            Self::BadExtra { id } => write!(f, "the `ralph:` line of {id} is not `key=value; …`, so it is not read"),
            Self::SecondComment { id, word } => write!(
                f,
                "{id} has a second {word} line, which is not read; a merge may have run two entries or two versions of \
                 one together"
            ),
            Self::Invisible { characters } => write!(f, "this line has invisible characters: {characters}"),
            Self::ConflictMarkers => f.write_str(
                "a conflict of a merge was left in the file, and what stands in it may be read wrongly or not at all; \
                 settle it and remove the marker lines",
            ),
            Self::OpenConflict { id, other } => write!(
                f,
                "{id} and {other} say different things since a merge; delete one, or supersede it"
            ),
        }
    }
}
