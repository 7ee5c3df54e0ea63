//! A person changes a lesson. What it said before is kept beside it.

use jiff::Timestamp;
use ralph_model::{
    EstimateFigures, Facts, Learning, LearningId, LearningKind, TaskType, read_estimate, serialize_moment, with_figures,
};
use rusqlite::{Row, Transaction, params};
use serde::Serialize;

use super::Store;
use super::columns::{from_json, moment, time_at, to_json, word_at, word_in};
use super::learning_changes::{existing, words_of};
use super::learning_damage::refuse_damaged;
use super::learning_error::{LearningError, LearningTrouble};
use super::learning_parts::IS_PART;
use super::learning_seal::{STANDING, Seal, WORDS};
use super::same_lesson::another_saying;
use super::{lesson_of, tag_terms};
use crate::StoreError;

/// Since when uses count where a person began anew before anything happened: not 0, which says that nobody did.
const BEFORE_ALL: i64 = -1;

/// What changes in a lesson; what is none stays.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LearningUpdate {
    /// What it says; of an estimate also with its figures, which are read from it.
    pub content: Option<String>,
    /// The figures of an estimate.
    pub figures: EstimateFigures,
    /// What it is about. The kind goes with it where it came from it.
    pub category: Option<String>,
    /// What kind of lesson it is.
    pub kind: Option<LearningKind>,
    /// Its tags, in lower case, each once; they take the place of those that it has.
    pub tags: Option<Vec<String>>,
    /// The kind of work that it is good for.
    pub task_type: Option<TaskType>,
    /// How sure it is.
    pub confidence: Option<f64>,
    /// How often it succeeds; what is counted begins anew.
    pub success_rate: Option<f64>,
}

/// What a lesson said before a person changed it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LearningVersion {
    /// What kind of lesson it was.
    pub kind: LearningKind,
    /// What it was about.
    pub category: String,
    /// The kind of work that it was for.
    pub task_type: Option<TaskType>,
    /// What it said.
    pub content: String,
    /// Its tags.
    pub tags: Vec<String>,
    /// Until when.
    #[serde(serialize_with = "serialize_moment")]
    pub until: Timestamp,
}

impl LearningUpdate {
    /// The lesson as it is to be.
    fn of(&self, old: &Learning) -> Result<Learning, LearningError> {
        let mut new = match &self.content {
            Some(words) => reworded(old, words)?,
            None => old.clone(),
        };
        if self.figures != EstimateFigures::default() {
            let no_figures = || LearningError::NoFigures {
                id: old.id.clone(),
                kind: old.kind,
            };
            let changed = new.facts.as_ref().and_then(|facts| self.figures.put_in(facts));
            new.facts = Some(changed.ok_or_else(no_figures)?);
        }
        if let Some(category) = &self.category {
            if LearningKind::of_category(&old.category) == old.kind {
                new.kind = LearningKind::of_category(category);
            }
            new.category.clone_from(category);
        }
        new.kind = self.kind.unwrap_or(new.kind);
        new.tags = self.tags.clone().unwrap_or(new.tags);
        new.task_type = self.task_type.or(new.task_type);
        new.confidence = self.confidence.unwrap_or(new.confidence);
        Ok(new)
    }

    /// What it says anew of a lesson that is damaged: whoever says what it says vouches for its words, and whoever says how
    /// sure it is has begun to say how it stands.
    fn said_anew(&self) -> Vec<Seal> {
        let words = self.content.is_some().then_some(WORDS);
        let standing = (self.confidence.is_some() || self.success_rate.is_some()).then_some(STANDING);
        words.into_iter().chain(standing).collect()
    }

    /// How often it succeeds from now on, if that is to change. What was counted for a way that works says nothing of one
    /// that does not.
    fn rate(&self, old: &Learning, new: &Learning) -> Option<f64> {
        let is_warning = |learning: &Learning| learning.kind == LearningKind::Antipattern;
        let turns = is_warning(old) != is_warning(new);
        self.success_rate
            .or_else(|| turns.then(|| new.kind.first_success_rate()))
    }
}

impl Store {
    /// Changes a lesson. Its id, when it was learned and by which runs stay.
    ///
    /// # Errors
    /// When there is no such lesson, it would say what another one says, it has the numbers of another kind of lesson, the
    /// figures of an estimate cannot be read, it is damaged where the change says nothing anew, or the database cannot be
    /// written.
    pub fn update_learning(
        &mut self,
        id: &LearningId,
        update: &LearningUpdate,
        now: Timestamp,
    ) -> Result<Learning, LearningError> {
        self.change_learnings(|transaction| {
            let old = existing(transaction, id)?;
            refuse_damaged(transaction, id, &update.said_anew())?;
            let new = update.of(&old)?;
            if new.kind != old.kind && old.facts.is_some() {
                let (id, is, wanted) = (old.id, old.kind, new.kind);
                return Err(LearningError::OtherNumbers { id, is, wanted }.into());
            }
            change_words(transaction, &old, &new, now)?;
            if let Some(rate) = update.rate(&old, &new) {
                begin_anew(transaction, id, rate, now)?;
            }
            if update.content.is_some() {
                WORDS.vouch_for(transaction, id)?;
            }
            existing(transaction, id)
        })
    }

    /// What a lesson said before people changed it, the oldest first.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn learning_versions(&self, id: &LearningId) -> Result<Vec<LearningVersion>, StoreError> {
        let found = self
            .connection
            .prepare_cached(
                "SELECT * FROM learning_versions WHERE learning = (SELECT seq FROM learnings WHERE id = ?1) ORDER BY seq",
            )
            .and_then(|mut statement| statement.query_map([id.as_str()], read_version)?.collect());
        self.sql(found)
    }
}

/// A lesson in other words. Those of an estimate have its figures in them, or none.
pub(super) fn reworded(old: &Learning, words: &str) -> Result<Learning, LearningError> {
    let mut new = old.clone();
    match old.facts.as_ref().and_then(|facts| Some((facts, facts.figures()?))) {
        Some((facts, figures)) => {
            let id = old.id.clone();
            let read = read_estimate(words, (&old.content, facts));
            let (content, facts) = read.ok_or(LearningError::UnreadFigures { id, figures })?;
            (new.content, new.facts) = (content, Some(facts));
        }
        None => words.clone_into(&mut new.content),
    }
    Ok(new)
}

/// Puts a lesson in the place of what it was, which is kept beside it. None may say what another one says.
pub(super) fn change_words(
    transaction: &Transaction<'_>,
    old: &Learning,
    new: &Learning,
    now: Timestamp,
) -> Result<(), LearningTrouble> {
    if Said::of(new) != Said::of(old) {
        refuse_same(transaction, new)?;
        keep_version(transaction, old, now)?;
    }
    Ok(write(transaction, new, now)?)
}

/// What is kept of a lesson when it changes.
#[derive(PartialEq)]
struct Said<'l> {
    kind: LearningKind,
    category: &'l str,
    task_type: Option<TaskType>,
    content: &'l str,
    facts: Option<&'l Facts>,
    tags: &'l [String],
}

impl<'l> Said<'l> {
    fn of(learning: &'l Learning) -> Self {
        Self {
            kind: learning.kind,
            category: &learning.category,
            task_type: learning.task_type,
            content: &learning.content,
            facts: learning.facts.as_ref(),
            tags: &learning.tags,
        }
    }
}

/// Refuses a lesson that another one is already.
fn refuse_same(transaction: &Transaction<'_>, new: &Learning) -> Result<(), LearningTrouble> {
    match another_saying(transaction, new)? {
        Some(other) => Err(LearningError::SaysTheSame {
            id: new.id.clone(),
            other: other.id,
            status: other.status,
        }
        .into()),
        None => Ok(()),
    }
}

fn keep_version(transaction: &Transaction<'_>, old: &Learning, now: Timestamp) -> rusqlite::Result<()> {
    transaction
        .prepare_cached(
            "INSERT INTO learning_versions (learning, kind, category, task_type, content, tags, until)
             SELECT seq, kind, category, task_type, ?3, tags, ?2 FROM learnings WHERE id = ?1",
        )?
        .execute(params![
            old.id.as_str(),
            moment(now),
            with_figures(&old.content, old.facts.as_ref())
        ])
        .map(drop)
}

fn write(transaction: &Transaction<'_>, new: &Learning, now: Timestamp) -> rusqlite::Result<()> {
    transaction
        .prepare_cached(
            "UPDATE learnings SET kind = ?2, category = ?3, task_type = ?4, content = ?5, tags = ?6, confidence = ?7,
                 lesson = ?8, terms = ?9, tag_terms = ?10, updated_at = ?11, facts = ?12
             WHERE id = ?1",
        )?
        .execute(params![
            new.id.as_str(),
            new.kind.word(),
            new.category,
            new.task_type.map(TaskType::word),
            new.content,
            to_json(&new.tags)?,
            new.confidence,
            lesson_of(&new.content),
            words_of(new, &new.tags),
            to_json(&tag_terms(&new.tags))?,
            moment(now),
            new.facts.as_ref().map(to_json).transpose()?,
        ])
        .map(drop)
}

/// Begins to count anew, from a rate that a person has named. What was counted of those that were merged into it goes with
/// what was counted of itself.
pub(super) fn begin_anew(
    transaction: &Transaction<'_>,
    id: &LearningId,
    rate: f64,
    now: Timestamp,
) -> rusqlite::Result<()> {
    transaction
        .prepare_cached(&format!(
            "WITH RECURSIVE merged(id) AS (
                 SELECT ?1
                 UNION SELECT member.id FROM merged CROSS JOIN learnings AS member ON member.superseded_by = merged.id
                 CROSS JOIN learnings AS survivor ON survivor.id = merged.id
                 WHERE {IS_PART})
             UPDATE learnings SET first_success_rate = success_rate, first_use_count = use_count, successes = 0,
                 counted_since = (SELECT coalesce(max(id), {BEFORE_ALL}) FROM journal)
             WHERE id IN (SELECT id FROM merged)",
        ))?
        .execute([id.as_str()])?;
    transaction
        .prepare_cached(
            "UPDATE learnings SET first_success_rate = ?2, success_rate = ?2, updated_at = ?3 WHERE id = ?1",
        )?
        .execute(params![id.as_str(), rate, moment(now)])
        .map(drop)
}

/// Whether a person has said how often a lesson succeeds. What is drawn from runs is no better word than that.
pub(super) fn is_rated_by_person(transaction: &Transaction<'_>, id: &LearningId) -> rusqlite::Result<bool> {
    transaction
        .prepare_cached("SELECT counted_since <> 0 FROM learnings WHERE id = ?1")?
        .query_row([id.as_str()], |row| row.get(0))
}

fn read_version(row: &Row<'_>) -> rusqlite::Result<LearningVersion> {
    Ok(LearningVersion {
        kind: word_at(row, "kind", LearningKind::parse)?,
        category: row.get("category")?,
        task_type: word_in(row, "task_type", TaskType::parse)?,
        content: row.get("content")?,
        tags: from_json(&row.get::<_, String>("tags")?, "tags")?,
        until: time_at(row, "until")?,
    })
}
