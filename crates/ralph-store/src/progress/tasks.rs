//! Tasks are made, changed, finished, given up and deleted.

use jiff::Timestamp;
use ralph_model::{Entropy, FeatureId, NewTask, Priority, Task, TaskId};
use rusqlite::Transaction;

use super::Store;
use super::deleted_tasks::keep;
use super::evidence_changes::forget;
use super::rings::ring;
use super::rollback::put_commit;
use super::task_error::{TaskError, Trouble};
use super::task_proposals::refuse_proposed;
use super::task_rows::{ids, log};
use super::task_steps::{
    accept, add_commit, existing, finish, insert, put_guidance, put_update, raise_fence, refuse_claimed, refuse_parent,
    reopen, reopen_if_childless,
};
use super::transitions::{Said, changed, say};

/// Where a task was done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DoneIn {
    /// The worktree's name; empty for the main one.
    pub worktree: String,
    /// The commit that was checked out; none without git.
    pub commit: Option<String>,
}

impl DoneIn {
    /// Whether the commit landed on a reference, and is the task's own.
    fn has_landed(&self) -> bool {
        self.worktree.starts_with("refs/")
    }
}

/// What changes about a task; what is not named stays.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TaskUpdate {
    /// Another title.
    pub title: Option<String>,
    /// Another description.
    pub description: Option<String>,
    /// Another urgency.
    pub priority: Option<Priority>,
    /// Another parent.
    pub parent: ParentChange,
    /// Another feature.
    pub feature: FeatureChange,
    /// What it has to wait for from now on.
    pub add_after: Vec<TaskId>,
    /// What it does not have to wait for any more.
    pub remove_after: Vec<TaskId>,
    /// Other checks.
    pub checks: Option<Vec<String>>,
    /// How often it may be tried again.
    pub max_retries: Option<u32>,
}

/// What becomes of the parent of a task.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum ParentChange {
    /// It stays.
    #[default]
    Keep,
    /// This one.
    Under(TaskId),
    /// None.
    Top,
}

/// What becomes of the feature of a task. What is below the task and had the same feature goes with it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum FeatureChange {
    /// It stays; a task that has none and becomes a part of another gets that one's.
    #[default]
    Keep,
    /// This one.
    Of(FeatureId),
    /// None.
    Leave,
}

/// Which tasks are meant by one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// The task itself.
    Itself,
    /// The task and everything below it that has failed.
    FailedBelow,
}

impl Store {
    /// Makes a task. An id that is taken is never used.
    ///
    /// # Errors
    /// When its parent or what it comes after is not there, when it could never be done, or the database cannot be written.
    pub fn add_task(&mut self, new: &NewTask, entropy: &mut dyn Entropy, now: Timestamp) -> Result<Task, TaskError> {
        self.change_tasks(|transaction| {
            let id = insert(transaction, new, entropy, now)?;
            if !new.after.is_empty()
                && let Some(steps) = ring(transaction, std::slice::from_ref(&id))?
            {
                // The person has not seen its id.
                let steps = steps.iter().map(|step| step.replace(id.as_str(), "the new task"));
                return Err(TaskError::Ring { steps: steps.collect() }.into());
            }
            changed(transaction, std::slice::from_ref(&id), now)?;
            existing(transaction, &id)
        })
    }

    /// Changes a task.
    ///
    /// # Errors
    /// When a task that is named is not there, when it could never be done then, or the database cannot be written.
    pub fn update_task(&mut self, id: &TaskId, update: &TaskUpdate, now: Timestamp) -> Result<Task, TaskError> {
        self.change_tasks(|transaction| {
            let before = existing(transaction, id)?;
            let sentence = put_update(transaction, &before, update, now)?;
            if let Some(steps) = ring(transaction, std::slice::from_ref(id))? {
                return Err(TaskError::Ring { steps }.into());
            }
            if let Some(sentence) = sentence {
                log(transaction, id, &sentence, now)?;
            }
            let mut touched = vec![id.clone()];
            if update.parent != ParentChange::Keep
                && let Some(parent) = &before.parent
            {
                reopen_if_childless(transaction, parent, now)?;
                touched.push(parent.clone());
            }
            changed(transaction, &touched, now)?;
            existing(transaction, id)
        })
    }

    /// Deletes a task with everything below it; the deleted ones, from the top. What was recorded about their iterations
    /// stays. What waited for them does not any more, until they are restored.
    ///
    /// # Errors
    /// When a run has claimed one of them, or the database cannot be written.
    pub fn delete_task(&mut self, id: &TaskId, now: Timestamp) -> Result<Vec<Task>, TaskError> {
        self.change_tasks(|transaction| delete_with_parts(transaction, id, now))
    }

    /// Marks a task as done, here, by a person's word. One that is done already stays as it is, except that an unverified one is
    /// accepted, and a commit is written down where there was none yet.
    ///
    /// # Errors
    /// When a run has claimed it, when parts of it are open, or the database cannot be written.
    pub fn finish_task(&mut self, id: &TaskId, done: &DoneIn, now: Timestamp) -> Result<Task, TaskError> {
        self.change_tasks(|transaction| {
            forget(transaction, id)?;
            accept(transaction, id, now)?;
            finish(transaction, id, (done, "Done: a person said so."), now)?;
            add_commit(transaction, id, done, now)?;
            if let (true, Some(commit)) = (done.has_landed(), &done.commit) {
                put_commit(transaction, id, (commit, Some(&done.worktree)))?;
            }
            existing(transaction, id)
        })
    }

    /// Gives a task up: it has failed, for this reason.
    ///
    /// # Errors
    /// When a run has claimed it, when it has parts, or the database cannot be written.
    pub fn fail_task(&mut self, id: &TaskId, reason: &str, now: Timestamp) -> Result<Task, TaskError> {
        self.change_tasks(|transaction| {
            let task = existing(transaction, id)?;
            refuse_claimed(&task)?;
            refuse_proposed(&task)?;
            refuse_parent(transaction, &task)?;
            let sentence = match reason.trim() {
                "" => "Failed: a person gave it up.".to_owned(),
                reason => format!("Failed: {reason}"),
            };
            raise_fence(transaction, id)?;
            say(transaction, id, (Said::Failed, &sentence), now)?;
            existing(transaction, id)
        })
    }

    /// Opens tasks again, with all their retries; what was tried stays known. Those that were, in the order of their ids.
    ///
    /// # Errors
    /// When a run has claimed one, when only the task itself is meant and it has parts, or the database cannot be written.
    pub fn reset_task(&mut self, id: &TaskId, reach: Reach, now: Timestamp) -> Result<Vec<Task>, TaskError> {
        self.change_tasks(|transaction| {
            let task = existing(transaction, id)?;
            refuse_proposed(&task)?;
            let leaves = match reach {
                Reach::Itself => {
                    refuse_parent(transaction, &task)?;
                    vec![id.clone()]
                }
                Reach::FailedBelow => ids(transaction, FAILED_LEAVES, [id.as_str()])?,
            };
            for leaf in &leaves {
                refuse_claimed(&existing(transaction, leaf)?)?;
                reopen(transaction, leaf, "Reset: it is to be done anew.", now)?;
            }
            leaves.iter().map(|leaf| existing(transaction, leaf)).collect()
        })
    }

    /// Opens a task again, with what a person says about the work so far.
    ///
    /// # Errors
    /// When a run has claimed it, when it has parts, or the database cannot be written.
    pub fn send_back(&mut self, id: &TaskId, comment: &str, now: Timestamp) -> Result<(), TaskError> {
        self.change_tasks(|transaction| {
            let task = existing(transaction, id)?;
            refuse_proposed(&task)?;
            refuse_parent(transaction, &task)?;
            refuse_claimed(&task)?;
            reopen(transaction, id, "Sent back by a person.", now)?;
            Ok(put_guidance(transaction, id, comment, now)?)
        })
    }

    /// Runs one unit of work on tasks: all of it happens, or nothing.
    pub(super) fn change_tasks<T>(
        &mut self,
        work: impl FnOnce(&Transaction<'_>) -> Result<T, Trouble>,
    ) -> Result<T, TaskError> {
        match self.transact(work) {
            Ok(answer) => Ok(answer),
            Err(Trouble::Task(error)) => Err(error),
            Err(Trouble::Sql(error)) => Ok(self.sql(Err(error))?),
        }
    }
}

/// Deletes a task with everything below it; the deleted ones, from the top.
pub(super) fn delete_with_parts(
    transaction: &Transaction<'_>,
    id: &TaskId,
    now: Timestamp,
) -> Result<Vec<Task>, Trouble> {
    let top = existing(transaction, id)?;
    let mut doomed = vec![id.clone()];
    doomed.extend(ids(transaction, BELOW_BY_DEPTH, [id.as_str()])?);
    let mut deleted = Vec::new();
    let mut touched: Vec<TaskId> = top.parent.iter().cloned().collect();
    for id in &doomed {
        let task = existing(transaction, id)?;
        refuse_claimed(&task)?;
        keep(transaction, id, &top.id, now)?;
        deleted.push(task);
        touched.extend(ids(
            transaction,
            "SELECT task FROM dependencies WHERE after = ?1 ORDER BY task",
            [id.as_str()],
        )?);
    }
    // From below, so that SQLite has no deep chain to follow.
    for id in doomed.iter().rev() {
        log(transaction, id, "Deleted.", now)?;
        transaction
            .prepare_cached("DELETE FROM tasks WHERE id = ?1")?
            .execute([id.as_str()])?;
    }
    if let Some(parent) = &top.parent {
        reopen_if_childless(transaction, parent, now)?;
    }
    changed(transaction, &touched, now)?;
    Ok(deleted)
}

/// Everything below a task, what is higher first.
const BELOW_BY_DEPTH: &str = "WITH RECURSIVE below(id, depth) AS (
        SELECT id, 1 FROM tasks WHERE parent = ?1
        UNION ALL SELECT child.id, depth + 1 FROM below CROSS JOIN tasks child ON child.parent = below.id)
    SELECT id FROM below ORDER BY depth, id";

/// The failed tasks among a task and everything below it that have no children.
const FAILED_LEAVES: &str = "WITH RECURSIVE below(id) AS (
        SELECT ?1
        UNION ALL SELECT child.id FROM below CROSS JOIN tasks child ON child.parent = below.id)
    SELECT task.id FROM below CROSS JOIN tasks task ON task.id = below.id
    WHERE task.status = 'failed' AND NOT EXISTS (SELECT 1 FROM tasks child WHERE child.parent = task.id)
    ORDER BY task.id";
