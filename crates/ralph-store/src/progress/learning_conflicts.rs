//! Conflicts between learnings: a user decides that both are right, or that one supersedes the other.

use jiff::Timestamp;
use ralph_model::{Learning, LearningId, LearningStatus};
use rusqlite::{Transaction, params};

use super::Store;
use super::columns::{moment, word_at};
use super::learning_changes::{existing, fetch, judge, mark_superseded};
use super::learning_error::{LearningError, LearningTrouble};
use super::learning_review::is_unchanged;
use crate::StoreError;

/// Decision on a conflict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holds {
    /// The first supersedes the second.
    One,
    /// The second supersedes the first.
    Other,
    Both,
}

/// Result of a decision on a conflict.
#[derive(Debug, Clone, PartialEq)]
pub enum ConflictDecision {
    AsSaid,
    /// One of them was changed since it was displayed; this is the current state, unchanged.
    ChangedMeanwhile(Box<[Learning; 2]>),
    /// Another user has kept both.
    BothHold,
}

impl Store {
    /// Returns the number of learnings that may conflict: active or proposed, and not superseded.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn learnings_to_compare(&self) -> Result<u32, StoreError> {
        let sql = "SELECT count(*) FROM learnings
                   WHERE status IN ('promoted', 'validated', 'pending') AND superseded_by IS NULL";
        let counted = self
            .connection
            .prepare_cached(sql)
            .and_then(|mut statement| statement.query_row([], |row| row.get(0)));
        self.sql(counted)
    }

    /// Returns the pairs that a user decided to keep, each with the lower id first.
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

    /// Records that two learnings do not conflict; returns whether that is new.
    ///
    /// # Errors
    /// When one of them is missing, both are the same, or the database cannot be written.
    pub fn settle_conflict(
        &mut self,
        one: &LearningId,
        other: &LearningId,
        now: Timestamp,
    ) -> Result<bool, LearningError> {
        self.change_learnings(|transaction| record_both_kept(transaction, [one, other], now))
    }

    /// Marks a learning as superseded by another one, which is promoted if it was proposed. Returns whether that is
    /// new.
    ///
    /// # Errors
    /// When one of them is missing, rejected or pruned, both are the same, the new one is superseded itself, or the
    /// database cannot be written.
    pub fn supersede_learning(
        &mut self,
        old: &LearningId,
        new: &LearningId,
        now: Timestamp,
    ) -> Result<bool, LearningError> {
        self.change_learnings(|transaction| supersede(transaction, (old, new), now))
    }

    /// Decides a conflict as the user has seen it. If the text or status of a learning has changed since, nothing is
    /// decided.
    ///
    /// # Errors
    /// When one of them is missing, or the database cannot be written.
    pub fn settle_as_seen(
        &mut self,
        seen: [&Learning; 2],
        holds: Holds,
        now: Timestamp,
    ) -> Result<ConflictDecision, LearningError> {
        self.change_learnings(|transaction| {
            let ids = seen.map(|learning| &learning.id);
            let [one, other] = ids;
            let current = [existing(transaction, one)?, existing(transaction, other)?];
            if !current
                .iter()
                .zip(seen)
                .all(|(current, seen)| is_unchanged(current, seen))
            {
                return Ok(ConflictDecision::ChangedMeanwhile(Box::new(current)));
            }
            if are_both_kept(transaction, ids)? {
                return Ok(ConflictDecision::BothHold);
            }
            match holds {
                Holds::One => supersede(transaction, (other, one), now)?,
                Holds::Other => supersede(transaction, (one, other), now)?,
                Holds::Both => record_both_kept(transaction, ids, now)?,
            };
            Ok(ConflictDecision::AsSaid)
        })
    }
}

/// Two ids with the lower one first, as they are stored.
fn in_order([one, other]: [&LearningId; 2]) -> [&str; 2] {
    let mut ids = [one.as_str(), other.as_str()];
    ids.sort_unstable();
    ids
}

fn are_both_kept(transaction: &Transaction<'_>, ids: [&LearningId; 2]) -> rusqlite::Result<bool> {
    transaction
        .prepare_cached("SELECT 1 FROM settled_conflicts WHERE one = ?1 AND other = ?2")?
        .exists(in_order(ids))
}

fn record_both_kept(
    transaction: &Transaction<'_>,
    ids: [&LearningId; 2],
    now: Timestamp,
) -> Result<bool, LearningTrouble> {
    let [one, other] = ids;
    if one == other {
        return Err(LearningError::SettlesItself { id: one.clone() }.into());
    }
    existing(transaction, one)?;
    existing(transaction, other)?;
    let [lower, higher] = in_order(ids);
    let rows = transaction
        .prepare_cached("INSERT INTO settled_conflicts (one, other, at) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING")?
        .execute(params![lower, higher, moment(now)])?;
    Ok(rows == 1)
}

/// Returns whether that is new.
fn supersede(
    transaction: &Transaction<'_>,
    (old, new): (&LearningId, &LearningId),
    now: Timestamp,
) -> Result<bool, LearningTrouble> {
    if old == new {
        return Err(LearningError::SupersedesItself { id: old.clone() }.into());
    }
    let (leaving, staying) = (existing(transaction, old)?, existing(transaction, new)?);
    refuse_inactive([&leaving, &staying])?;
    refuse_cycles(transaction, &leaving, &staying)?;
    if leaving.superseded_by.as_ref() == Some(new) {
        return Ok(false);
    }
    mark_superseded(transaction, old, new, now)?;
    if staying.status != LearningStatus::Promoted {
        judge(transaction, &staying, (LearningStatus::Promoted, None), now)?;
    }
    Ok(true)
}

fn refuse_inactive(learnings: [&Learning; 2]) -> Result<(), LearningError> {
    let is_out = |learning: &&Learning| matches!(learning.status, LearningStatus::Rejected | LearningStatus::Pruned);
    match learnings.into_iter().find(is_out) {
        Some(out) => Err(LearningError::IsOut {
            id: out.id.clone(),
            status: out.status,
        }),
        None => Ok(()),
    }
}

/// Refuses a cycle of superseded learnings, and a replacement that is superseded itself: its successor has to be named
/// instead.
fn refuse_cycles(transaction: &Transaction<'_>, leaving: &Learning, staying: &Learning) -> Result<(), LearningTrouble> {
    let Some(by) = &staying.superseded_by else {
        return Ok(());
    };
    let mut last = by.clone();
    let mut met = vec![staying.id.clone()];
    while last != leaving.id && !met.contains(&last) {
        met.push(last.clone());
        match fetch(transaction, &last)?.and_then(|learning| learning.superseded_by) {
            Some(next) => last = next,
            None => break,
        }
    }
    let (old, new) = (leaving.id.clone(), staying.id.clone());
    Err(if last == leaving.id {
        LearningError::SupersedesInACycle { old, new }.into()
    } else {
        LearningError::SupersededItself { id: new, by: last }.into()
    })
}
