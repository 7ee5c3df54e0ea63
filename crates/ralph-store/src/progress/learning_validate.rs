//! Lessons that wait for a judgement get it: can they be true?

use jiff::Timestamp;
use ralph_model::{Candidate, Learning, LearningId, LearningStatus};
use rusqlite::{Transaction, params};

use super::Store;
use super::columns::moment;
use super::learning_changes::existing;
use super::learning_error::LearningError;
use super::learning_reading::read_learning;

impl Store {
    /// Judges lessons that are pending: each can be true and is validated, or is rejected for a reason. Without ids all of
    /// them; those that were judged, as they stand now.
    ///
    /// # Errors
    /// When there is no such lesson, one of them was judged before, or the database cannot be written; then none was judged.
    pub fn validate_learnings(&mut self, ids: &[LearningId], now: Timestamp) -> Result<Vec<Learning>, LearningError> {
        self.change_learnings(|transaction| {
            let mut waiting = Vec::new();
            for id in ids {
                let learning = existing(transaction, id)?;
                if learning.status != LearningStatus::Pending {
                    let (id, status) = (learning.id, learning.status);
                    return Err(LearningError::NotPending { id, status }.into());
                }
                waiting.push(learning);
            }
            if ids.is_empty() {
                waiting = pending(transaction)?;
            }
            for learning in &mut waiting {
                judge(transaction, learning, now)?;
            }
            Ok(waiting)
        })
    }
}

fn pending(transaction: &Transaction<'_>) -> rusqlite::Result<Vec<Learning>> {
    transaction
        .prepare_cached("SELECT * FROM learnings WHERE status = 'pending' ORDER BY seq")?
        .query_map([], read_learning)?
        .collect()
}

fn judge(transaction: &Transaction<'_>, learning: &mut Learning, now: Timestamp) -> rusqlite::Result<()> {
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
        ])
        .map(drop)
}
