//! Lessons that contradict each other: a person says that both hold, or that one has taken the place of the other.

use jiff::Timestamp;
use ralph_model::{Learning, LearningId, LearningStatus};
use rusqlite::{Transaction, params};

use super::Store;
use super::columns::{moment, word_at};
use super::learning_changes::{existing, set_status, stands, take_place};
use super::learning_error::{LearningError, LearningTrouble};
use crate::StoreError;

impl Store {
    /// The pairs of lessons of which a person said that both hold, each with the lower id first.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn settled_conflicts(&self) -> Result<Vec<(LearningId, LearningId)>, StoreError> {
        let found = self
            .connection
            .prepare_cached("SELECT one, other FROM settled_conflicts ORDER BY one, other")
            .and_then(|mut statement| {
                let pairs = statement.query_map([], |row| {
                    Ok((
                        word_at(row, "one", LearningId::parse)?,
                        word_at(row, "other", LearningId::parse)?,
                    ))
                })?;
                pairs.collect()
            });
        self.sql(found)
    }

    /// Notes that two lessons which seem to contradict each other both hold; says whether that is new.
    ///
    /// # Errors
    /// When one of them is not known, they are the same one, or the database cannot be written.
    pub fn settle_conflict(
        &mut self,
        one: &LearningId,
        other: &LearningId,
        now: Timestamp,
    ) -> Result<bool, LearningError> {
        self.change_learnings(|transaction| {
            if one == other {
                return Err(LearningError::SettlesItself { id: one.clone() }.into());
            }
            existing(transaction, one)?;
            existing(transaction, other)?;
            let (one, other) = if one < other { (one, other) } else { (other, one) };
            let rows = transaction
                .prepare_cached(
                    "INSERT INTO settled_conflicts (one, other, at) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING",
                )?
                .execute(params![one.as_str(), other.as_str(), moment(now)])?;
            Ok(rows == 1)
        })
    }

    /// Notes that a lesson has taken the place of another one, which no prompt shows from now on; says whether that is new.
    /// The new one holds from now on, if it was still waiting.
    ///
    /// # Errors
    /// When one of them is not known, the new one does not hold and does not wait, another has taken its place, the old one was
    /// taken out, they are the same one, or the database cannot be written.
    pub fn supersede_learning(
        &mut self,
        old: &LearningId,
        new: &LearningId,
        now: Timestamp,
    ) -> Result<bool, LearningError> {
        self.change_learnings(|transaction| {
            if old == new {
                return Err(LearningError::SupersedesItself { id: old.clone() }.into());
            }
            let (leaving, staying) = (existing(transaction, old)?, existing(transaction, new)?);
            refuse_those_that_are_out([&leaving, &staying])?;
            refuse_rings(transaction, &leaving, &staying)?;
            if leaving.superseded_by.as_ref() == Some(new) {
                return Ok(false);
            }
            take_place(transaction, old, new, now)?;
            if staying.status != LearningStatus::Promoted {
                set_status(transaction, new, (LearningStatus::Promoted, None), now)?;
            }
            Ok(true)
        })
    }
}

fn refuse_those_that_are_out(learnings: [&Learning; 2]) -> Result<(), LearningError> {
    let is_out = |learning: &&Learning| matches!(learning.status, LearningStatus::Rejected | LearningStatus::Pruned);
    match learnings.into_iter().find(is_out) {
        Some(out) => Err(LearningError::IsOut {
            id: out.id.clone(),
            status: out.status,
        }),
        None => Ok(()),
    }
}

/// What has taken the place of the new one must not be the old one, directly or by others; and whatever it is stands there in
/// the new one's place, so it is the one to name.
fn refuse_rings(transaction: &Transaction<'_>, leaving: &Learning, staying: &Learning) -> Result<(), LearningTrouble> {
    let Some(by) = &staying.superseded_by else {
        return Ok(());
    };
    let mut last = by.clone();
    let mut met = vec![staying.id.clone()];
    while last != leaving.id && !met.contains(&last) {
        met.push(last.clone());
        match stands(transaction, &last)?.and_then(|learning| learning.superseded_by) {
            Some(next) => last = next,
            None => break,
        }
    }
    let (old, new) = (leaving.id.clone(), staying.id.clone());
    Err(if last == leaving.id {
        LearningError::SupersedesInARing { old, new }.into()
    } else {
        LearningError::SupersededItself { id: new, by: last }.into()
    })
}
