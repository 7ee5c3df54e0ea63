//! Metrics computed from the journal and never stored.

use ralph_model::{Difficulty, HardFailure, Rate, Subject, TaskId, TaskType, TrackRecord};
use rusqlite::{Connection, OptionalExtension, Row, named_params, params};

use super::Store;
use super::attempts::failures_in_a_row;
use super::columns::{count_at, from_json, to_json, word_at};
use crate::StoreError;

impl Store {
    /// The consecutive failures of a task and the recent success rate of all tasks.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn track_record(&self, task: &TaskId) -> Result<TrackRecord, StoreError> {
        let snapshot = self.begin_read();
        self.sql(snapshot.and_then(|snapshot| track_record(&snapshot, task)))
    }

    /// The model of the last counted attempt at a task; none if there is none or the agent chose.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn last_model(&self, task: &TaskId) -> Result<Option<String>, StoreError> {
        let found = self.connection.prepare_cached(LAST_MODEL).and_then(|mut statement| {
            let model = statement.query_row([task.as_str()], |row| row.get(0));
            Ok(model.optional()?.flatten())
        });
        self.sql(found)
    }

    /// Recent failed attempts at other tasks of this type, with this model, that the agents found hard; newest first.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn hard_failures(&self, like: &HardFailureQuery<'_>) -> Result<Vec<HardFailure>, StoreError> {
        let found = self.connection.prepare_cached(HARD_FAILURES).and_then(|mut statement| {
            let wanted = named_params! {
                ":type": like.task_type.word(),
                ":model": like.model,
                ":task": like.other_than.as_str(),
                ":within": like.within,
            };
            statement.query_map(wanted, read_hard_failure)?.collect()
        });
        self.sql(found)
    }

    /// Tasks of this type done with one of these models after a journal entry, newest first.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn done_since(
        &self,
        journal: i64,
        task_type: TaskType,
        models: &[String],
    ) -> Result<Vec<(i64, Subject)>, StoreError> {
        let found = to_json(models).and_then(|models| {
            let mut statement = self.connection.prepare_cached(DONE_SINCE)?;
            let wanted = params![journal, task_type.word(), models];
            let read = |row: &Row<'_>| Ok((row.get("id")?, read_subject(row)?));
            statement.query_map(wanted, read)?.collect()
        });
        self.sql(found)
    }
}

/// Criteria for [`Store::hard_failures`].
#[derive(Debug, Clone, Copy)]
pub struct HardFailureQuery<'a> {
    pub task_type: TaskType,
    pub model: &'a str,
    /// The task to exclude.
    pub other_than: &'a TaskId,
    /// The number of latest journal entries to search.
    pub within: u32,
}

const RECENT: &str = "
    SELECT count(*) FILTER (WHERE NOT failed) AS done, count(*) AS counted
    FROM (SELECT failed FROM strategy_metrics WHERE ours = 1 ORDER BY id DESC LIMIT ?1)";

const LAST_MODEL: &str = "SELECT model FROM strategy_metrics WHERE task_id = ?1 ORDER BY id DESC LIMIT 1";

const DONE_SINCE: &str = "
    SELECT done.id, done.task_id, journal.tags, journal.files_modified, NULL AS relevant_files
    FROM strategy_metrics done CROSS JOIN journal ON journal.id = done.id
    WHERE done.id > ?1 AND NOT done.failed AND done.task_type = ?2
      AND done.model IN (SELECT value FROM json_each(?3)) AND done.task_id IS NOT NULL
    ORDER BY done.id DESC";

const HARD_FAILURES: &str = "
    SELECT hard.id, hard.task_id, hard.difficulty, journal.tags, journal.files_modified,
           (SELECT relevant_files FROM failure_reports WHERE failure_reports.journal = hard.id) AS relevant_files
    FROM strategy_metrics hard CROSS JOIN journal ON journal.id = hard.id
    WHERE hard.difficulty IN ('hard', 'blocked') AND hard.task_type = :type AND hard.model = :model
      AND hard.failed AND hard.task_id <> :task AND hard.id > (SELECT max(id) FROM journal) - :within
    ORDER BY hard.id DESC";

fn read_hard_failure(row: &Row<'_>) -> rusqlite::Result<HardFailure> {
    Ok(HardFailure {
        journal: row.get("id")?,
        difficulty: word_at(row, "difficulty", Difficulty::parse)?,
        subject: read_subject(row)?,
    })
}

fn read_subject(row: &Row<'_>) -> rusqlite::Result<Subject> {
    let list = |column: &str| -> rusqlite::Result<Vec<String>> {
        let text: Option<String> = row.get(column)?;
        text.map_or_else(|| Ok(Vec::new()), |text| from_json(&text, column))
    };
    let mut files = list("files_modified")?;
    files.extend(list("relevant_files")?);
    Ok(Subject {
        task: word_at(row, "task_id", TaskId::parse)?,
        tags: list("tags")?,
        files,
    })
}

fn track_record(connection: &Connection, task: &TaskId) -> rusqlite::Result<TrackRecord> {
    let recent = connection
        .prepare_cached(RECENT)?
        .query_row([TrackRecord::RECENT], |row| {
            Ok(Rate {
                done: count_at(row, "done")?,
                of: count_at(row, "counted")?,
            })
        })?;
    Ok(TrackRecord {
        consecutive_failures: failures_in_a_row(connection, task)?,
        recent,
    })
}

#[cfg(test)]
#[path = "metrics_tests.rs"]
mod tests;
