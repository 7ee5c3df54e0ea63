//! Commits of tasks, and how a rollback undoes them.

use jiff::Timestamp;
use ralph_model::{RollbackId, TaskId, Unverified, UnverifiedReason};
use rusqlite::{Row, Transaction, params};
use serde::{Deserialize, Serialize};

use super::RollbackTarget;
use super::plan::TASKS;
use crate::StoreError;
use crate::progress::Store;
use crate::progress::columns::word_at;
use crate::progress::task_steps::reopen;
use crate::progress::transitions::{NewState, set_task_state};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskCommit {
    pub commit: String,
    pub task: TaskId,
    /// The reference on which it landed; none if it was made in the project itself.
    pub base: Option<String>,
}

/// A commit that a rollback undoes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommitStep {
    pub commit: String,
    pub task: TaskId,
    pub subject: String,
    /// The reference on which it is reverted.
    pub base: String,
    /// The commit that reverts or reapplies it; none if the base already has that state.
    pub landing: Option<String>,
    /// Why the task was unverified.
    pub unverified: Option<String>,
}

impl Store {
    /// The commits of a target that are not undone, newest first.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn commits_of(&self, target: &RollbackTarget) -> Result<Vec<TaskCommit>, StoreError> {
        let sql = format!(
            "SELECT id, task, base FROM commits
             WHERE rollback IS NULL AND (run = ?1 AND (?2 IS NULL OR iteration = ?2) OR task IN {TASKS})
             ORDER BY seq DESC"
        );
        let found = self
            .connection
            .prepare_cached(&sql)
            .and_then(|mut statement| statement.query_map(target.values(), read)?.collect());
        self.sql(found)
    }
}

/// Records that a commit contains the work of a task, with the task's last iteration.
pub(in crate::progress) fn put_commit(
    transaction: &Transaction<'_>,
    task: &TaskId,
    (commit, base): (&str, Option<&str>),
) -> rusqlite::Result<()> {
    transaction
        .prepare_cached(
            "INSERT INTO commits (id, task, base, run, iteration)
             SELECT ?1, ?2, ?3, run_id, iteration FROM (
                 SELECT run_id, iteration, id FROM journal WHERE task_id = ?2 UNION ALL SELECT NULL, NULL, 0
                 ORDER BY id DESC LIMIT 1)
             WHERE NOT EXISTS (SELECT 1 FROM commits WHERE id = ?1 AND task = ?2 AND rollback IS NULL)",
        )?
        .execute(params![commit, task.as_str(), base])
        .map(drop)
}

/// Marks a commit as undone, and reopens its task.
pub(super) fn undo(
    transaction: &Transaction<'_>,
    (rollback, step): (&RollbackId, &CommitStep),
    now: Timestamp,
) -> rusqlite::Result<()> {
    transaction
        .prepare_cached("UPDATE commits SET rollback = ?3 WHERE id = ?1 AND task = ?2")?
        .execute(params![step.commit, step.task.as_str(), rollback.as_str()])?;
    let sentence = format!("Undone by {rollback}: reverted commit {}.", step.commit);
    reopen(transaction, &step.task, &sentence, now)
}

/// Records that the work of a commit was reapplied in another commit, and that its task is done.
pub(super) fn redo(
    transaction: &Transaction<'_>,
    (rollback, step): (&RollbackId, &CommitStep),
    now: Timestamp,
) -> rusqlite::Result<()> {
    let unverified = step.unverified.as_deref().and_then(UnverifiedReason::parse);
    let unverified = unverified.map(|reason| Unverified::from_parts(reason, Vec::new()));
    let state = NewState::Done {
        worktree: Some(&step.base),
        commit: step.landing.as_deref(),
        unverified: unverified.as_ref(),
    };
    let sentence = match &step.landing {
        Some(landing) => format!("Done in commit {landing}: {rollback} was undone."),
        None => format!("Done: {rollback} was undone, and the base already had the work."),
    };
    set_task_state(transaction, &step.task, (state, &sentence), now)?;
    match &step.landing {
        Some(landing) => put_commit(transaction, &step.task, (landing, Some(&step.base))),
        None => Ok(()),
    }
}

fn read(row: &Row<'_>) -> rusqlite::Result<TaskCommit> {
    Ok(TaskCommit {
        commit: row.get("id")?,
        task: word_at(row, "task", TaskId::parse)?,
        base: row.get("base")?,
    })
}
