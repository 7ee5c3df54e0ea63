//! Lessons that contradict each other: a person says that both hold, or that one has taken the place of the other.

use jiff::Timestamp;
use ralph_model::{Learning, LearningId, LearningStatus};
use rusqlite::{Transaction, params};

use super::Store;
use super::columns::{moment, word_at};
use super::learning_changes::{existing, judge, stands, take_place};
use super::learning_damage::refuse_damaged;
use super::learning_error::{LearningError, LearningTrouble};
use super::learning_review::is_as_seen;
use crate::StoreError;

/// Which of two lessons that contradict each other holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holds {
    /// The first, which takes the place of the second.
    One,
    /// The second, which takes the place of the first.
    Other,
    /// Both: they do not contradict each other.
    Both,
}

/// What became of a person's word on two lessons.
#[derive(Debug, Clone, PartialEq)]
pub enum Weighed {
    /// It stands.
    AsSaid,
    /// Somebody else has changed one of them since they were shown; they are as they were left, which is this.
    ChangedMeanwhile(Box<[Learning; 2]>),
    /// Somebody else has said that both hold.
    BothHold,
}

impl Store {
    /// How many lessons there are that may contradict each other: those that hold or wait, and that nothing has taken the
    /// place of.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn lessons_to_compare(&self) -> Result<u32, StoreError> {
        let sql = "SELECT count(*) FROM learnings
                   WHERE status IN ('promoted', 'validated', 'pending') AND superseded_by IS NULL";
        let counted = self
            .connection
            .prepare_cached(sql)
            .and_then(|mut statement| statement.query_row([], |row| row.get(0)));
        self.sql(counted)
    }

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
        self.change_learnings(|transaction| note_that_both_hold(transaction, [one, other], now))
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
        self.change_learnings(|transaction| supersede(transaction, (old, new), now))
    }

    /// Puts a person's word on two lessons that contradict each other as they have seen them. Where one was changed since, its
    /// words or how far it has come, their word is not taken for it.
    ///
    /// # Errors
    /// When one of them is not known any more, or the database cannot be written.
    pub fn settle_as_seen(
        &mut self,
        seen: [&Learning; 2],
        holds: Holds,
        now: Timestamp,
    ) -> Result<Weighed, LearningError> {
        self.change_learnings(|transaction| {
            let ids = seen.map(|learning| &learning.id);
            let [one, other] = ids;
            let standing = [existing(transaction, one)?, existing(transaction, other)?];
            if !standing
                .iter()
                .zip(seen)
                .all(|(standing, seen)| is_as_seen(standing, seen))
            {
                return Ok(Weighed::ChangedMeanwhile(Box::new(standing)));
            }
            if both_hold(transaction, ids)? {
                return Ok(Weighed::BothHold);
            }
            match holds {
                Holds::One => supersede(transaction, (other, one), now)?,
                Holds::Other => supersede(transaction, (one, other), now)?,
                Holds::Both => note_that_both_hold(transaction, ids, now)?,
            };
            Ok(Weighed::AsSaid)
        })
    }
}

/// Two ids with the lower one first, as they are stored.
fn in_order([one, other]: [&LearningId; 2]) -> [&str; 2] {
    let mut ids = [one.as_str(), other.as_str()];
    ids.sort_unstable();
    ids
}

fn both_hold(transaction: &Transaction<'_>, ids: [&LearningId; 2]) -> rusqlite::Result<bool> {
    transaction
        .prepare_cached("SELECT 1 FROM settled_conflicts WHERE one = ?1 AND other = ?2")?
        .exists(in_order(ids))
}

/// Notes that both hold; says whether that is new.
fn note_that_both_hold(
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

/// Notes that the new one has taken the place of the old one; says whether that is new.
fn supersede(
    transaction: &Transaction<'_>,
    (old, new): (&LearningId, &LearningId),
    now: Timestamp,
) -> Result<bool, LearningTrouble> {
    if old == new {
        return Err(LearningError::SupersedesItself { id: old.clone() }.into());
    }
    let (leaving, staying) = (existing(transaction, old)?, existing(transaction, new)?);
    refuse_those_that_are_out([&leaving, &staying])?;
    refuse_rings(transaction, &leaving, &staying)?;
    if leaving.superseded_by.as_ref() == Some(new) {
        return Ok(false);
    }
    refuse_damaged(transaction, old, &[])?;
    refuse_damaged(transaction, new, &[])?;
    take_place(transaction, old, new, now)?;
    if staying.status != LearningStatus::Promoted {
        judge(transaction, &staying, (LearningStatus::Promoted, None), now)?;
    }
    Ok(true)
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
