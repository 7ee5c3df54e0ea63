//! Updates a learning on behalf of a user. The previous version is stored.

use jiff::Timestamp;
use ralph_model::{
    EstimateFigures, Facts, Learning, LearningId, LearningKind, TaskType, TextFeatures, serialize_timestamp,
    with_figures,
};
use rusqlite::{Row, Transaction, params};
use serde::Serialize;

use super::Store;
use super::columns::{from_json, moment, time_at, word_at, word_in};
use super::learning_changes::existing;
use super::learning_error::{LearningError, LearningTrouble};
use super::learning_parts::IS_PART;
use super::learning_writer::save;
use super::same_learning::other_duplicate;
use crate::StoreError;

/// `counted_since` for a reset before anything happened. It is not 0, which means that there was no reset.
const BEFORE_EVERYTHING: i64 = -1;

/// Changes of a learning; unset fields stay.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LearningUpdate {
    /// The text; that of an estimate is without its figures.
    pub content: Option<String>,
    /// Those of the new content.
    pub features: TextFeatures,
    pub figures: EstimateFigures,
    /// The category. A kind that was derived from it changes with it.
    pub category: Option<String>,
    pub kind: Option<LearningKind>,
    /// In lower case, each once; they replace the old tags.
    pub tags: Option<Vec<String>>,
    pub task_type: Option<TaskType>,
    pub confidence: Option<f64>,
    /// Success rate; counting starts again.
    pub success_rate: Option<f64>,
}

/// A learning before a user changed it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LearningVersion {
    pub kind: LearningKind,
    pub category: String,
    pub task_type: Option<TaskType>,
    pub content: String,
    pub tags: Vec<String>,
    #[serde(serialize_with = "serialize_timestamp")]
    pub until: Timestamp,
}

impl LearningUpdate {
    fn of(&self, old: &Learning) -> Result<Learning, LearningError> {
        let mut new = match &self.content {
            Some(words) => reworded(old, words),
            None => old.clone(),
        };
        if self.figures != EstimateFigures::default() {
            let no_figures = || LearningError::NoFigures {
                id: old.id.clone(),
                kind: old.kind,
            };
            let changed = new.facts.as_ref().and_then(|facts| self.figures.apply_to(facts));
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

    /// The new success rate, if it changes. Counts of a strategy say nothing about a warning.
    fn rate(&self, old: &Learning, new: &Learning) -> Option<f64> {
        let is_warning = |learning: &Learning| learning.kind == LearningKind::Antipattern;
        let turns = is_warning(old) != is_warning(new);
        self.success_rate
            .or_else(|| turns.then(|| new.kind.first_success_rate()))
    }
}

impl Store {
    /// Updates a learning. Its id, creation time and runs stay.
    ///
    /// # Errors
    /// When the learning is missing, another learning has the new words, its facts belong to another kind,
    /// or the database cannot be written.
    pub fn update_learning(
        &mut self,
        id: &LearningId,
        update: &LearningUpdate,
        now: Timestamp,
    ) -> Result<Learning, LearningError> {
        self.change_learnings(|transaction| {
            let old = existing(transaction, id)?;
            let new = update.of(&old)?;
            if new.kind != old.kind && old.facts.is_some() {
                let (id, is, wanted) = (old.id, old.kind, new.kind);
                return Err(LearningError::OtherNumbers { id, is, wanted }.into());
            }
            change_words(transaction, &old, &new, &update.features, now)?;
            if let Some(rate) = update.rate(&old, &new) {
                restart_counts(transaction, id, rate, now)?;
            }
            existing(transaction, id)
        })
    }

    /// Returns earlier versions of a learning, oldest first.
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

/// Replaces the text.
pub(super) fn reworded(old: &Learning, words: &str) -> Learning {
    Learning {
        content: words.to_owned(),
        ..old.clone()
    }
}

/// Stores the new version, with the features of its text if that is new, and keeps the old one. No other learning may
/// have the same words.
pub(super) fn change_words(
    transaction: &Transaction<'_>,
    old: &Learning,
    new: &Learning,
    features: &TextFeatures,
    now: Timestamp,
) -> Result<(), LearningTrouble> {
    if VersionFields::of(new) != VersionFields::of(old) {
        refuse_duplicate(transaction, new)?;
        keep_version(transaction, old, now)?;
    }
    let features = (new.content != old.content).then_some(features);
    let new = Learning {
        updated_at: now,
        ..new.clone()
    };
    Ok(save(transaction, &new, features)?)
}

/// The fields that a version stores.
#[derive(PartialEq)]
struct VersionFields<'l> {
    kind: LearningKind,
    category: &'l str,
    task_type: Option<TaskType>,
    content: &'l str,
    facts: Option<&'l Facts>,
    tags: &'l [String],
}

impl<'l> VersionFields<'l> {
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

/// Refuses a duplicate of another learning.
fn refuse_duplicate(transaction: &Transaction<'_>, new: &Learning) -> Result<(), LearningTrouble> {
    match other_duplicate(transaction, new)? {
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

/// Restarts the counts with a rate that a user has set, also those of learnings that were merged into it.
pub(super) fn restart_counts(
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
                 counted_since = (SELECT coalesce(max(id), {BEFORE_EVERYTHING}) FROM journal)
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

/// Whether a user has set the success rate. It takes precedence over rates from runs.
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
