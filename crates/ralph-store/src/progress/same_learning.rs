//! Finds the stored learning that an incoming one repeats: identical words, an estimate of the same subject, or a
//! near-duplicate.

use ralph_model::{EligibilityRule, Facts, Learning, LearningKind, TaskType, TextFeatures};
use rusqlite::{OptionalExtension, Transaction, params};

use super::Store;
use super::learning_changes::resolve_merged;
use super::learning_reading::read_learning;
use super::normalized;
use crate::StoreError;

/// Condition for a learning with the same words and kind. Texts without any words are compared literally.
const SAME_WORDS: &str = "normalized = ?1 AND kind = ?2 AND (?1 <> '' OR content = ?3)";
/// How many of the newest learnings that share a number of the prefix are compared.
const MOST_COMPARED: u32 = 256;

/// How a stored learning is like an incoming one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Likeness {
    /// It is the same record of another store.
    Record,
    /// It has the same words or, for an estimate, the same subject.
    Identical,
    /// A learning like it was merged into this one.
    Part,
    Near,
}

/// Returns the stored learning that one repeats. A merged one is resolved to the one that it was merged into.
pub(super) fn known(
    transaction: &Transaction<'_>,
    new: &Learning,
    features: &TextFeatures,
) -> rusqlite::Result<Option<(Learning, Likeness)>> {
    if let Some(known) = identical(transaction, new)? {
        return resolved(transaction, known, Likeness::Identical).map(Some);
    }
    let known = near_duplicate(transaction, new, features)?;
    Ok(known.map(|known| (known, Likeness::Near)))
}

/// Resolves a merged learning to the one that it was merged into.
pub(super) fn resolved(
    transaction: &Transaction<'_>,
    known: Learning,
    likeness: Likeness,
) -> rusqlite::Result<(Learning, Likeness)> {
    let id = known.id.clone();
    let survivor = resolve_merged(transaction, known)?;
    let likeness = if survivor.id == id { likeness } else { Likeness::Part };
    Ok((survivor, likeness))
}

/// Returns the learning with the same words, or the estimate of the same subject, whatever its status, for the same
/// task type or an unknown one. An exact task type is preferred, then an active status.
pub(super) fn identical(transaction: &Transaction<'_>, new: &Learning) -> rusqlite::Result<Option<Learning>> {
    let known = transaction
        .prepare_cached(&format!(
            "SELECT * FROM learnings
             WHERE {SAME_WORDS} AND (task_type IS ?4 OR task_type IS NULL OR ?4 IS NULL)
             ORDER BY task_type IS NOT ?4, status IN ('rejected', 'pruned'), seq LIMIT 1"
        ))?
        .query_row(
            params![
                normalized(&new.content),
                new.kind.word(),
                new.content,
                new.task_type.map(TaskType::word),
            ],
            read_learning,
        )
        .optional()?;
    match (known, &new.facts) {
        (None, Some(Facts::Estimate { complexity, .. })) => estimate(transaction, new.task_type, complexity),
        (known, _) => Ok(known),
    }
}

fn estimate(
    transaction: &Transaction<'_>,
    task_type: Option<TaskType>,
    complexity: &str,
) -> rusqlite::Result<Option<Learning>> {
    transaction
        .prepare_cached(
            "SELECT * FROM learnings INDEXED BY learnings_estimates
             WHERE kind = 'estimate' AND task_type IS ?1 AND facts ->> '$.complexity' = ?2
             ORDER BY superseded_by IS NOT NULL, status <> 'promoted', status IN ('rejected', 'pruned'), seq LIMIT 1",
        )?
        .query_row(params![task_type.map(TaskType::word), complexity], read_learning)
        .optional()
}

/// Returns the near-duplicate that is active or proposed, of the same kind and category and for the same task type or
/// an unknown one; of several the one with the highest confidence, then the oldest. Estimates have none, since their
/// words do not identify them.
pub(super) fn near_duplicate(
    transaction: &Transaction<'_>,
    new: &Learning,
    features: &TextFeatures,
) -> rusqlite::Result<Option<Learning>> {
    if new.kind == LearningKind::Estimate {
        return Ok(None);
    }
    let mut statement = transaction.prepare_cached(
        "SELECT seq, confidence, features
         FROM (SELECT learning FROM learning_prefixes WHERE stem = ?1 ORDER BY learning DESC LIMIT ?2)
         JOIN learnings ON seq = learning
         WHERE kind = ?3 AND category = ?4 AND (task_type IS ?5 OR task_type IS NULL OR ?5 IS NULL)
               AND status IN ('promoted', 'validated', 'pending') AND superseded_by IS NULL AND features IS NOT NULL",
    )?;
    let mut near: Vec<(f64, i64)> = Vec::new();
    for stem in features.prefix() {
        let mut rows = statement.query(params![
            stem.cast_signed(),
            MOST_COMPARED,
            new.kind.word(),
            new.category,
            new.task_type.map(TaskType::word),
        ])?;
        while let Some(row) = rows.next()? {
            if TextFeatures::from_bytes(row.get_ref("features")?.as_blob()?).is_near(features) {
                near.push((row.get("confidence")?, row.get("seq")?));
            }
        }
    }
    let best = near
        .into_iter()
        .min_by(|(one, older), (other, newer)| other.total_cmp(one).then(older.cmp(newer)));
    best.map(|(_, seq)| {
        transaction
            .prepare_cached("SELECT * FROM learnings WHERE seq = ?1")?
            .query_row([seq], read_learning)
    })
    .transpose()
}

impl Store {
    /// Whether a strategy with the same words is ineligible for another task type because of its outcomes. A strategy
    /// with enough uses of its own is judged by these instead.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn is_refuted_elsewhere(&self, learning: &Learning) -> Result<bool, StoreError> {
        let rule = EligibilityRule::STRATEGIES;
        let has_own_record = learning.uses_here() >= rule.min_uses;
        if learning.kind != LearningKind::Strategy || has_own_record {
            return Ok(false);
        }
        let said = normalized(&learning.content);
        if said.is_empty() {
            return Ok(false);
        }
        let refuted = self
            .connection
            .prepare_cached(&format!(
                "SELECT EXISTS (
                     SELECT 1 FROM learnings
                     WHERE {SAME_WORDS} AND id <> ?4 AND status = 'promoted' AND superseded_by IS NULL
                           AND use_count - first_use_count >= ?5 AND success_rate < ?6)"
            ))
            .and_then(|mut statement| {
                let parameters = params![
                    said,
                    learning.kind.word(),
                    learning.content,
                    learning.id.as_str(),
                    rule.min_uses,
                    rule.leaves_below,
                ];
                statement.query_row(parameters, |row| row.get(0))
            });
        self.sql(refuted)
    }
}

/// Returns another learning with the same words and task type. Learnings that were merged into this one are parts of
/// it.
pub(super) fn other_duplicate(transaction: &Transaction<'_>, new: &Learning) -> rusqlite::Result<Option<Learning>> {
    transaction
        .prepare_cached(&format!(
            "SELECT * FROM learnings
             WHERE {SAME_WORDS} AND task_type IS ?4 AND id <> ?5
                   AND NOT (status = 'pruned' AND superseded_by IS ?5)
             ORDER BY status IN ('rejected', 'pruned'), seq LIMIT 1"
        ))?
        .query_row(
            params![
                normalized(&new.content),
                new.kind.word(),
                new.content,
                new.task_type.map(TaskType::word),
                new.id.as_str(),
            ],
            read_learning,
        )
        .optional()
}
