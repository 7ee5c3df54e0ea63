//! Reads learnings from rows.

use ralph_model::{Facts, Learning, LearningId, LearningKind, LearningSource, LearningStatus, TaskId, TaskType};
use rusqlite::{OptionalExtension, Row};

use super::Store;
use super::columns::{count_at, from_json, time_at, time_in, word_at, word_in};
use crate::StoreError;

impl Store {
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn learning(&self, id: &LearningId) -> Result<Option<Learning>, StoreError> {
        let found = self
            .connection
            .prepare_cached("SELECT * FROM learnings WHERE id = ?1")
            .and_then(|mut statement| statement.query_row([id.as_str()], read_learning).optional());
        self.sql(found)
    }

    /// Returns every learning, oldest first.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn learnings(&self) -> Result<Vec<Learning>, StoreError> {
        let found = self
            .connection
            .prepare_cached("SELECT * FROM learnings ORDER BY seq")
            .and_then(|mut statement| statement.query_map([], read_learning)?.collect());
        self.sql(found)
    }
}

/// Unreadable facts become `None`, so that they do not hide the learning.
fn facts(row: &Row<'_>) -> rusqlite::Result<Option<Facts>> {
    let json: Option<String> = row.get("facts")?;
    Ok(json.and_then(|json| serde_json::from_str(&json).ok()))
}

pub(super) fn read_learning(row: &Row<'_>) -> rusqlite::Result<Learning> {
    let list = |column: &str| -> rusqlite::Result<Vec<String>> { from_json(&row.get::<_, String>(column)?, column) };
    Ok(Learning {
        id: word_at(row, "id", LearningId::parse)?,
        kind: word_at(row, "kind", LearningKind::parse)?,
        category: row.get("category")?,
        task_type: word_in(row, "task_type", TaskType::parse)?,
        content: row.get("content")?,
        tags: list("tags")?,
        confidence: row.get("confidence")?,
        success_rate: row.get("success_rate")?,
        first_success_rate: row.get("first_success_rate")?,
        use_count: count_at(row, "use_count")?,
        first_use_count: count_at(row, "first_use_count")?,
        successes: count_at(row, "successes")?,
        source: word_at(row, "source", LearningSource::parse)?,
        source_loops: list("source_loops")?,
        task: word_in(row, "task", TaskId::parse)?,
        journal: row.get("journal")?,
        status: word_at(row, "status", LearningStatus::parse)?,
        reason: row.get("reason")?,
        superseded_by: word_in(row, "superseded_by", LearningId::parse)?,
        examples: list("examples")?,
        facts: facts(row)?,
        foreign_id: row.get("foreign_id")?,
        last_used_at: time_in(row, "last_used_at")?,
        created_at: time_at(row, "created_at")?,
        updated_at: time_at(row, "updated_at")?,
    })
}
