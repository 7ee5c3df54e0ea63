//! What ranking asks of lessons: which have a tag, which wait at a task, and what is weighed of each.

use ralph_model::{Learning, LearningId, LearningStatus, TaskId};
use rusqlite::{Row, params};

use super::Store;
use super::columns::{time_at, word_at};
use super::learning_reading::{named, read_learning, read_text};
use super::learning_terms::text_and_tags;
use crate::StoreError;

/// How many attempts at a task are asked for what they told. One assignment may be worked on for ever.
const LAST_TELLERS: u32 = 200;

/// A lesson without what it says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LearningOutline {
    /// Its number; later ones have higher numbers.
    pub number: i64,
    /// Its id.
    pub id: LearningId,
    /// How far it has come.
    pub status: LearningStatus,
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
    /// The tags that a word may stand for, each with the number of a lesson that has it and may stand in every prompt: the
    /// newest lessons first, so many at most. How many there were is the answer.
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
            .prepare_cached(
                "SELECT tag, learning FROM learning_tags WHERE word = ?1 AND holds = 1 ORDER BY learning DESC LIMIT ?2",
            )
            .and_then(|mut statement| {
                let mut rows = statement.query(params![word, i64::try_from(most).unwrap_or(i64::MAX)])?;
                let mut met = 0;
                while let Some(row) = rows.next()? {
                    visit(row.get_ref(0)?.as_str()?, row.get(1)?);
                    met += 1;
                }
                Ok(met)
            });
        self.sql(walked)
    }

    /// The tags of a lesson that a text may hold.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn tags_of_learning(&self, number: i64) -> Result<Vec<String>, StoreError> {
        let tags = self
            .connection
            .prepare_cached("SELECT DISTINCT tag FROM learning_tags WHERE learning = ?1")
            .and_then(|mut statement| statement.query_map([number], |row| row.get(0))?.collect());
        self.sql(tags)
    }

    /// The numbers of the lessons that wait for evidence and were told at a task, also if another one told them first: the
    /// newest first, so many at most. Of the attempts at the task the last `LAST_TELLERS` are asked.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn learnings_waiting_at(&self, task: &TaskId, most: usize) -> Result<Vec<i64>, StoreError> {
        let found = self
            .connection
            .prepare_cached(
                "WITH tellers AS (SELECT id FROM journal WHERE task_id = ?1 ORDER BY id DESC LIMIT ?3),
                      waiting AS (
                          SELECT learning AS seq FROM tellers CROSS JOIN learning_sources ON journal = tellers.id
                          UNION
                          SELECT * FROM (SELECT seq FROM learnings WHERE task = ?1 AND status = 'validated'
                                         ORDER BY seq DESC LIMIT ?2)
                      )
                 SELECT seq FROM waiting CROSS JOIN learnings USING (seq)
                 WHERE status = 'validated' AND superseded_by IS NULL AND source IN ('sigil', 'human')
                 ORDER BY seq DESC LIMIT ?2",
            )
            .and_then(|mut statement| {
                let most = i64::try_from(most).unwrap_or(i64::MAX);
                statement
                    .query_map(params![task.as_str(), most, LAST_TELLERS], |row| row.get(0))?
                    .collect()
            });
        self.sql(found)
    }

    /// The words of the texts of those of these lessons that may stand in every prompt, and of those that wait where they
    /// may stand, too: a space between each two.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn standing_texts(&self, numbers: &[i64], waiting: &[i64]) -> Result<Vec<(i64, String)>, StoreError> {
        // Hundreds are asked for, and each by itself would take and leave the lock of the database.
        let moment = self.sql(self.look())?;
        let texts = moment
            .prepare_cached(
                "SELECT terms, id FROM learnings WHERE seq = ?1 AND superseded_by IS NULL
                     AND (status = 'promoted' AND source IN ('sigil', 'human') OR ?2)",
            )
            .and_then(|mut statement| {
                let mut texts = Vec::new();
                for number in numbers {
                    let found = statement.query_row(params![number, waiting.contains(number)], read_text);
                    texts.extend(self.passing_over(found)?.map(|text| (*number, text)));
                }
                Ok(texts)
            });
        self.sql(texts)
    }

    /// The outlines of lessons, in the order of their numbers here. A number that none has is passed over, and so is a lesson
    /// that cannot be read.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn learning_outlines(&self, numbers: &[i64]) -> Result<Vec<LearningOutline>, StoreError> {
        let moment = self.sql(self.look())?;
        let outlines = moment
            .prepare_cached("SELECT seq, id, status, superseded_by, created_at, terms FROM learnings WHERE seq = ?1")
            .and_then(|mut statement| {
                let found = numbers
                    .iter()
                    .map(|number| self.passing_over(statement.query_row([number], read_outline)));
                found.collect::<rusqlite::Result<Vec<Option<LearningOutline>>>>()
            });
        Ok(self.sql(outlines)?.into_iter().flatten().collect())
    }

    /// Lessons, in the order of their numbers here. A number that none has is passed over, and so is a lesson
    /// that cannot be read.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn learnings_numbered(&self, numbers: &[i64]) -> Result<Vec<Learning>, StoreError> {
        let moment = self.sql(self.look())?;
        let learnings = moment
            .prepare_cached("SELECT * FROM learnings WHERE seq = ?1")
            .and_then(|mut statement| {
                let found = numbers
                    .iter()
                    .map(|number| self.passing_over(statement.query_row([number], read_learning)));
                found.collect::<rusqlite::Result<Vec<Option<Learning>>>>()
            });
        Ok(self.sql(learnings)?.into_iter().flatten().collect())
    }
}

pub(super) fn read_outline(row: &Row<'_>) -> rusqlite::Result<LearningOutline> {
    named(row, outline(row))
}

fn outline(row: &Row<'_>) -> rusqlite::Result<LearningOutline> {
    let (terms, tag_terms) = text_and_tags(row.get_ref("terms")?.as_str()?);
    Ok(LearningOutline {
        number: row.get("seq")?,
        id: word_at(row, "id", LearningId::parse)?,
        status: word_at(row, "status", LearningStatus::parse)?,
        is_superseded: row.get::<_, Option<String>>("superseded_by")?.is_some(),
        created_at: time_at(row, "created_at")?,
        terms: terms.to_owned(),
        tag_terms: tag_terms.to_owned(),
    })
}
