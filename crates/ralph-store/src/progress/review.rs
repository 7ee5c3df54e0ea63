//! What waits for a person: tasks that have failed, and lessons that nobody has judged.

use ralph_model::{Attempt, Denial, Evidence, Learning, Signature, TaskId, Unverified, Usage};
use rusqlite::Connection;
use serde::Serialize;

use super::Store;
use super::attempts::failed_attempts;
use super::columns::{count_at, from_json, number_at, word_at};
use super::denials::denials_of_task;
use super::learning_reading::read_learning;
use super::overview::{TaskNews, waiting};
use super::task_rows::read_unverified;
use crate::StoreError;

/// A task that has failed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FailedTask {
    /// The task.
    pub id: TaskId,
    /// Its title.
    pub title: String,
    /// What was last said about it, in a sentence; empty when nothing was.
    pub reason: String,
    /// How many attempts at it were begun, ever.
    pub attempts: u32,
    /// How many of the last attempts failed the same way, the last one among them; 0 where nobody can tell.
    pub same: u32,
    /// The tasks that wait for it.
    pub holds_up: Vec<TaskId>,
    /// What agents were not allowed to do, the newest first.
    pub denials: Vec<Denial>,
    /// The attempts that failed since it was last done, the oldest first.
    pub failed_attempts: Vec<Attempt>,
}

/// A done task that a person can review, with what is known of the work.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FinishedTask {
    /// The task.
    pub id: TaskId,
    /// Its title.
    pub title: String,
    /// Why it is unverified; none where it is verified.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unverified: Option<Unverified>,
    /// How many attempts at it were begun, ever.
    pub attempts: u32,
    /// What confirmed the work.
    pub evidence: Evidence,
    /// What all attempts cost.
    #[serde(flatten)]
    pub usage: Usage,
    /// The commit that holds the work; none where none was made, or it has not landed.
    pub commit: Option<String>,
    /// The injected entries that agents said they relied on.
    pub memory_used: Vec<String>,
    /// What agents were not allowed to do, the newest first.
    pub denials: Vec<Denial>,
}

/// What waits for a person.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Review {
    /// The tasks that have failed, the most urgent first. Of one that has parts, its parts stand here.
    pub failed_tasks: Vec<FailedTask>,
    /// The done tasks that no person has reviewed: unverified ones first, and of these the ones that keep others waiting.
    pub finished_tasks: Vec<FinishedTask>,
    /// The lessons that wait to be judged, the newest first.
    pub learnings: Vec<Learning>,
}

/// The lessons that wait: nothing has shown yet that they hold, or a person has to say so. Of one that another has taken the
/// place of nobody wants to know.
pub(super) const WAITING_LESSONS: &str =
    "FROM learnings WHERE status IN ('pending', 'validated') AND superseded_by IS NULL";

impl Store {
    /// What waits for a person.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn review(&self) -> Result<Review, StoreError> {
        // One moment for all of it: what is read below is read within.
        let moment = self.sql(self.look())?;
        let mut failed_tasks = Vec::new();
        for task in self.sql(waiting(&moment))? {
            failed_tasks.push(self.with_attempts(&moment, task)?);
        }
        let finished_tasks = self.sql(finished_tasks(&moment, Which::ToReview))?;
        let learnings = moment
            .prepare_cached(&format!("SELECT * {WAITING_LESSONS} ORDER BY seq DESC"))
            .and_then(|mut statement| {
                let mut learnings = Vec::new();
                for learning in statement.query_map([], read_learning)? {
                    learnings.extend(self.passing_over(learning)?);
                }
                Ok(learnings)
            });
        let learnings = self.sql(learnings)?;
        Ok(Review {
            failed_tasks,
            finished_tasks,
            learnings,
        })
    }

    /// A task as it waits for a person; none where it has not failed.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn failed_task(&self, id: &TaskId) -> Result<Option<FailedTask>, StoreError> {
        let moment = self.sql(self.look())?;
        let mut failed = self.sql(waiting(&moment))?.into_iter();
        let task = failed.find(|task| task.id == *id);
        task.map(|task| self.with_attempts(&moment, task)).transpose()
    }

    /// A done task that needs review; none if it does not.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn finished_task(&self, id: &TaskId) -> Result<Option<FinishedTask>, StoreError> {
        let finished = self.sql(finished_tasks(&self.connection, Which::ToReview))?;
        Ok(finished.into_iter().find(|task| task.id == *id))
    }

    /// A task that has failed, with how it did and what waits for it. To be called within a transaction.
    fn with_attempts(&self, moment: &Connection, task: TaskNews) -> Result<FailedTask, StoreError> {
        let failed_attempts = self.sql(failed_attempts(moment, &task.id, u32::MAX))?.attempts;
        Ok(FailedTask {
            same: failing_the_same_way(&failed_attempts),
            holds_up: self.waiting_for(&task.id)?,
            denials: self.sql(denials_of_task(moment, &task.id))?,
            id: task.id,
            title: task.title,
            reason: task.reason,
            attempts: task.attempts,
            failed_attempts,
        })
    }
}

/// Which done tasks are meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Which {
    /// Those that a person has to review.
    Unverified,
    /// These, and those whose commit no person has looked at.
    ToReview,
}

/// Done tasks, with what is known of the work.
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

/// How many attempts at the end have the signature of the last one.
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
