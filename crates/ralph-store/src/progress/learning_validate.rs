//! Validates pending learnings.

use jiff::Timestamp;
use ralph_model::{Learning, LearningId, LearningStatus};
use rusqlite::Transaction;

use super::Store;
use super::learning_changes::{JudgedLearnings, existing};
use super::learning_error::LearningError;
use super::learning_writer::{save, validate};

impl Store {
    /// Validates or rejects pending learnings; all of them if there are no ids. Returns those that were judged.
    ///
    /// # Errors
    /// When a learning is missing or not pending, or the database cannot be written; then nothing changes.
    pub fn validate_learnings(&mut self, ids: &[LearningId], now: Timestamp) -> Result<JudgedLearnings, LearningError> {
        if ids.is_empty() {
            return self.judge_all("status = 'pending'", |transaction, learning| {
                Ok(judge(transaction, learning, now)?)
            });
        }
        self.change_learnings(|transaction| {
            let mut judged = JudgedLearnings::default();
            for id in ids {
                let learning = existing(transaction, id)?;
                if learning.status != LearningStatus::Pending {
                    let (id, status) = (learning.id, learning.status);
                    return Err(LearningError::NotPending { id, status }.into());
                }
                judged.judged.push(judge(transaction, learning, now)?);
            }
            Ok(judged)
        })
    }
}

fn judge(transaction: &Transaction<'_>, mut learning: Learning, now: Timestamp) -> rusqlite::Result<Learning> {
    validate(&mut learning, LearningStatus::Validated);
    learning.updated_at = now;
    save(transaction, &learning, None)?;
    Ok(learning)
}
