//! Which notes are wanted, whatever they say.

use jiff::Span;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use ralph_model::config::Filter;
use ralph_model::{Learning, Note, NoteKind, NoteOrSign, Tags};
use ralph_store::index::{Age, KnowledgeOutline};

/// Which notes are wanted. Empty parts let everything through.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    /// Only these kinds.
    pub kinds: Vec<NoteKind>,
    /// Only notes with one of these tags.
    pub tags: Tags,
    /// Only notes of this day or later.
    pub since: Option<Date>,
    /// Only notes whose id is of an earlier second than this.
    pub before_second: Option<i64>,
    /// Not the notes with these ids.
    pub except: Vec<String>,
}

impl Wanted {
    /// Those that the configuration lets into prompts.
    #[must_use]
    pub fn configured(filter: &Filter, today: Date) -> Self {
        Self {
            kinds: filter.types.clone(),
            tags: filter.tags.clone(),
            since: filter.recent.map(|days| first_day(today, days)),
            ..Self::default()
        }
    }

    /// Whether everything is wanted.
    #[must_use]
    pub fn is_everything(&self) -> bool {
        self.kinds.is_empty() && self.except.is_empty() && self.asks_nothing_of_dates()
    }

    /// Whether something is wanted. A Sign has no kind, no tags and no day that could be asked for.
    #[must_use]
    pub fn matches(&self, item: &NoteOrSign) -> bool {
        match item {
            NoteOrSign::Note(note) => self.matches_note(note),
            NoteOrSign::Sign { id, .. } => {
                self.kinds.is_empty() && self.asks_nothing_of_dates() && !self.except.contains(id)
            }
        }
    }

    /// Whether a note is wanted.
    #[must_use]
    pub fn matches_note(&self, note: &Note) -> bool {
        (self.kinds.is_empty() || self.kinds.contains(&note.kind))
            && self.since.is_none_or(|since| note.created >= since)
            && self.before_second.is_none_or(|second| note.id.unix_second() < second)
            && (self.tags.is_empty() || note.tags.match_any(&self.tags))
            && !self.except.iter().any(|id| id == note.id.as_str())
    }

    /// Whether a long note is wanted. It has no kind that could be asked for.
    #[must_use]
    pub fn matches_knowledge(&self, note: &KnowledgeOutline, age: &Age) -> bool {
        let tagged = |wanted: &str| note.tags.iter().any(|tag| tag.eq_ignore_ascii_case(wanted));
        let is_since = |since: Date| age.created.parse::<Date>().is_ok_and(|day| day >= since);
        self.kinds.is_empty()
            && self.since.is_none_or(is_since)
            && self.before_second.is_none_or(|second| age.second < second)
            && (self.tags.is_empty() || self.tags.iter().any(tagged))
            && !self.except.contains(&note.file)
    }

    /// Whether a lesson is wanted. It has no kind that could be asked for, either.
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

/// The first of the last so many days; today counts, and so does the day that many days ago.
#[must_use]
pub fn first_day(today: Date, days: u32) -> Date {
    Span::new()
        .try_days(days)
        .and_then(|days| today.checked_sub(days))
        .unwrap_or(Date::MIN)
}
