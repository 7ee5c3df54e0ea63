//! The rule for learnings that were altered on disk: only the command that sets the damaged part again may change them.
//! Otherwise a change of another part would vouch for the damage.

use ralph_model::{Learning, LearningId};
use rusqlite::{Row, Transaction};

use super::learning_checksum::{ChecksumState, LearningChecksum, STATUS_CHECKSUM, TEXT_CHECKSUM};
use super::learning_error::{LearningError, LearningTrouble};
use super::learning_reading::{UnreadableLearning, read_learning};

/// Result of judging all learnings of one status.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct JudgedLearnings {
    pub judged: Vec<Learning>,
    /// Skipped because they were altered on disk.
    pub damaged: Vec<LearningId>,
    /// Skipped because they have no text.
    pub empty: Vec<LearningId>,
}

/// Learnings to judge, as far as they can be changed.
#[derive(Default)]
pub(super) struct JudgeBatch {
    pub(super) sound: Vec<Learning>,
    pub(super) damaged: Vec<LearningId>,
    /// Errors of unreadable learnings.
    pub(super) unreadable: Vec<rusqlite::Error>,
}

impl JudgeBatch {
    /// Returns the learnings that match a condition, oldest first.
    pub(super) fn of(transaction: &Transaction<'_>, condition: &str) -> rusqlite::Result<Self> {
        let mut waiting = Self::default();
        let mut statement =
            transaction.prepare_cached(&format!("SELECT * FROM learnings WHERE {condition} ORDER BY seq"))?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            match read_learning(row) {
                Ok(learning) => match damaged_parts(row)?.is_empty() {
                    true => waiting.sound.push(learning),
                    false => waiting.damaged.push(learning.id),
                },
                Err(error) if UnreadableLearning::in_error(&error).is_some() => waiting.unreadable.push(error),
                Err(error) => return Err(error),
            }
        }
        Ok(waiting)
    }
}

/// Refuses to change an altered learning, unless the command sets a damaged part again.
pub(super) fn refuse_damaged(
    transaction: &Transaction<'_>,
    id: &LearningId,
    replaced_parts: &[LearningChecksum],
) -> Result<(), LearningTrouble> {
    let damaged_parts = transaction
        .prepare_cached("SELECT * FROM learnings WHERE id = ?1")?
        .query_row([id.as_str()], damaged_parts)?;
    if damaged_parts.is_empty() || damaged_parts.iter().any(|seal| replaced_parts.contains(seal)) {
        return Ok(());
    }
    Err(LearningError::Damaged { id: id.clone() }.into())
}

/// Returns the damaged parts of a learning.
fn damaged_parts(row: &Row<'_>) -> rusqlite::Result<Vec<LearningChecksum>> {
    let mut damaged_parts = Vec::new();
    for seal in [TEXT_CHECKSUM, STATUS_CHECKSUM] {
        if seal.state(row)? == ChecksumState::Broken {
            damaged_parts.push(seal);
        }
    }
    Ok(damaged_parts)
}
