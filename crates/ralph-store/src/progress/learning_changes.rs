//! What people do with lessons: they add them, say that one holds or does not, and bring back what was taken out.

use std::collections::BTreeSet;

use jiff::Timestamp;
use ralph_model::{Entropy, Learning, LearningId, LearningKind, LearningSource, LearningStatus, TaskType};
use rusqlite::{OptionalExtension, Transaction, params};

use super::Store;
use super::columns::{moment, to_json, word_at};
use super::learning_damage::{JudgedLearnings, Waiting, refuse_damaged};
use super::learning_error::{LearningError, LearningTrouble};
use super::learning_parts::is_part_of;
use super::learning_reading::read_learning;
use super::learning_seal::STANDING;
use super::learning_strength::{FIRST_CONFIDENCE, strengthened};
use super::learning_update::begin_anew;
use super::same_lesson::{Retold, Saying, is_outdated, keep_words};
use super::{learning_terms, lesson_of, tag_terms};
use crate::StoreError;

/// How often a lesson may have been merged into another that was merged into another.
const MOST_MERGES: usize = 16;
/// The most tags of a lesson. Every telling and every merge may bring some, and one that has them all fits everything.
const MOST_TAGS: usize = 40;

/// How a learning is stored that a person adds, and one that an agent does.
const BY_PERSON: (LearningSource, LearningStatus) = (LearningSource::Human, LearningStatus::Promoted);
const BY_AGENT: (LearningSource, LearningStatus) = (LearningSource::Sigil, LearningStatus::Pending);

/// A lesson that a person hands in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewLearning {
    /// What it is about.
    pub category: String,
    /// What it says.
    pub content: String,
    /// Its tags, in lower case, each once.
    pub tags: Vec<String>,
    /// The kind of work that it is good for; none for every kind.
    pub task_type: Option<TaskType>,
    /// A known lesson that says nearly the same.
    pub retold: Option<Retold>,
}

impl NewLearning {
    /// What kind of lesson it is.
    #[must_use]
    pub fn kind(&self) -> LearningKind {
        LearningKind::of_category(&self.category)
    }

    fn saying(&self) -> Saying<'_> {
        Saying {
            kind: self.kind(),
            task_type: self.task_type,
            content: &self.content,
        }
    }

    /// The same lesson, where it is known.
    fn known(&self, transaction: &Transaction<'_>) -> rusqlite::Result<Option<Learning>> {
        let known = self.saying().unmerged(transaction)?;
        let known = known.filter(|known| !self.narrows(known));
        known.map(|known| standing_for(transaction, known)).transpose()
    }

    /// One that says nearly the same, where it still stands.
    fn known_in_other_words(&self, transaction: &Transaction<'_>) -> rusqlite::Result<Option<Learning>> {
        // It comes in alone.
        let meant = self.retold.as_ref().and_then(|retold| retold.among(|_| None));
        let known = meant.map(|meant| self.saying().retold(transaction, &meant));
        Ok(known.transpose()?.flatten().filter(|known| !self.narrows(known)))
    }

    /// Whether it says of one kind of work what a lesson says of all: a person has a reason for that.
    fn narrows(&self, known: &Learning) -> bool {
        self.task_type.is_some() && known.task_type.is_none()
    }

    /// Whether it says of every kind of work what a lesson says of one.
    fn widens(&self, known: &Learning) -> bool {
        self.task_type.is_none() && known.task_type.is_some()
    }
}

/// What became of a lesson that was handed in.
#[derive(Debug, Clone, PartialEq)]
pub enum AddedLearning {
    /// It is new.
    Stored(Learning),
    /// It was known, is surer now, and holds.
    Known(Learning),
    /// It was known for one kind of work, is surer now, and holds for every kind.
    Widened(Learning),
    /// This one says it in other words, is surer now, and holds.
    Reworded(Learning),
    /// It was known and had been rejected; it holds again.
    HoldsAgain {
        /// The lesson.
        learning: Learning,
        /// Why it had been rejected.
        rejected: String,
    },
}

/// What became of a learning that an agent proposed.
#[derive(Debug, Clone, PartialEq)]
pub enum ProposedLearning {
    /// It is new.
    Stored(Learning),
    /// This one says the same, or nearly.
    Known(Learning),
}

/// What a person says of lessons.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Judgement<'a> {
    /// They hold.
    Promote,
    /// They do not, for this reason.
    Reject(&'a str),
}

impl Store {
    /// Keeps a lesson that a person hands in; it holds at once. One that is known becomes surer, gets the new tags too, and
    /// holds from now on, whatever was thought of it before; also one that says nearly the same, if it still stands.
    ///
    /// # Errors
    /// When the database cannot be written.
    pub fn add_learning(
        &mut self,
        new: &NewLearning,
        entropy: &mut dyn Entropy,
        now: Timestamp,
    ) -> Result<AddedLearning, LearningError> {
        self.change_learnings(|transaction| {
            if is_outdated(transaction, &new.retold)? {
                return Err(LearningError::from(StoreError::LessonsChanged).into());
            }
            if let Some(known) = new.known(transaction)? {
                support(transaction, &known, new, now)?;
                let learning = existing(transaction, &known.id)?;
                return Ok(match known.status {
                    LearningStatus::Rejected => AddedLearning::HoldsAgain {
                        learning,
                        rejected: known.reason.unwrap_or_default(),
                    },
                    _ if new.widens(&known) => AddedLearning::Widened(learning),
                    _ => AddedLearning::Known(learning),
                });
            }
            if let Some(mut known) = new.known_in_other_words(transaction)? {
                keep_words(&mut known, &new.content);
                support(transaction, &known, new, now)?;
                return Ok(AddedLearning::Reworded(existing(transaction, &known.id)?));
            }
            let mut id = LearningId::new(entropy.next_bits());
            while !put(transaction, &id, new, BY_PERSON, now)? {
                id = LearningId::new(entropy.next_bits());
            }
            Ok(AddedLearning::Stored(existing(transaction, &id)?))
        })
    }

    /// Stores a learning that an agent adds with a command: it is proposed until its iteration is settled, see
    /// [`Store::settle`]. One that is known, in these words or in others, stays as it is.
    ///
    /// # Errors
    /// When the database cannot be written.
    pub fn propose_learning(
        &mut self,
        new: &NewLearning,
        entropy: &mut dyn Entropy,
        now: Timestamp,
    ) -> Result<ProposedLearning, LearningError> {
        let run = self.author.run.clone();
        self.change_learnings(|transaction| {
            if is_outdated(transaction, &new.retold)? {
                return Err(LearningError::from(StoreError::LessonsChanged).into());
            }
            let known = match new.known(transaction)? {
                Some(known) => Some(known),
                None => new.known_in_other_words(transaction)?,
            };
            if let Some(known) = known {
                return Ok(ProposedLearning::Known(known));
            }
            let mut id = LearningId::new(entropy.next_bits());
            while !put(transaction, &id, new, BY_AGENT, now)? {
                id = LearningId::new(entropy.next_bits());
            }
            if let Some(run) = &run {
                transaction
                    .prepare_cached("UPDATE learnings SET source_loops = json_array(?2) WHERE id = ?1")?
                    .execute([id.as_str(), run.as_str()])?;
            }
            Ok(ProposedLearning::Stored(existing(transaction, &id)?))
        })
    }

    /// Puts a person's word on lessons, all of them or none. Those that stand so already are left as they are, and not among
    /// the answer, unless it was not ralph that made them stand so.
    ///
    /// # Errors
    /// When there is no such lesson, one of them is damaged in what it says, one that says nothing is to hold, or the database
    /// cannot be written.
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
                let is_in_no_prompt = learning.superseded_by.is_some() || !learning.may_be_shown();
                // Where the disk changed how it stands, the person vouches for it, also if that is what the person says.
                let is_meant = stands_so && !STANDING.is_broken(transaction, id)?;
                if is_meant && !(is_in_no_prompt && status == LearningStatus::Promoted) {
                    continue;
                }
                refuse_damaged(transaction, id, &[STANDING])?;
                judge(transaction, &learning, (status, reason), now)?;
                STANDING.vouch_for(transaction, &learning.id)?;
                changed.push(learning.id);
            }
            Ok(changed)
        })
    }

    /// Promotes every lesson that can be true and waits, by a person's word. Whoever names none has not looked at those that
    /// are damaged or say nothing: these are left as they are.
    ///
    /// # Errors
    /// When the database cannot be written; then none was promoted.
    pub fn promote_validated(&mut self, now: Timestamp) -> Result<JudgedLearnings, LearningError> {
        let mut done = self.judge_waiting(
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

    /// Judges all lessons of which a condition is true. One that is damaged is left as it is, and told; one that cannot be
    /// read is noted.
    pub(super) fn judge_waiting(
        &mut self,
        condition: &str,
        judge: impl Fn(&Transaction<'_>, Learning) -> Result<Learning, LearningTrouble>,
    ) -> Result<JudgedLearnings, LearningError> {
        let (done, unreadable) = self.change_learnings(|transaction| {
            let waiting = Waiting::of(transaction, condition)?;
            let sound = waiting.sound.into_iter();
            let judged = sound
                .map(|learning| judge(transaction, learning))
                .collect::<Result<_, _>>()?;
            let damaged = waiting.damaged;
            let empty = Vec::new();
            Ok((JudgedLearnings { judged, damaged, empty }, waiting.unreadable))
        })?;
        for error in unreadable {
            self.sql(self.passing_over::<()>(Err(error)))?;
        }
        Ok(done)
    }

    /// Brings pruned lessons back to what they were, all of them or none. One that was merged stands on its own again: the
    /// one that it was merged into no longer has it among its examples and its counts. One that another had taken the place of
    /// is that again, and in no prompt until a person promotes it.
    ///
    /// # Errors
    /// When there is no such lesson, one of them is not pruned, or is damaged, or the database cannot be written.
    pub fn restore_learnings(&mut self, ids: &[LearningId], now: Timestamp) -> Result<Vec<Learning>, LearningError> {
        self.change_learnings(|transaction| {
            let mut restored = Vec::new();
            for id in ids {
                let learning = existing(transaction, id)?;
                if learning.status != LearningStatus::Pruned {
                    let (id, status) = (learning.id, learning.status);
                    return Err(LearningError::NotPruned { id, status }.into());
                }
                refuse_damaged(transaction, id, &[])?;
                let replaced_by = replaced_by(transaction, &learning)?;
                let merged_into = learning.superseded_by.clone();
                let status = pruned_from(transaction, id)?;
                set_status(transaction, id, (status, None), now)?;
                match replaced_by {
                    Some(other) => take_place(transaction, id, &other, now)?,
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

/// A lesson as it stands in this moment.
pub(super) fn stands(transaction: &Transaction<'_>, id: &LearningId) -> rusqlite::Result<Option<Learning>> {
    transaction
        .prepare_cached("SELECT * FROM learnings WHERE id = ?1")?
        .query_row([id.as_str()], read_learning)
        .optional()
}

/// The lesson that stands for one: where it was merged into another, that one. What has merely taken its place says something
/// else, and does not stand for it.
pub(super) fn standing_for(transaction: &Transaction<'_>, mut learning: Learning) -> rusqlite::Result<Learning> {
    for _ in 0..MOST_MERGES {
        let is_merged = learning.status == LearningStatus::Pruned;
        let Some(into) = learning.superseded_by.as_ref().filter(|_| is_merged) else {
            break;
        };
        match stands(transaction, into)? {
            Some(survivor) if is_part_of(&learning, &survivor) => learning = survivor,
            _ => break,
        }
    }
    Ok(learning)
}

/// The words that a lesson is found by. What was merged into it is found by its words, too.
pub(super) fn words_of(learning: &Learning, tags: &[String]) -> String {
    let texts = std::iter::once(&learning.content).chain(&learning.examples);
    let texts: Vec<&str> = texts.map(String::as_str).collect();
    learning_terms(&texts.join("\n"), tags)
}

/// Writes what changes in a lesson when others say the same: all but how far it has come.
pub(super) fn write_support(
    transaction: &Transaction<'_>,
    learning: &Learning,
    now: Timestamp,
) -> rusqlite::Result<()> {
    transaction
        .prepare_cached(
            "UPDATE learnings SET tags = ?2, confidence = ?3, use_count = ?4, successes = ?5, source_loops = ?6,
                 examples = ?7, last_used_at = ?8, terms = ?9, tag_terms = ?10, updated_at = ?11, first_use_count = ?12,
                 success_rate = ?13
             WHERE id = ?1",
        )?
        .execute(params![
            learning.id.as_str(),
            to_json(&learning.tags)?,
            learning.confidence,
            learning.use_count,
            learning.successes,
            to_json(&learning.source_loops)?,
            to_json(&learning.examples)?,
            learning.last_used_at.map(moment),
            words_of(learning, &learning.tags),
            to_json(&tag_terms(&learning.tags))?,
            moment(now),
            learning.first_use_count,
            learning.counted_success_rate(),
        ])
        .map(drop)
}

/// Adds what is not there yet, in its order.
pub(super) fn unite<'t>(own: &mut Vec<String>, others: impl IntoIterator<Item = &'t String>) {
    for other in others {
        if !own.contains(other) {
            own.push(other.clone());
        }
    }
}

/// Adds the tags that are not there yet, as far as there is room.
pub(super) fn unite_tags(own: &mut Vec<String>, others: &[String]) {
    let already = own.len();
    unite(own, others);
    own.truncate(MOST_TAGS.max(already));
}

pub(super) fn existing(transaction: &Transaction<'_>, id: &LearningId) -> Result<Learning, LearningTrouble> {
    let unknown = || LearningError::Unknown { text: id.to_string() };
    Ok(stands(transaction, id)?.ok_or_else(unknown)?)
}

/// A person has said what a lesson says.
fn support(transaction: &Transaction<'_>, known: &Learning, new: &NewLearning, now: Timestamp) -> rusqlite::Result<()> {
    let mut stronger = known.clone();
    stronger.confidence = strengthened(known.confidence);
    unite_tags(&mut stronger.tags, &new.tags);
    write_support(transaction, &stronger, now)?;
    if new.widens(known) {
        transaction
            .prepare_cached("UPDATE learnings SET task_type = NULL WHERE id = ?1")?
            .execute([known.id.as_str()])?;
    }
    try_again(transaction, known, now)?;
    if known.status == LearningStatus::Promoted && known.superseded_by.is_none() {
        return Ok(());
    }
    set_status(transaction, &known.id, (LearningStatus::Promoted, None), now)
}

/// Puts a person's word on a lesson: one that was merged stands on its own again, and one that is to hold may stand in prompts,
/// so it has to say something.
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
        try_again(transaction, learning, now)?;
    }
    Ok(())
}

/// A lesson that has left the prompts because it failed too often gets another chance where a person says that it holds.
fn try_again(transaction: &Transaction<'_>, learning: &Learning, now: Timestamp) -> rusqlite::Result<()> {
    if learning.may_be_shown() {
        return Ok(());
    }
    begin_anew(transaction, &learning.id, learning.kind.first_success_rate(), now)
}

/// Keeps a new lesson; says whether its id was free.
fn put(
    transaction: &Transaction<'_>,
    id: &LearningId,
    new: &NewLearning,
    (source, status): (LearningSource, LearningStatus),
    now: Timestamp,
) -> rusqlite::Result<bool> {
    let kind = new.kind();
    let rows = transaction
        .prepare_cached(
            "INSERT INTO learnings (id, kind, category, content, tags, confidence, success_rate, first_success_rate, source,
                                    source_loops, status, created_at, updated_at, task_type, lesson, terms, tag_terms)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?7, ?13, '[]', ?14, ?8, ?8, ?9, ?10, ?11, ?12)
             ON CONFLICT (id) DO NOTHING",
        )?
        .execute(params![
            id.as_str(),
            kind.word(),
            new.category,
            new.content,
            to_json(&new.tags)?,
            FIRST_CONFIDENCE,
            kind.first_success_rate(),
            moment(now),
            new.task_type.map(TaskType::word),
            lesson_of(&new.content),
            learning_terms(&new.content, &new.tags),
            to_json(&tag_terms(&new.tags))?,
            source.word(),
            status.word(),
        ])?;
    Ok(rows == 1)
}

/// What has merely taken the place of a lesson, which it is no part of.
fn replaced_by(transaction: &Transaction<'_>, learning: &Learning) -> rusqlite::Result<Option<LearningId>> {
    let Some(other) = &learning.superseded_by else {
        return Ok(None);
    };
    let other = stands(transaction, other)?;
    Ok(other.filter(|other| !is_part_of(learning, other)).map(|other| other.id))
}

/// Notes that a lesson has taken the place of another.
pub(super) fn take_place(
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

/// What a lesson was before it was pruned.
fn pruned_from(transaction: &Transaction<'_>, id: &LearningId) -> rusqlite::Result<LearningStatus> {
    transaction
        .prepare_cached("SELECT coalesce(pruned_from, 'validated') AS status FROM learnings WHERE id = ?1")?
        .query_row([id.as_str()], |row| word_at(row, "status", LearningStatus::parse))
}

/// Says how far a lesson has come, by a person's word. Nothing stands in its place any more, and if it was pruned, it is not
/// merged by itself from now on.
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

/// Takes what a lesson said and counted out of the one that it was merged into, and of those that this one was merged into
/// later. What another one that is still merged says as well stays.
pub(super) fn leave_merged(
    transaction: &Transaction<'_>,
    leaving: &Learning,
    merged_into: Option<LearningId>,
    now: Timestamp,
) -> rusqlite::Result<()> {
    let mut seen = BTreeSet::new();
    let mut next = merged_into;
    while let Some(id) = next.take().filter(|id| seen.insert(id.clone())) {
        let Some(mut survivor) = stands(transaction, &id)? else {
            return Ok(());
        };
        if !is_part_of(leaving, &survivor) {
            return Ok(());
        }
        let others = said_by_members(transaction, &id)?;
        let own: BTreeSet<&String> = std::iter::once(&leaving.content).chain(&leaving.examples).collect();
        survivor
            .examples
            .retain(|example| !own.contains(example) || others.contains(example));
        survivor.use_count = survivor.use_count.saturating_sub(leaving.use_count);
        survivor.first_use_count = survivor.first_use_count.saturating_sub(leaving.first_use_count);
        survivor.successes = survivor.successes.saturating_sub(leaving.successes);
        write_support(transaction, &survivor, now)?;
        if survivor.status == LearningStatus::Pruned {
            next = survivor.superseded_by;
        }
    }
    Ok(())
}

/// All that stands in a lesson by those that are merged into it.
fn said_by_members(transaction: &Transaction<'_>, id: &LearningId) -> rusqlite::Result<BTreeSet<String>> {
    let members: Vec<Learning> = transaction
        .prepare_cached("SELECT * FROM learnings WHERE superseded_by = ?1 AND status = 'pruned'")?
        .query_map([id.as_str()], read_learning)?
        .collect::<rusqlite::Result<_>>()?;
    let texts = members
        .into_iter()
        .flat_map(|member| member.examples.into_iter().chain([member.content]));
    Ok(texts.collect())
}
