//! Recall: finding notes again.

mod rank;

use std::collections::HashSet;

use jiff::civil::Date;
use ralph_model::{Extra, Note, NoteKind, Tags};
use ralph_notes::{Document, Entry};

use rank::rank;

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

/// The wanted notes: those that share words with a text, best first, then the rest, newest first. A note that a later one
/// supersedes is never among them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Recalled {
    /// Notes that share words with the text; none without one.
    pub matching: Vec<Hit>,
    /// All others.
    pub rest: Vec<Hit>,
}

/// A note that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hit {
    /// The note.
    pub note: Note,
    /// Its place among all that are wanted, 0 for the newest.
    pub age: usize,
}

/// Finds the wanted notes.
#[must_use]
pub fn recall(document: &Document<'_>, wanted: &Wanted, about: Option<&str>) -> Recalled {
    let replaced = superseded(document);
    let mut newest: Vec<&Entry> = document.oldest_first();
    newest.reverse();
    let mut hits: Vec<Option<Hit>> = newest
        .into_iter()
        .filter(|entry| wanted.matches(document, entry) && !replaced.contains(document.id(entry)))
        .filter_map(|entry| document.note(entry))
        .enumerate()
        .map(|(age, note)| Some(Hit { note, age }))
        .collect();
    let order = about.map_or_else(Vec::new, |about| {
        let texts: Vec<String> = hits
            .iter()
            .flatten()
            .map(|hit| format!("{} {}", hit.note.content, hit.note.tags))
            .collect();
        rank(about, &texts)
    });
    let matching = order
        .into_iter()
        .filter_map(|position| hits.get_mut(position).and_then(Option::take))
        .collect();
    Recalled {
        matching,
        rest: hits.into_iter().flatten().collect(),
    }
}

/// The ids of the notes that a later one replaces.
fn superseded(document: &Document<'_>) -> HashSet<String> {
    document
        .entries()
        .iter()
        .filter_map(|entry| document.extra(entry).get(Extra::SUPERSEDES).map(str::to_owned))
        .collect()
}
