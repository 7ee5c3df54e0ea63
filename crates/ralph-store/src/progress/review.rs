//! What waits for a person: tasks that have failed, and lessons that nobody has judged.

use ralph_model::{Attempt, Learning, Signature, TaskId, Unverified};
use rusqlite::Connection;
use serde::Serialize;

use super::Store;
use super::attempts::failed_attempts;
use super::columns::{count_at, unreadable, word_at};
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
    /// The attempts that failed since it was last done, the oldest first.
    pub failed_attempts: Vec<Attempt>,
}

/// A done task that a person has to review.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct UnverifiedTask {
    /// The task.
    pub id: TaskId,
    /// Its title.
    pub title: String,
    /// Why it is unverified.
    pub unverified: Unverified,
    /// How many attempts at it were begun, ever.
    pub attempts: u32,
}

/// What waits for a person.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Review {
    /// The tasks that have failed, the most urgent first. Of one that has parts, its parts stand here.
    pub failed_tasks: Vec<FailedTask>,
    /// The done tasks that are unverified: those that keep others waiting first, then the most urgent.
    pub unverified_tasks: Vec<UnverifiedTask>,
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
        let unverified_tasks = self.sql(unverified_tasks(&moment))?;
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
            unverified_tasks,
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

    /// A task that has failed, with how it did and what waits for it. To be called within a transaction.
    fn with_attempts(&self, moment: &Connection, task: TaskNews) -> Result<FailedTask, StoreError> {
        let failed_attempts = self.sql(failed_attempts(moment, &task.id, u32::MAX))?.attempts;
        Ok(FailedTask {
            same: failing_the_same_way(&failed_attempts),
            holds_up: self.waiting_for(&task.id)?,
            id: task.id,
            title: task.title,
            reason: task.reason,
            attempts: task.attempts,
            failed_attempts,
        })
    }
}

/// The done tasks that a person has to review.
pub(super) fn unverified_tasks(connection: &Connection) -> rusqlite::Result<Vec<UnverifiedTask>> {
    connection
        .prepare_cached(
            "SELECT id, title, unverified, unverified_changed, attempts FROM tasks WHERE unverified IS NOT NULL
             ORDER BY unverified <> 'evidence_changed', priority, seq",
        )?
        .query_map([], |row| {
            Ok(UnverifiedTask {
                id: word_at(row, "id", TaskId::parse)?,
                title: row.get("title")?,
                unverified: read_unverified(row)?.ok_or_else(|| unreadable("no reason".to_owned()))?,
                attempts: count_at(row, "attempts")?,
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
