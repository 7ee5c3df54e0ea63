//! How things go: figures drawn from the journal, never written down.

use ralph_model::{Course, Rate, TaskId};
use rusqlite::Connection;

use super::Store;
use super::columns::count_at;
use crate::StoreError;

impl Store {
    /// How it goes with a task, and with everything lately.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn course(&self, task: &TaskId) -> Result<Course, StoreError> {
        self.sql(course(&self.connection, task))
    }
}

fn course(connection: &Connection, task: &TaskId) -> rusqlite::Result<Course> {
    let recent = connection
        .prepare_cached(
            "SELECT count(*) FILTER (WHERE NOT failed) AS done, count(*) AS counted
             FROM (SELECT failed FROM strategy_metrics ORDER BY id DESC LIMIT ?1)",
        )?
        .query_row([Course::RECENT], |row| {
            Ok(Rate {
                done: count_at(row, "done")?,
                of: count_at(row, "counted")?,
            })
        })?;
    let (attempts, consecutive_failures) = connection
        .prepare_cached(
            "SELECT count(*) AS attempts,
                    count(*) FILTER (WHERE id > coalesce(
                        (SELECT max(id) FROM strategy_metrics WHERE task_id = ?1 AND NOT failed), 0)) AS failures
             FROM strategy_metrics WHERE task_id = ?1",
        )?
        .query_row([task.as_str()], |row| {
            Ok((count_at(row, "attempts")?, count_at(row, "failures")?))
        })?;
    Ok(Course {
        attempts,
        consecutive_failures,
        recent,
    })
}
