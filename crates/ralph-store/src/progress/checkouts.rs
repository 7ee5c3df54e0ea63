//! Checkouts of tasks, and the commits that are about to land from them.

use jiff::Timestamp;
use ralph_model::{RunId, TaskId, TaskStatus, Unverified};
use rusqlite::{OptionalExtension, Row, params};

use super::Store;
use super::columns::{word_at, word_in};
use super::rollback::put_commit;
use super::settle::to_review;
use super::transitions::{NewState, set_task_state};
use crate::StoreError;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckoutRecord {
    pub task: TaskId,
    pub branch: String,
    /// The reference that the work lands on.
    pub base: String,
    /// The base commit of the branch.
    pub base_commit: String,
    pub landing: Option<LandingRecord>,
}

/// A commit that is about to become the tip of the base.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LandingRecord {
    pub commit: String,
    /// Evidence for the work, in the loop's format.
    pub evidence: String,
}

const COLUMNS: &str = "task, branch, base, base_commit, landing, evidence";

impl Store {
    /// The checkout of a task.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn checkout_of(&self, task: &TaskId) -> Result<Option<CheckoutRecord>, StoreError> {
        let sql = format!("SELECT {COLUMNS} FROM checkouts WHERE task = ?1");
        let found = self
            .connection
            .prepare_cached(&sql)
            .and_then(|mut statement| statement.query_row([task.as_str()], read).optional());
        self.sql(found)
    }

    /// All checkouts, each with the status of its task; none if the task was deleted.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn checkouts(&self) -> Result<Vec<(CheckoutRecord, Option<TaskStatus>)>, StoreError> {
        let sql = format!(
            "SELECT {COLUMNS}, (SELECT status FROM tasks WHERE id = checkouts.task) AS status FROM checkouts ORDER BY task"
        );
        let found = self.connection.prepare_cached(&sql).and_then(|mut statement| {
            let rows = statement.query_map([], |row| Ok((read(row)?, word_in(row, "status", TaskStatus::parse)?)))?;
            rows.collect()
        });
        self.sql(found)
    }

    /// Records a checkout or its new state.
    ///
    /// # Errors
    /// When the database cannot be written.
    pub fn put_checkout(&mut self, checkout: &CheckoutRecord) -> Result<(), StoreError> {
        self.write(|transaction| {
            let landing = checkout.landing.as_ref();
            transaction
                .prepare_cached(
                    "INSERT OR REPLACE INTO checkouts (task, branch, base, base_commit, landing, evidence)
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                )?
                .execute(params![
                    checkout.task.as_str(),
                    checkout.branch,
                    checkout.base,
                    checkout.base_commit,
                    landing.map(|landing| &landing.commit),
                    landing.map(|landing| &landing.evidence),
                ])
                .map(drop)
        })
    }

    /// Records the commit that is about to land, if the claim is still valid; returns whether it is.
    ///
    /// # Errors
    /// When the database cannot be written.
    pub fn begin_landing(
        &mut self,
        task: &TaskId,
        (run, fence): (&RunId, u64),
        landing: &LandingRecord,
    ) -> Result<bool, StoreError> {
        self.write(|transaction| {
            transaction
                .prepare_cached(
                    "UPDATE checkouts SET landing = ?2, evidence = ?3
                     WHERE task = ?1 AND EXISTS (
                         SELECT 1 FROM tasks WHERE id = ?1 AND fence = ?5
                           AND (claimed_by = ?4 OR claimed_by IS NULL AND status NOT IN ('done', 'failed')))",
                )?
                .execute(params![
                    task.as_str(),
                    landing.commit,
                    landing.evidence,
                    run.as_str(),
                    fence.cast_signed()
                ])
                .map(|rows| rows == 1)
        })
    }

    /// Marks a task as done whose commit landed before its run could record that.
    ///
    /// # Errors
    /// When the database cannot be written.
    pub fn mark_landed(
        &mut self,
        (task, run, fence): (&TaskId, &RunId, u64),
        (base, commit): (&str, &str),
        unverified: Option<&Unverified>,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        self.write(|transaction| {
            let is_held = transaction
                .prepare_cached("SELECT 1 FROM tasks WHERE id = ?1 AND claimed_by = ?2 AND fence = ?3")?
                .exists(params![task.as_str(), run.as_str(), fence.cast_signed()])?;
            if is_held {
                let state = NewState::Done {
                    worktree: Some(base),
                    commit: Some(commit),
                    unverified,
                };
                let sentence = format!("Done in commit {commit}, which a run landed before it was killed.");
                set_task_state(transaction, task, (state, &sentence), now)?;
                to_review(transaction, task)?;
                put_commit(transaction, task, (commit, Some(base)))?;
            }
            Ok(())
        })
    }

    /// Deletes the record of a removed checkout.
    ///
    /// # Errors
    /// When the database cannot be written.
    pub fn forget_checkout(&mut self, task: &TaskId) -> Result<(), StoreError> {
        self.write(|transaction| {
            transaction
                .prepare_cached("DELETE FROM checkouts WHERE task = ?1")?
                .execute([task.as_str()])
                .map(drop)
        })
    }
}

fn read(row: &Row<'_>) -> rusqlite::Result<CheckoutRecord> {
    let (commit, evidence): (Option<String>, Option<String>) = (row.get("landing")?, row.get("evidence")?);
    Ok(CheckoutRecord {
        task: word_at(row, "task", TaskId::parse)?,
        branch: row.get("branch")?,
        base: row.get("base")?,
        base_commit: row.get("base_commit")?,
        landing: commit.map(|commit| LandingRecord {
            commit,
            evidence: evidence.unwrap_or_default(),
        }),
    })
}
