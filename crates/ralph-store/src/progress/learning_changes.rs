//! User actions on stored learnings: promote, reject and restore.

use std::collections::BTreeSet;

use jiff::Timestamp;
use ralph_model::{Learning, LearningId, LearningStatus};
use rusqlite::{OptionalExtension, Transaction, params};

use super::Store;
use super::columns::{moment, word_at};
use super::learning_error::{LearningError, LearningTrouble};
use super::learning_parts::is_part_of;
use super::learning_reading::read_learning;
use super::learning_update::restart_counts;
use super::learning_writer::save;

/// Maximum length of a chain of merges.
const MOST_MERGES: usize = 16;
/// Result of judging all learnings of one status.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct JudgedLearnings {
    pub judged: Vec<Learning>,
    /// Skipped because they have no text.
    pub empty: Vec<LearningId>,
}

/// A user's decision on learnings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Judgement<'a> {
    Promote,
    /// Rejected, for this reason.
    Reject(&'a str),
}

impl Store {
    /// Promotes or rejects learnings, all or none. Those that already have the status are left out of the result.
    ///
    /// # Errors
    /// When a learning is missing, an empty one would be promoted, or the database cannot be written.
    pub fn judge_learnings(
        &mut self,
        ids: &[LearningId],
        judgement: Judgement<'_>,
        now: Timestamp,
    ) -> Result<Vec<LearningId>, LearningError> {
        let (status, reason) = match judgement {
            Judgement::Promote => (LearningStatus::Promoted, None),
            Judgement::Reject(reason) => (LearningStatus::Rejected, Some(reason)),
        };
        self.change_learnings(|transaction| {
            let mut changed = Vec::new();
            for id in ids {
                let learning = existing(transaction, id)?;
                let stands_so = learning.status == status && learning.reason.as_deref() == reason;
                let is_in_no_prompt = learning.superseded_by.is_some() || !learning.is_eligible();
                if stands_so && !(is_in_no_prompt && status == LearningStatus::Promoted) {
                    continue;
                }
                judge(transaction, &learning, (status, reason), now)?;
                changed.push(learning.id);
            }
            Ok(changed)
        })
    }

    /// Promotes every validated learning. Empty ones are skipped.
    ///
    /// # Errors
    /// When the database cannot be written; then nothing is promoted.
    pub fn promote_validated(&mut self, now: Timestamp) -> Result<JudgedLearnings, LearningError> {
        let mut done = self.judge_all(
            "status = 'validated' AND superseded_by IS NULL",
            |transaction, learning| {
                if !learning.has_text() {
                    return Ok(learning);
                }
                judge(transaction, &learning, (LearningStatus::Promoted, None), now)?;
                existing(transaction, &learning.id)
            },
        )?;
        let (judged, empty): (Vec<Learning>, Vec<Learning>) = done.judged.into_iter().partition(Learning::has_text);
        done.judged = judged;
        done.empty = empty.into_iter().map(|learning| learning.id).collect();
        Ok(done)
    }

    /// Judges all learnings that match a condition, oldest first.
    pub(super) fn judge_all(
        &mut self,
        condition: &str,
        judge: impl Fn(&Transaction<'_>, Learning) -> Result<Learning, LearningTrouble>,
    ) -> Result<JudgedLearnings, LearningError> {
        self.change_learnings(|transaction| {
            let waiting: Vec<Learning> = transaction
                .prepare_cached(&format!("SELECT * FROM learnings WHERE {condition} ORDER BY seq"))?
                .query_map([], read_learning)?
                .collect::<rusqlite::Result<_>>()?;
            let judged = waiting.into_iter().map(|learning| judge(transaction, learning));
            let judged = judged.collect::<Result<_, _>>()?;
            Ok(JudgedLearnings {
                judged,
                empty: Vec::new(),
            })
        })
    }

    /// Restores pruned learnings, all or none. A merged learning becomes separate again: its texts and counts are
    /// removed from the one that it was merged into. A superseded one stays superseded, and out of prompts until a user
    /// promotes it.
    ///
    /// # Errors
    /// When a learning is missing or not pruned, or the database cannot be written.
    pub fn restore_learnings(&mut self, ids: &[LearningId], now: Timestamp) -> Result<Vec<Learning>, LearningError> {
        self.change_learnings(|transaction| {
            let mut restored = Vec::new();
            for id in ids {
                let learning = existing(transaction, id)?;
                if learning.status != LearningStatus::Pruned {
                    let (id, status) = (learning.id, learning.status);
                    return Err(LearningError::NotPruned { id, status }.into());
                }
                let replaced_by = replaced_by(transaction, &learning)?;
                let merged_into = learning.superseded_by.clone();
                let status = pruned_from(transaction, id)?;
                set_status(transaction, id, (status, None), now)?;
                match replaced_by {
                    Some(other) => mark_superseded(transaction, id, &other, now)?,
                    None => leave_merged(transaction, &learning, merged_into, now)?,
                }
                restored.push(existing(transaction, id)?);
            }
            Ok(restored)
        })
    }

    pub(super) fn change_learnings<T>(
        &mut self,
        work: impl FnOnce(&Transaction<'_>) -> Result<T, LearningTrouble>,
    ) -> Result<T, LearningError> {
        match self.transact(work) {
            Ok(answer) => Ok(answer),
            Err(LearningTrouble::Learning(error)) => Err(error),
            Err(LearningTrouble::Sql(error)) => Ok(self.sql(Err(error))?),
        }
    }
}

/// The learning as it is now.
pub(super) fn fetch(transaction: &Transaction<'_>, id: &LearningId) -> rusqlite::Result<Option<Learning>> {
    transaction
        .prepare_cached("SELECT * FROM learnings WHERE id = ?1")?
        .query_row([id.as_str()], read_learning)
        .optional()
}

/// Resolves a merged learning to the one that it was merged into. Superseding is different: the newer learning has
/// other content.
pub(super) fn resolve_merged(transaction: &Transaction<'_>, mut learning: Learning) -> rusqlite::Result<Learning> {
    for _ in 0..MOST_MERGES {
        let is_merged = learning.status == LearningStatus::Pruned;
        let Some(into) = learning.superseded_by.as_ref().filter(|_| is_merged) else {
            break;
        };
        match fetch(transaction, into)? {
            Some(survivor) if is_part_of(&learning, &survivor) => learning = survivor,
            _ => break,
        }
    }
    Ok(learning)
}

pub(super) fn existing(transaction: &Transaction<'_>, id: &LearningId) -> Result<Learning, LearningTrouble> {
    let unknown = || LearningError::Unknown { text: id.to_string() };
    Ok(fetch(transaction, id)?.ok_or_else(unknown)?)
}

/// Applies a user's decision. A merged learning becomes separate again, and one to promote must have a text, since it
/// will be injected.
pub(super) fn judge(
    transaction: &Transaction<'_>,
    learning: &Learning,
    (status, reason): (LearningStatus, Option<&str>),
    now: Timestamp,
) -> Result<(), LearningTrouble> {
    if status == LearningStatus::Promoted && !learning.has_text() {
        let id = learning.id.clone();
        return Err(LearningError::NoText { id }.into());
    }
    set_status(transaction, &learning.id, (status, reason), now)?;
    if learning.status == LearningStatus::Pruned {
        leave_merged(transaction, learning, learning.superseded_by.clone(), now)?;
    }
    if status == LearningStatus::Promoted {
        reset_failures(transaction, learning, now)?;
    }
    Ok(())
}

/// A learning that was excluded for its failures gets another chance when a user promotes it.
pub(super) fn reset_failures(
    transaction: &Transaction<'_>,
    learning: &Learning,
    now: Timestamp,
) -> rusqlite::Result<()> {
    if learning.is_eligible() {
        return Ok(());
    }
    restart_counts(transaction, &learning.id, learning.kind.first_success_rate(), now)
}

/// Returns the learning that supersedes this one, unless the two were merged.
fn replaced_by(transaction: &Transaction<'_>, learning: &Learning) -> rusqlite::Result<Option<LearningId>> {
    let Some(other) = &learning.superseded_by else {
        return Ok(None);
    };
    let other = fetch(transaction, other)?;
    Ok(other.filter(|other| !is_part_of(learning, other)).map(|other| other.id))
}

/// Marks a learning as superseded by another.
pub(super) fn mark_superseded(
    transaction: &Transaction<'_>,
    old: &LearningId,
    new: &LearningId,
    now: Timestamp,
) -> rusqlite::Result<()> {
    transaction
        .prepare_cached("UPDATE learnings SET superseded_by = ?2, updated_at = ?3 WHERE id = ?1")?
        .execute(params![old.as_str(), new.as_str(), moment(now)])
        .map(drop)
}

/// The status before pruning.
fn pruned_from(transaction: &Transaction<'_>, id: &LearningId) -> rusqlite::Result<LearningStatus> {
    transaction
        .prepare_cached("SELECT coalesce(pruned_from, 'validated') AS status FROM learnings WHERE id = ?1")?
        .query_row([id.as_str()], |row| word_at(row, "status", LearningStatus::parse))
}

/// Sets the status by a user's decision. The learning is no longer superseded, and one that was pruned is not merged
/// automatically any more.
pub(super) fn set_status(
    transaction: &Transaction<'_>,
    id: &LearningId,
    (status, reason): (LearningStatus, Option<&str>),
    now: Timestamp,
) -> rusqlite::Result<()> {
    transaction
        .prepare_cached(
            "UPDATE learnings SET status = ?2, reason = ?3, updated_at = ?4, pruned_from = NULL, superseded_by = NULL,
                 restored_at = iif(status = 'pruned', ?4, restored_at)
             WHERE id = ?1",
        )?
        .execute(params![id.as_str(), status.word(), reason, moment(now)])
        .map(drop)
}

/// Removes the texts and counts of a learning from the one that it was merged into, and from those into which that one
/// was merged later. Texts that another merged learning also has stay.
pub(super) fn leave_merged(
    transaction: &Transaction<'_>,
    leaving: &Learning,
    merged_into: Option<LearningId>,
    now: Timestamp,
) -> rusqlite::Result<()> {
    let mut seen = BTreeSet::new();
    let mut next = merged_into;
    while let Some(id) = next.take().filter(|id| seen.insert(id.clone())) {
        let Some(mut survivor) = fetch(transaction, &id)? else {
            return Ok(());
        };
        if !is_part_of(leaving, &survivor) {
            return Ok(());
        }
        let others = texts_of_members(transaction, &id)?;
        let own: BTreeSet<&String> = std::iter::once(&leaving.content).chain(&leaving.examples).collect();
        survivor
            .examples
            .retain(|example| !own.contains(example) || others.contains(example));
        survivor.use_count = survivor.use_count.saturating_sub(leaving.use_count);
        survivor.first_use_count = survivor.first_use_count.saturating_sub(leaving.first_use_count);
        survivor.successes = survivor.successes.saturating_sub(leaving.successes);
        survivor.updated_at = now;
        save(transaction, &survivor, None)?;
        if survivor.status == LearningStatus::Pruned {
            next = survivor.superseded_by;
        }
    }
    Ok(())
}

/// All texts in a learning that come from learnings merged into it.
fn texts_of_members(transaction: &Transaction<'_>, id: &LearningId) -> rusqlite::Result<BTreeSet<String>> {
    let members: Vec<Learning> = transaction
        .prepare_cached("SELECT * FROM learnings WHERE superseded_by = ?1 AND status = 'pruned'")?
        .query_map([id.as_str()], read_learning)?
        .collect::<rusqlite::Result<_>>()?;
    let texts = members
        .into_iter()
        .flat_map(|member| member.examples.into_iter().chain([member.content]));
    Ok(texts.collect())
}
