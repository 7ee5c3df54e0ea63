//! Denied permissions of agents, by task or since a journal entry.

use ralph_model::{Denial, TaskId};
use rusqlite::{Connection, ToSql};

use super::Store;
use super::columns::from_json;
use crate::StoreError;

const MAX_DENIALS: usize = 20;

impl Store {
    /// The distinct denials of a task's iterations, newest first.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn denials_of_task(&self, task: &TaskId) -> Result<Vec<Denial>, StoreError> {
        self.sql(denials_of_task(&self.connection, task))
    }
}

pub(super) fn denials_of_task(connection: &Connection, task: &TaskId) -> rusqlite::Result<Vec<Denial>> {
    denials(connection, "task_id = ?1", &task.as_str())
}

/// The distinct denials since a journal entry, newest first.
pub(super) fn denials_since(connection: &Connection, journal: i64) -> rusqlite::Result<Vec<Denial>> {
    denials(connection, "id > ?1", &journal)
}

fn denials(connection: &Connection, condition: &str, value: &dyn ToSql) -> rusqlite::Result<Vec<Denial>> {
    let sql = format!("SELECT denials FROM journal WHERE {condition} AND denials <> '[]' ORDER BY id DESC");
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = statement.query([value])?;
    let mut found: Vec<Denial> = Vec::new();
    while let Some(row) = rows.next()? {
        let denials: Vec<Denial> = from_json(&row.get::<_, String>(0)?, "denials")?;
        for denial in denials {
            if !found.contains(&denial) {
                found.push(denial);
            }
        }
        if found.len() >= MAX_DENIALS {
            found.truncate(MAX_DENIALS);
            break;
        }
    }
    Ok(found)
}
