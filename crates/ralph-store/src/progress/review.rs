//! What needs a person's attention: failed tasks, finished tasks and unjudged learnings.

use ralph_model::{Attempt, Denial, Evidence, Learning, Signature, TaskId, Unverified, Usage};
use rusqlite::Connection;
use serde::Serialize;

use super::Store;
use super::attempts::failed_attempts;
use super::columns::{count_at, from_json, number_at, word_at};
use super::denials::denials_of_task;
use super::learning_reading::read_learning;
use super::overview::{TaskSummary, failed_task_summaries};
use super::task_rows::read_unverified;
use crate::StoreError;

/// A task that has failed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FailedTask {
    pub id: TaskId,
    pub title: String,
    /// The last recorded reason, as a sentence; may be empty.
    pub reason: String,
    /// Number of attempts ever begun.
    pub attempts: u32,
    /// Number of trailing attempts with the same failure signature; 0 if unknown.
    pub same: u32,
    /// The tasks that depend on it.
    pub holds_up: Vec<TaskId>,
    /// Denied permissions, newest first.
    pub denials: Vec<Denial>,
    /// The failed attempts since it was last done, oldest first.
    pub failed_attempts: Vec<Attempt>,
}

/// A done task that a person can review.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FinishedTask {
    pub id: TaskId,
    pub title: String,
    /// Why it is unverified; none where it is verified.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unverified: Option<Unverified>,
    /// Number of attempts ever begun.
    pub attempts: u32,
    pub evidence: Evidence,
    #[serde(flatten)]
    pub usage: Usage,
    /// The commit with the work; none if there is none or it has not landed.
    pub commit: Option<String>,
    /// The injected entries that agents reported using.
    pub memory_used: Vec<String>,
    /// Denied permissions, newest first.
    pub denials: Vec<Denial>,
}

/// What needs a person's attention.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Review {
    /// Failed tasks, most urgent first; subtasks instead of their parents.
    pub failed_tasks: Vec<FailedTask>,
    /// Done tasks that no person has reviewed: unverified ones first, of these the ones that block others.
    pub finished_tasks: Vec<FinishedTask>,
    /// Learnings that need a decision, newest first.
    pub learnings: Vec<Learning>,
}

/// Learnings that need a decision: not confirmed yet, or waiting for a person. Superseded ones are irrelevant.
pub(super) const WAITING_LEARNINGS: &str =
    "FROM learnings WHERE status IN ('pending', 'validated') AND superseded_by IS NULL";

impl Store {
    /// Everything that needs a person's attention.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn review(&self) -> Result<Review, StoreError> {
        // One snapshot for all queries below.
        let snapshot = self.sql(self.begin_read())?;
        let mut failed_tasks = Vec::new();
        for task in self.sql(failed_task_summaries(&snapshot))? {
            failed_tasks.push(self.with_attempts(&snapshot, task)?);
        }
        let finished_tasks = self.sql(finished_tasks(&snapshot, Which::ToReview))?;
        let learnings = snapshot
            .prepare_cached(&format!("SELECT * {WAITING_LEARNINGS} ORDER BY seq DESC"))
            .and_then(|mut statement| statement.query_map([], read_learning)?.collect());
        let learnings = self.sql(learnings)?;
        Ok(Review {
            failed_tasks,
            finished_tasks,
            learnings,
        })
    }

    /// A failed task with its details; none if it has not failed.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn failed_task(&self, id: &TaskId) -> Result<Option<FailedTask>, StoreError> {
        let snapshot = self.sql(self.begin_read())?;
        let mut failed = self.sql(failed_task_summaries(&snapshot))?.into_iter();
        let task = failed.find(|task| task.id == *id);
        task.map(|task| self.with_attempts(&snapshot, task)).transpose()
    }

    /// A done task that needs review; none if it does not.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn finished_task(&self, id: &TaskId) -> Result<Option<FinishedTask>, StoreError> {
        let finished = self.sql(finished_tasks(&self.connection, Which::ToReview))?;
        Ok(finished.into_iter().find(|task| task.id == *id))
    }

    /// Adds details to a failed task. Must be called within a transaction.
    fn with_attempts(&self, snapshot: &Connection, task: TaskSummary) -> Result<FailedTask, StoreError> {
        let failed_attempts = self.sql(failed_attempts(snapshot, &task.id, u32::MAX))?.attempts;
        Ok(FailedTask {
            same: failing_the_same_way(&failed_attempts),
            holds_up: self.waiting_for(&task.id)?,
            denials: self.sql(denials_of_task(snapshot, &task.id))?,
            id: task.id,
            title: task.title,
            reason: task.reason,
            attempts: task.attempts,
            failed_attempts,
        })
    }
}

/// Which done tasks to list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Which {
    Unverified,
    /// Also those whose commit no person has reviewed.
    ToReview,
}

pub(super) fn finished_tasks(connection: &Connection, which: Which) -> rusqlite::Result<Vec<FinishedTask>> {
    connection
        .prepare_cached(
            "SELECT id, title, unverified, unverified_changed, attempts,
                 coalesce((SELECT evidence FROM journal WHERE task_id = tasks.id AND outcome = 'done'
                           ORDER BY journal.id DESC LIMIT 1), 'none') AS evidence,
                 (SELECT total(cost_usd) FROM journal WHERE task_id = tasks.id) AS cost_usd,
                 (SELECT coalesce(sum(input_tokens), 0) FROM journal WHERE task_id = tasks.id) AS input_tokens,
                 (SELECT coalesce(sum(output_tokens), 0) FROM journal WHERE task_id = tasks.id) AS output_tokens,
                 (SELECT commits.id FROM commits WHERE task = tasks.id AND rollback IS NULL
                  ORDER BY commits.seq DESC LIMIT 1) AS landed,
                 (SELECT json_group_array(DISTINCT entry) FROM injections
                  JOIN journal ON journal.id = injections.journal WHERE task_id = tasks.id AND used) AS memory_used
             FROM tasks WHERE unverified IS NOT NULL OR ?1 AND to_review AND status = 'done' AND landed IS NOT NULL
             ORDER BY unverified IS NULL, unverified <> 'evidence_changed', priority, seq",
        )?
        .query_map([which == Which::ToReview], |row| {
            let memory_used: String = row.get("memory_used")?;
            let id = word_at(row, "id", TaskId::parse)?;
            Ok(FinishedTask {
                denials: denials_of_task(connection, &id)?,
                id,
                title: row.get("title")?,
                unverified: read_unverified(row)?,
                attempts: count_at(row, "attempts")?,
                evidence: word_at(row, "evidence", Evidence::parse)?,
                usage: Usage {
                    cost_usd: row.get("cost_usd")?,
                    input_tokens: number_at(row, "input_tokens")?,
                    output_tokens: number_at(row, "output_tokens")?,
                },
                commit: row.get("landed")?,
                memory_used: from_json(&memory_used, "memory used")?,
            })
        })?
        .collect()
}

/// Number of trailing attempts with the signature of the last one.
fn failing_the_same_way(attempts: &[Attempt]) -> u32 {
    let signature = |attempt: &Attempt| -> Option<Signature> { attempt.report.as_ref()?.signature.clone() };
    let Some(last) = attempts.last().and_then(signature) else {
        return 0;
    };
    let same = attempts
        .iter()
        .rev()
        .take_while(|attempt| signature(attempt).as_ref() == Some(&last));
    u32::try_from(same.count()).unwrap_or(u32::MAX)
}
