//! Queries that retrieve learnings: by tag, by task, and with the features for ranking.

use ralph_model::{Learning, LearningId, LearningStatus, TaskId};
use rusqlite::{OptionalExtension, Row, params};

use super::Store;
use super::columns::{time_at, word_at};
use super::learning_reading::{read_learning, read_text};
use super::learning_terms::text_and_tags;
use crate::StoreError;

/// Maximum number of attempts to search for reported learnings; a task may have any number of them.
const MAX_ATTEMPTS: u32 = 200;

/// A learning without its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LearningDoc {
    /// Row number; later learnings have higher ones.
    pub number: i64,
    pub id: LearningId,
    pub status: LearningStatus,
    /// Whether it is superseded.
    pub is_superseded: bool,
    pub created_at: jiff::Timestamp,
    /// Terms of its text, separated by spaces.
    pub terms: String,
    /// Terms of its tags, separated by spaces.
    pub tag_terms: String,
}

impl Store {
    /// Visits the tags that a word may match, each with the number of an eligible learning that has it, newest first,
    /// up to a limit. Returns how many there were.
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

    /// Returns the tags of a learning that a text may contain.
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

    /// Returns the numbers of proposed learnings that were reported for a task, also if another task reported them
    /// first; newest first, up to a limit. Only the last `MAX_ATTEMPTS` attempts are searched.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn proposed_learnings_at(&self, task: &TaskId, most: usize) -> Result<Vec<i64>, StoreError> {
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
                    .query_map(params![task.as_str(), most, MAX_ATTEMPTS], |row| row.get(0))?
                    .collect()
            });
        self.sql(found)
    }

    /// Returns the terms of those of the given learnings that are active, or that are proposed and listed in `waiting`;
    /// separated by spaces.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn eligible_texts(&self, numbers: &[i64], waiting: &[i64]) -> Result<Vec<(i64, String)>, StoreError> {
        // One transaction for hundreds of queries, since each would take the database lock separately.
        let moment = self.sql(self.begin_read())?;
        let texts = moment
            .prepare_cached(
                "SELECT terms, id FROM learnings WHERE seq = ?1 AND superseded_by IS NULL
                     AND (status = 'promoted' AND source IN ('sigil', 'human') OR ?2)",
            )
            .and_then(|mut statement| {
                let mut texts = Vec::new();
                for number in numbers {
                    let found = statement.query_row(params![number, waiting.contains(number)], read_text);
                    texts.extend(found.optional()?.map(|text| (*number, text)));
                }
                Ok(texts)
            });
        self.sql(texts)
    }

    /// Returns the features of learnings, in the order of `numbers`. Missing ones are skipped.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn learning_docs(&self, numbers: &[i64]) -> Result<Vec<LearningDoc>, StoreError> {
        let moment = self.sql(self.begin_read())?;
        let docs = moment
            .prepare_cached("SELECT seq, id, status, superseded_by, created_at, terms FROM learnings WHERE seq = ?1")
            .and_then(|mut statement| {
                let found = numbers
                    .iter()
                    .map(|number| statement.query_row([number], read_doc).optional());
                found.collect::<rusqlite::Result<Vec<Option<LearningDoc>>>>()
            });
        Ok(self.sql(docs)?.into_iter().flatten().collect())
    }

    /// Returns learnings in the order of `numbers`. Missing ones are skipped.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn learnings_numbered(&self, numbers: &[i64]) -> Result<Vec<Learning>, StoreError> {
        let moment = self.sql(self.begin_read())?;
        let learnings = moment
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

pub(super) fn read_doc(row: &Row<'_>) -> rusqlite::Result<LearningDoc> {
    let (terms, tag_terms) = text_and_tags(row.get_ref("terms")?.as_str()?);
    Ok(LearningDoc {
        number: row.get("seq")?,
        id: word_at(row, "id", LearningId::parse)?,
        status: word_at(row, "status", LearningStatus::parse)?,
        is_superseded: row.get::<_, Option<String>>("superseded_by")?.is_some(),
        created_at: time_at(row, "created_at")?,
        terms: terms.to_owned(),
        tag_terms: tag_terms.to_owned(),
    })
}
