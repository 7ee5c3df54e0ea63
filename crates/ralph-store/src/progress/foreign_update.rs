//! What a newer telling of a lesson changes that was taken over before: what is the other store's own, and never what was said
//! here.

use jiff::Timestamp;
use ralph_model::{Learning, LearningId, LearningKind, LearningSource};
use rusqlite::Transaction;
use serde_json::Value;

use super::foreign_learnings::{ForeignLearning, share};
use super::lesson_of;

/// Two rates that differ by less are the same one, written by two programs.
const SAME_RATE: f64 = 1e-9;

/// What was said of a lesson in the other store when it was last taken over.
pub(super) struct LastTold(Value);

impl LastTold {
    /// Reads it, as far as it was kept.
    pub(super) fn read(original: Option<&str>) -> Self {
        let value = original.and_then(|original| serde_json::from_str(original).ok());
        Self(value.unwrap_or_default())
    }

    /// Whether this telling is newer. Where nobody knows when the last one was, it must be newer than all that
    /// happened here.
    pub(super) fn is_before(&self, lesson: &ForeignLearning, known: &Learning) -> bool {
        lesson.updated_at > self.time("updatedAt").unwrap_or(known.updated_at)
    }

    /// Whether a lesson that has the id of a known one is the same: in its words, or by when it was first learned. Where
    /// nobody knows that, a newer telling is.
    pub(super) fn is_of(&self, lesson: &ForeignLearning, known: &Learning) -> bool {
        // What was learned here has an id that was drawn by lot: no other one has it.
        let is_from_here = known.source != LearningSource::Imported && lesson.id.as_deref() == Some(known.id.as_str());
        if is_from_here {
            return true;
        }
        let told_kind = self.0.get("type").and_then(Value::as_str);
        if lesson.kind != known.kind && told_kind != Some(lesson.kind.word()) {
            return false;
        }
        let created = |at: Timestamp| at.as_millisecond() == lesson.created_at.as_millisecond();
        let is_as_old = match self.time("createdAt") {
            Some(told) => created(told) || created(known.created_at),
            None => created(known.created_at) || self.is_before(lesson, known),
        };
        is_as_old || lesson_of(&lesson.content) == lesson_of(&known.content)
    }

    fn time(&self, name: &str) -> Option<Timestamp> {
        self.0.get(name)?.as_str()?.parse().ok()
    }

    fn success_rate(&self) -> Option<f64> {
        self.0.get("successRate")?.as_f64()
    }
}

/// Brings a lesson up to date. Words and rates that a person has put in place of those of the other store stay, and so do
/// those of a lesson that was learned here.
pub(super) fn bring_up_to_date(
    transaction: &Transaction<'_>,
    next: &mut Learning,
    lesson: &ForeignLearning,
    last: &LastTold,
) -> rusqlite::Result<()> {
    let by_people = ChangedByPeople::read(transaction, &next.id)?;
    let is_theirs = next.source == LearningSource::Imported;
    if is_theirs && !by_people.words {
        next.content.clone_from(&lesson.content);
    }
    let has_own_figures = by_people.words && next.kind == LearningKind::Estimate;
    if (is_theirs && !has_own_figures) || next.facts.is_none() {
        next.facts.clone_from(&lesson.facts);
    }
    let is_as_told = |told: f64| (share(told) - next.first_success_rate).abs() < SAME_RATE;
    // What comes back from here has what was counted here in its rate already.
    let is_uncounted = next.uses_here() == 0;
    if is_theirs && is_uncounted && !by_people.rate && last.success_rate().is_none_or(is_as_told) {
        next.first_success_rate = share(lesson.success_rate);
    }
    Ok(())
}

/// What people have changed in a lesson.
struct ChangedByPeople {
    words: bool,
    rate: bool,
}

impl ChangedByPeople {
    fn read(transaction: &Transaction<'_>, id: &LearningId) -> rusqlite::Result<Self> {
        transaction
            .prepare_cached(
                "SELECT EXISTS (SELECT 1 FROM learning_versions WHERE learning = learnings.seq) AS words,
                        counted_since > 0 AS rate
                 FROM learnings WHERE id = ?1",
            )?
            .query_row([id.as_str()], |row| {
                Ok(Self {
                    words: row.get("words")?,
                    rate: row.get("rate")?,
                })
            })
    }
}
