//! Queries that retrieve learnings: by task, and by row number.

use ralph_model::{Learning, TaskId};
use rusqlite::{OptionalExtension, Params, params};

use super::Store;
use super::learning_reading::read_learning;
use crate::StoreError;

/// Maximum number of attempts to search for reported learnings; a task may have any number of them.
const MAX_ATTEMPTS: u32 = 200;

impl Store {
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

    /// Whether a learning that agents or users reported is active.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn is_active_report(&self, number: i64) -> Result<bool, StoreError> {
        self.learning_exists(
            "SELECT 1 FROM learnings
             WHERE seq = ?1 AND superseded_by IS NULL AND status = 'promoted' AND source IN ('sigil', 'human')",
            [number],
        )
    }

    pub(super) fn learning_exists(&self, question: &str, parameters: impl Params) -> Result<bool, StoreError> {
        let found = self
            .connection
            .prepare_cached(question)
            .and_then(|mut statement| statement.exists(parameters));
        self.sql(found)
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
