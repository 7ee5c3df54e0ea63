//! Items that evidence depends on and that agents changed. A change counts against later work, also in later runs,
//! until a person accepts, resets or deletes the task.

use ralph_model::TaskId;
use rusqlite::{Row, Transaction, params};

use super::Store;
use super::columns::word_at;
use super::settle::Settlement;
use crate::StoreError;

/// A change of an item that evidence depends on: a script, a setting, a hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EvidenceChange {
    /// The task whose agent made it.
    pub task: TaskId,
    /// The item's name for the user.
    pub name: String,
    /// The digest before the change; none if the item did not exist.
    pub before: Option<String>,
    /// The digest after the change; none if the agent removed the item.
    pub after: Option<String>,
    /// Whether git runs the item on commits.
    pub in_commits: bool,
}

impl Store {
    /// All changes that no person has reviewed.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn evidence_changes(&self) -> Result<Vec<EvidenceChange>, StoreError> {
        let found = self
            .connection
            .prepare_cached("SELECT task, name, before, after, in_commits FROM evidence_changes ORDER BY task, name")
            .and_then(|mut statement| statement.query_map([], read)?.collect());
        self.sql(found)
    }
}

fn read(row: &Row<'_>) -> rusqlite::Result<EvidenceChange> {
    Ok(EvidenceChange {
        task: word_at(row, "task", TaskId::parse)?,
        name: row.get("name")?,
        before: row.get("before")?,
        after: row.get("after")?,
        in_commits: row.get("in_commits")?,
    })
}

/// Records the iteration's changes, unless its task was deleted.
pub(super) fn put(transaction: &Transaction<'_>, settlement: &Settlement) -> rusqlite::Result<()> {
    let mut statement = transaction.prepare_cached(
        "INSERT OR REPLACE INTO evidence_changes (task, name, before, after, in_commits)
         SELECT id, ?2, ?3, ?4, ?5 FROM tasks WHERE id = ?1",
    )?;
    for change in &settlement.evidence_changes {
        let EvidenceChange { task, name, .. } = change;
        statement.execute(params![
            task.as_str(),
            name,
            change.before,
            change.after,
            change.in_commits
        ])?;
    }
    Ok(())
}

/// Deletes the changes of a task that a person has reviewed.
pub(super) fn forget(transaction: &Transaction<'_>, task: &TaskId) -> rusqlite::Result<()> {
    transaction
        .prepare_cached("DELETE FROM evidence_changes WHERE task = ?1")?
        .execute([task.as_str()])
        .map(drop)
}
