//! How things go: figures drawn from the journal, never written down.

use ralph_model::{Course, Difficulty, HardFailure, Rate, TaskId, TaskType};
use rusqlite::{Connection, Row, named_params, params};

use super::Store;
use super::columns::{count_at, from_json, to_json, word_at};
use crate::StoreError;

impl Store {
    /// How it goes with a task, and with everything lately.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn course(&self, task: &TaskId) -> Result<Course, StoreError> {
        self.sql(course(&self.connection, task))
    }

    /// The last attempts at other tasks of this kind that failed with this model and that their agents found hard, the newest
    /// first.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn hard_failures(&self, like: &HardLike<'_>) -> Result<Vec<HardFailure>, StoreError> {
        let found = self.connection.prepare_cached(HARD_FAILURES).and_then(|mut statement| {
            let wanted = named_params! {
                ":type": like.task_type.word(),
                ":model": like.model,
                ":task": like.other_than.as_str(),
                ":most": like.most,
            };
            statement.query_map(wanted, read_hard_failure)?.collect()
        });
        self.sql(found)
    }

    /// Whether a task was done after a row of the journal, with one of these models.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn was_done_since(&self, task: &TaskId, journal: i64, models: &[String]) -> Result<bool, StoreError> {
        let found = to_json(models).and_then(|models| {
            self.connection
                .prepare_cached(DONE_SINCE)?
                .exists(params![task.as_str(), journal, models])
        });
        self.sql(found)
    }
}

/// Which attempts that failed are looked for.
#[derive(Debug, Clone, Copy)]
pub struct HardLike<'a> {
    /// At tasks of this kind.
    pub task_type: TaskType,
    /// With this model.
    pub model: &'a str,
    /// At any task but this.
    pub other_than: &'a TaskId,
    /// At most so many.
    pub most: u32,
}

const RECENT: &str = "
    SELECT count(*) FILTER (WHERE NOT failed) AS done, count(*) AS counted
    FROM (SELECT failed FROM strategy_metrics WHERE ours = 1 ORDER BY id DESC LIMIT ?1)";

const OF_TASK: &str = "
    SELECT count(*) AS attempts,
           count(*) FILTER (WHERE id > coalesce(
               (SELECT max(id) FROM strategy_metrics WHERE task_id = ?1 AND NOT failed), 0)) AS failures
    FROM strategy_metrics WHERE task_id = ?1";

const DONE_SINCE: &str = "
    SELECT 1 FROM strategy_metrics
    WHERE task_id = ?1 AND id > ?2 AND NOT failed AND model IN (SELECT value FROM json_each(?3))";

const HARD_FAILURES: &str = "
    SELECT hard.id, hard.task_id, hard.difficulty, journal.tags, journal.files_modified,
           (SELECT relevant_files FROM failure_reports WHERE failure_reports.journal = hard.id) AS relevant_files
    FROM strategy_metrics hard CROSS JOIN journal ON journal.id = hard.id
    WHERE hard.difficulty IN ('hard', 'blocked') AND hard.task_type = :type AND hard.model = :model
      AND hard.failed AND hard.task_id <> :task
    ORDER BY hard.id DESC LIMIT :most";

fn read_hard_failure(row: &Row<'_>) -> rusqlite::Result<HardFailure> {
    let list = |column: &str| -> rusqlite::Result<Vec<String>> {
        let text: Option<String> = row.get(column)?;
        text.map_or_else(|| Ok(Vec::new()), |text| from_json(&text, column))
    };
    let mut files = list("files_modified")?;
    files.extend(list("relevant_files")?);
    Ok(HardFailure {
        journal: row.get("id")?,
        task: word_at(row, "task_id", TaskId::parse)?,
        difficulty: word_at(row, "difficulty", Difficulty::parse)?,
        tags: list("tags")?,
        files,
    })
}

fn course(connection: &Connection, task: &TaskId) -> rusqlite::Result<Course> {
    let recent = connection.prepare_cached(RECENT)?.query_row([Course::RECENT], |row| {
        Ok(Rate {
            done: count_at(row, "done")?,
            of: count_at(row, "counted")?,
        })
    })?;
    let (attempts, consecutive_failures) = connection.prepare_cached(OF_TASK)?.query_row([task.as_str()], |row| {
        Ok((count_at(row, "attempts")?, count_at(row, "failures")?))
    })?;
    Ok(Course {
        attempts,
        consecutive_failures,
        recent,
    })
}

#[cfg(test)]
#[path = "metrics_tests.rs"]
mod tests;
