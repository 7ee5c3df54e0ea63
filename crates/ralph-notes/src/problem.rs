//! Problems in a notes file, with their position.

use std::fmt;

use crate::Span;

/// A part of a file that cannot be read or needs attention.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    pub at: Span,
    pub kind: ProblemKind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProblemKind {
    /// A heading that looks like an entry but has no valid id; the block is skipped.
    BadId { heading: String },
    /// An entry without text; the block is skipped.
    NoText { id: String },
    /// An entry that is not UTF-8; the block is skipped.
    NotUtf8 { id: String },
    /// An unknown section; its entries are not read.
    UnknownSection { heading: String, entries: usize },
    /// Quoted lines that belong to no entry.
    OrphanedQuote,
    /// The id of an earlier entry.
    DuplicateId { id: String },
    /// A malformed tags line; the entry is read without tags.
    BadTags { id: String },
    /// A malformed `ralph:` line.
    BadExtra { id: String },
    /// A second tags line or `ralph:` line in one entry.
    SecondComment {
        id: String,
        /// Which of the two lines it is.
        word: &'static str,
    },
    /// A line with invisible characters.
    Invisible {
        /// Written as `<U+202E>`.
        characters: String,
    },
    /// Conflict markers left by git; the other side is not read.
    ConflictMarkers,
    /// Two versions of one entry that both sides of a merge had changed.
    OpenConflict {
        /// The entry that the merge added.
        id: String,
        other: String,
    },
}

impl ProblemKind {
    /// Whether the problem keeps an intended entry from being read.
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
                write!(f, "{heading:?} is not a section of this file, so its entry is not read")
            }
            Self::UnknownSection { heading, entries } => write!(
                f,
                "{heading:?} is not a section of this file, so its {entries} entries are not read"
            ),
            Self::OrphanedQuote => f.write_str("these quoted lines belong to no entry"),
            Self::DuplicateId { id } => write!(f, "duplicate id {id}"),
            Self::BadTags { id } => write!(
                f,
                "the tags line of {id} is not `<!-- tags: a, b | created: YYYY-MM-DD -->`, so it is read without tags"
            ),
            Self::BadExtra { id } => write!(f, "the `ralph:` line of {id} is not `key=value; …`, so it is not read"),
            Self::SecondComment { id, word } => write!(
                f,
                "{id} has a second {word} line, which is not read; a merge may have joined two entries or two \
                 versions of one"
            ),
            Self::Invisible { characters } => write!(f, "this line has invisible characters: {characters}"),
            Self::ConflictMarkers => {
                f.write_str("unresolved merge conflict, which may hide entries; resolve it and remove the marker lines")
            }
            Self::OpenConflict { id, other } => write!(
                f,
                "{id} and {other} conflict since a merge; delete or supersede one of them"
            ),
        }
    }
}
