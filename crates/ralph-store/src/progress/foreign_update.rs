//! Updates an imported learning from a newer version. Only what the other store owns changes, never what was said here.

use jiff::Timestamp;
use ralph_model::{Learning, LearningId, LearningKind, LearningSource};
use rusqlite::Transaction;
use serde_json::Value;

use super::foreign_learnings::{ForeignLearning, share};
use super::normalized;

/// Rates that differ by less are equal; two programs wrote them.
const SAME_RATE: f64 = 1e-9;

/// The record of a learning from its last import.
pub(super) struct LastImport(Value);

impl LastImport {
    /// Reads it, as far as it was kept.
    pub(super) fn read(original: Option<&str>) -> Self {
        let value = original.and_then(|original| serde_json::from_str(original).ok());
        Self(value.unwrap_or_default())
    }

    /// Whether this version is newer. If the time of the last one is unknown, it must be newer than everything that
    /// happened here.
    pub(super) fn is_before(&self, learning: &ForeignLearning, known: &Learning) -> bool {
        learning.updated_at > self.time("updatedAt").unwrap_or(known.updated_at)
    }

    /// Whether a known learning with the same id is the same: it has the same words or the same time of creation. If
    /// that time is unknown, a newer version is the same.
    pub(super) fn is_of(&self, learning: &ForeignLearning, known: &Learning) -> bool {
        // Ids of learnings from here are random, so no other learning has one.
        let is_from_here =
            known.source != LearningSource::Imported && learning.id.as_deref() == Some(known.id.as_str());
        if is_from_here {
            return true;
        }
        let recorded_kind = self.0.get("type").and_then(Value::as_str);
        if learning.kind != known.kind && recorded_kind != Some(learning.kind.word()) {
            return false;
        }
        let created = |at: Timestamp| at.as_millisecond() == learning.created_at.as_millisecond();
        let is_as_old = match self.time("createdAt") {
            Some(at) => created(at) || created(known.created_at),
            None => created(known.created_at) || self.is_before(learning, known),
        };
        is_as_old || normalized(&learning.content) == normalized(&known.content)
    }

    fn time(&self, name: &str) -> Option<Timestamp> {
        self.0.get(name)?.as_str()?.parse().ok()
    }

    fn success_rate(&self) -> Option<f64> {
        self.0.get("successRate")?.as_f64()
    }
}

/// Updates a learning. Words and rates that a user has replaced stay, and so do those of a learning that was learned
/// here.
pub(super) fn bring_up_to_date(
    transaction: &Transaction<'_>,
    next: &mut Learning,
    learning: &ForeignLearning,
    last: &LastImport,
) -> rusqlite::Result<()> {
    let by_people = ChangedByPeople::read(transaction, &next.id)?;
    let is_theirs = next.source == LearningSource::Imported;
    if is_theirs && !by_people.words {
        next.content.clone_from(&learning.content);
    }
    let has_own_figures = by_people.words && next.kind == LearningKind::Estimate;
    if (is_theirs && !has_own_figures) || next.facts.is_none() {
        next.facts.clone_from(&learning.facts);
    }
    let is_as_recorded = |rate: f64| (share(rate) - next.first_success_rate).abs() < SAME_RATE;
    // The rate of a learning that was exported from here already includes the uses that were counted here.
    let is_uncounted = next.uses_here() == 0;
    if is_theirs && is_uncounted && !by_people.rate && last.success_rate().is_none_or(is_as_recorded) {
        next.first_success_rate = share(learning.success_rate);
        next.success_rate = next.first_success_rate;
    }
    Ok(())
}

/// The fields of a learning that users have changed.
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
