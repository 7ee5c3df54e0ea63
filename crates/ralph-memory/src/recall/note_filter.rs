//! Filters for notes by kind, tag, day and id.

use jiff::Span;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use ralph_model::config::Filter;
use ralph_model::{Learning, Note, NoteKind, NoteOrSign, Tags};
use ralph_search::{Age, KnowledgeMetadata};

use super::Found;

/// A filter for notes. Empty fields match everything.
#[derive(Debug, Clone, Default)]
pub struct NoteFilter {
    pub kinds: Vec<NoteKind>,
    /// Only notes with one of these tags.
    pub tags: Tags,
    /// Only notes created on this day or later.
    pub since: Option<Date>,
    /// Only notes whose id is from an earlier second than this.
    pub before_second: Option<i64>,
    /// Exclude the notes with these ids.
    pub except: Vec<String>,
}

impl NoteFilter {
    /// The notes that the configuration allows in prompts.
    #[must_use]
    pub fn configured(filter: &Filter, today: Date) -> Self {
        Self {
            kinds: filter.types.clone(),
            tags: filter.tags.clone(),
            since: filter.recent.map(|days| first_day(today, days)),
            ..Self::default()
        }
    }

    #[must_use]
    pub fn is_everything(&self) -> bool {
        self.kinds.is_empty() && self.except.is_empty() && self.asks_nothing_of_dates()
    }

    pub(super) fn matches_found(&self, found: &Found, age: &Age) -> bool {
        match found {
            Found::Note { item, .. } => self.matches(item),
            Found::Knowledge(entry) => self.matches_knowledge(&entry.outline, age),
            Found::Learning(learning) => self.matches_learning(learning),
        }
    }

    /// Whether an item matches. A Sign has no kind, tags or day to match.
    #[must_use]
    pub fn matches(&self, item: &NoteOrSign) -> bool {
        match item {
            NoteOrSign::Note(note) => self.matches_note(note),
            NoteOrSign::Sign { id, .. } => {
                self.kinds.is_empty() && self.asks_nothing_of_dates() && !self.except.contains(id)
            }
        }
    }

    #[must_use]
    pub fn matches_note(&self, note: &Note) -> bool {
        (self.kinds.is_empty() || self.kinds.contains(&note.kind))
            && self.since.is_none_or(|since| note.created >= since)
            && self.before_second.is_none_or(|second| note.id.unix_second() < second)
            && (self.tags.is_empty() || note.tags.match_any(&self.tags))
            && !self.except.iter().any(|id| id == note.id.as_str())
    }

    /// Whether a knowledge entry matches. It has no kind.
    #[must_use]
    pub fn matches_knowledge(&self, note: &KnowledgeMetadata, age: &Age) -> bool {
        let tagged = |wanted: &str| note.tags.iter().any(|tag| tag.eq_ignore_ascii_case(wanted));
        let is_since = |since: Date| age.created.parse::<Date>().is_ok_and(|day| day >= since);
        self.kinds.is_empty()
            && self.since.is_none_or(is_since)
            && self.before_second.is_none_or(|second| age.second < second)
            && (self.tags.is_empty() || self.tags.iter().any(tagged))
            && !self.except.contains(&note.file)
    }

    /// Whether a learning matches. It has no kind either.
    #[must_use]
    pub fn matches_learning(&self, learning: &Learning) -> bool {
        let tagged = |wanted: &str| learning.tags.iter().any(|tag| tag.eq_ignore_ascii_case(wanted));
        let is_since = |since: Date| learning.created_at.to_zoned(TimeZone::UTC).date() >= since;
        self.kinds.is_empty()
            && self.since.is_none_or(is_since)
            && self
                .before_second
                .is_none_or(|second| learning.created_at.as_second() < second)
            && (self.tags.is_empty() || self.tags.iter().any(tagged))
            && !self.except.iter().any(|id| id == learning.id.as_str())
    }

    fn asks_nothing_of_dates(&self) -> bool {
        self.tags.is_empty() && self.since.is_none() && self.before_second.is_none()
    }
}

/// The first day of the last `days` days; today counts, and so does the day that many days ago.
#[must_use]
pub fn first_day(today: Date, days: u32) -> Date {
    Span::new()
        .try_days(days)
        .and_then(|days| today.checked_sub(days))
        .unwrap_or(Date::MIN)
}
