//! What ranking asks of lessons: which have a tag, which wait at a task, and what is weighed of each.

use ralph_model::{Learning, LearningId, LearningSource, LearningStatus, TaskId};
use rusqlite::{OptionalExtension, Row, params};

use super::Store;
use super::columns::{from_json, time_at, word_at, word_in};
use super::journal_terms;
use super::learning_reading::read_learning;
use crate::StoreError;

/// A lesson without what it says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LearningOutline {
    /// Its number; later ones have higher numbers.
    pub number: i64,
    /// Its id.
    pub id: LearningId,
    /// How far it has come.
    pub status: LearningStatus,
    /// Where it comes from.
    pub source: LearningSource,
    /// The task that it was first learned at.
    pub task: Option<TaskId>,
    /// Whether another one has taken its place.
    pub is_superseded: bool,
    /// When it was first learned.
    pub created_at: jiff::Timestamp,
    /// The words of its text, a space between each two.
    pub terms: String,
    /// The words of its tags, likewise.
    pub tag_terms: String,
}

impl Store {
    /// The tags that a word may stand for, each with the number of a lesson that has it: the newest lessons first, so many
    /// at most. How many there were is the answer.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn learnings_tagged(
        &self,
        word: &str,
        most: usize,
        visit: &mut dyn FnMut(&str, i64),
    ) -> Result<usize, StoreError> {
        let walked = self
            .connection
            .prepare_cached("SELECT tag, learning FROM learning_tags WHERE word = ?1 ORDER BY learning DESC LIMIT ?2")
            .and_then(|mut statement| {
                let mut rows = statement.query(params![word, i64::try_from(most).unwrap_or(i64::MAX)])?;
                let mut met = 0;
                while let Some(row) = rows.next()? {
                    visit(row.get_ref("tag")?.as_str()?, row.get("learning")?);
                    met += 1;
                }
                Ok(met)
            });
        self.sql(walked)
    }

    /// The numbers of the lessons that were learned at a task and wait for evidence, the newest first, so many at most.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn learnings_waiting_at(&self, task: &TaskId, most: usize) -> Result<Vec<i64>, StoreError> {
        let found = self
            .connection
            .prepare_cached(
                "SELECT seq FROM learnings WHERE task = ?1 AND status = 'validated' ORDER BY seq DESC LIMIT ?2",
            )
            .and_then(|mut statement| {
                let most = i64::try_from(most).unwrap_or(i64::MAX);
                statement
                    .query_map(params![task.as_str(), most], |row| row.get(0))?
                    .collect()
            });
        self.sql(found)
    }

    /// The outlines of lessons, in the order of their numbers here. A number that none has is passed over.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn learning_outlines(&self, numbers: &[i64]) -> Result<Vec<LearningOutline>, StoreError> {
        let outlines = self
            .connection
            .prepare_cached(
                "SELECT seq, id, status, source, task, superseded_by, created_at, terms, tags FROM learnings
                 WHERE seq = ?1",
            )
            .and_then(|mut statement| {
                let found = numbers
                    .iter()
                    .map(|number| statement.query_row([number], read_outline).optional());
                found.collect::<rusqlite::Result<Vec<Option<LearningOutline>>>>()
            });
        Ok(self.sql(outlines)?.into_iter().flatten().collect())
    }

    /// Lessons, in the order of their numbers here. A number that none has is passed over.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn learnings_numbered(&self, numbers: &[i64]) -> Result<Vec<Learning>, StoreError> {
        let learnings = self
            .connection
            .prepare_cached("SELECT * FROM learnings WHERE seq = ?1")
            .and_then(|mut statement| {
                let found = numbers
                    .iter()
                    .map(|number| statement.query_row([number], read_learning).optional());
                found.collect::<rusqlite::Result<Vec<Option<Learning>>>>()
            });
        Ok(self.sql(learnings)?.into_iter().flatten().collect())
    }
}

fn read_outline(row: &Row<'_>) -> rusqlite::Result<LearningOutline> {
    let tags: Vec<String> = from_json(&row.get::<_, String>("tags")?, "tags")?;
    let tag_terms = journal_terms(&tags.join("\n"));
    // A lesson is found by its tags as by its text, so theirs stand behind it; see `learning_terms`.
    let mut terms: String = row.get("terms")?;
    if let Some(of_text) = terms.strip_suffix(&tag_terms) {
        terms.truncate(of_text.trim_end().len());
    }
    Ok(LearningOutline {
        number: row.get("seq")?,
        id: word_at(row, "id", LearningId::parse)?,
        status: word_at(row, "status", LearningStatus::parse)?,
        source: word_at(row, "source", LearningSource::parse)?,
        task: word_in(row, "task", TaskId::parse)?,
        is_superseded: row.get::<_, Option<String>>("superseded_by")?.is_some(),
        created_at: time_at(row, "created_at")?,
        terms,
        tag_terms,
    })
}
