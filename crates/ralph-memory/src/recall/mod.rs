//! Recall: finding notes again.

mod rank;

use std::collections::HashSet;

use jiff::civil::Date;
use ralph_model::{Extra, NoteKind, Tags};
use ralph_notes::{Document, Entry};

pub use rank::rank;

/// Which notes are wanted. Empty parts let everything through.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    /// Only these kinds.
    pub kinds: Vec<NoteKind>,
    /// Only notes with one of these tags.
    pub tags: Tags,
    /// Only notes of this day or later.
    pub since: Option<Date>,
}

impl Wanted {
    /// Whether an entry is wanted.
    #[must_use]
    pub fn matches(&self, document: &Document<'_>, entry: &Entry) -> bool {
        (self.kinds.is_empty() || self.kinds.contains(&entry.kind))
            && self.since.is_none_or(|since| document.created(entry) >= since)
            && (self.tags.is_empty() || document.tags(entry).match_any(&self.tags))
    }
}

/// The ids of the notes that a later one replaces.
#[must_use]
pub fn superseded(document: &Document<'_>) -> HashSet<String> {
    document
        .entries()
        .iter()
        .filter_map(|entry| document.extra(entry).get(Extra::SUPERSEDES).map(str::to_owned))
        .collect()
}
