//! Validates pending learnings.

use jiff::Timestamp;
use ralph_model::{Candidate, Learning, LearningId, LearningStatus};
use rusqlite::{Transaction, params};

use super::Store;
use super::columns::moment;
use super::learning_changes::JudgedLearnings;
use super::learning_changes::existing;
use super::learning_error::LearningError;

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
    let candidate = Candidate {
        kind: learning.kind,
        task_type: learning.task_type,
        content: &learning.content,
        confidence: learning.confidence,
        success_rate: learning.success_rate,
    };
    let rejection = candidate.rejection();
    learning.status = match rejection {
        Some(_) => LearningStatus::Rejected,
        None => LearningStatus::Validated,
    };
    learning.reason = rejection.map(str::to_owned);
    learning.updated_at = now;
    transaction
        .prepare_cached("UPDATE learnings SET status = ?2, reason = ?3, updated_at = ?4 WHERE id = ?1")?
        .execute(params![
            learning.id.as_str(),
            learning.status.word(),
            rejection,
            moment(now)
        ])?;
    Ok(learning)
}
