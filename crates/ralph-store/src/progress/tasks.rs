//! Adding, changing, finishing, failing, resetting and deleting tasks.

use jiff::Timestamp;
use ralph_model::{Entropy, FeatureId, NewTask, Priority, Task, TaskId};
use rusqlite::Transaction;

use super::Store;
use super::deleted_tasks::keep;
use super::dependency_cycles::dependency_cycle;
use super::evidence_changes::forget;
use super::rollback::put_commit;
use super::task_error::{TaskError, Trouble};
use super::task_proposals::refuse_proposed;
use super::task_rows::{ids, log};
use super::task_steps::{
    accept, add_commit, existing, finish, insert, put_guidance, put_update, raise_fence, refuse_claimed, refuse_parent,
    reopen, reopen_if_childless,
};
use super::transitions::{NewState, changed, set_task_state};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DoneIn {
    /// The worktree's name; empty for the main one.
    pub worktree: String,
    /// The commit that was checked out; none without git.
    pub commit: Option<String>,
}

impl DoneIn {
    /// Whether the commit is the task's own and has landed on a reference.
    fn has_landed(&self) -> bool {
        self.worktree.starts_with("refs/")
    }
}

/// Changes to a task; fields that are not set stay.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TaskUpdate {
    pub title: Option<String>,
    pub description: Option<String>,
    pub priority: Option<Priority>,
    pub parent: ParentChange,
    pub feature: FeatureChange,
    /// Dependencies to add.
    pub add_after: Vec<TaskId>,
    /// Dependencies to remove.
    pub remove_after: Vec<TaskId>,
    pub checks: Option<Vec<String>>,
    pub max_retries: Option<u32>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum ParentChange {
    #[default]
    Keep,
    Under(TaskId),
    Top,
}

/// A change of a task's feature. Descendants with the same feature follow.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum FeatureChange {
    /// Unchanged, but a task without a feature that becomes a subtask gets its parent's.
    #[default]
    Keep,
    Of(FeatureId),
    Leave,
}

/// Which tasks an operation affects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    Itself,
    /// The failed tasks among it and its descendants.
    FailedBelow,
}

impl Store {
    /// Adds a task. Ids are never reused.
    ///
    /// # Errors
    /// When its parent or a dependency does not exist, a dependency cycle would result, or the database cannot be
    /// written.
    pub fn add_task(&mut self, new: &NewTask, entropy: &mut dyn Entropy, now: Timestamp) -> Result<Task, TaskError> {
        self.change_tasks(|transaction| {
            let id = insert(transaction, new, entropy, now)?;
            if !new.after.is_empty()
                && let Some(steps) = dependency_cycle(transaction, std::slice::from_ref(&id))?
            {
                // The user has not seen its id yet.
                let steps = steps.iter().map(|step| step.replace(id.as_str(), "the new task"));
                return Err(TaskError::DependencyCycle { steps: steps.collect() }.into());
            }
            changed(transaction, std::slice::from_ref(&id), now)?;
            existing(transaction, &id)
        })
    }

    /// Changes a task.
    ///
    /// # Errors
    /// When a named task does not exist, a dependency cycle would result, or the database cannot be written.
    pub fn update_task(&mut self, id: &TaskId, update: &TaskUpdate, now: Timestamp) -> Result<Task, TaskError> {
        self.change_tasks(|transaction| {
            let before = existing(transaction, id)?;
            let sentence = put_update(transaction, &before, update, now)?;
            if let Some(steps) = dependency_cycle(transaction, std::slice::from_ref(id))? {
                return Err(TaskError::DependencyCycle { steps }.into());
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

    /// Deletes a task with its descendants; returns them from the top. The journal of their iterations stays. Their
    /// dependents no longer wait for them, unless they are restored.
    ///
    /// # Errors
    /// When a run has claimed one of them, or the database cannot be written.
    pub fn delete_task(&mut self, id: &TaskId, now: Timestamp) -> Result<Vec<Task>, TaskError> {
        self.change_tasks(|transaction| delete_with_subtasks(transaction, id, now))
    }

    /// Marks a task as done here, on a person's word. If it is already done, this accepts it if it is unverified, and
    /// records a commit if it had none.
    ///
    /// # Errors
    /// When a run has claimed it, it has unfinished subtasks, or the database cannot be written.
    pub fn finish_task(&mut self, id: &TaskId, done: &DoneIn, now: Timestamp) -> Result<Task, TaskError> {
        self.change_tasks(|transaction| {
            forget(transaction, id)?;
            accept(transaction, id, now)?;
            finish(transaction, id, (done, "Done: marked as done by a person."), now)?;
            add_commit(transaction, id, done, now)?;
            if let (true, Some(commit)) = (done.has_landed(), &done.commit) {
                put_commit(transaction, id, (commit, Some(&done.worktree)))?;
            }
            existing(transaction, id)
        })
    }

    /// Marks a task as failed for this reason.
    ///
    /// # Errors
    /// When a run has claimed it, it has subtasks, or the database cannot be written.
    pub fn fail_task(&mut self, id: &TaskId, reason: &str, now: Timestamp) -> Result<Task, TaskError> {
        self.change_tasks(|transaction| {
            let task = existing(transaction, id)?;
            refuse_claimed(&task)?;
            refuse_proposed(&task)?;
            refuse_parent(transaction, &task)?;
            let sentence = match reason.trim() {
                "" => "Failed: given up by a person.".to_owned(),
                reason => format!("Failed: {reason}"),
            };
            raise_fence(transaction, id)?;
            set_task_state(transaction, id, (NewState::Failed, &sentence), now)?;
            existing(transaction, id)
        })
    }

    /// Reopens tasks with all their retries; their history is kept. Returns the reopened tasks by id.
    ///
    /// # Errors
    /// When a run has claimed one, `reach` is the task itself and it has subtasks, or the database cannot be written.
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
                reopen(transaction, leaf, "Reset.", now)?;
            }
            leaves.iter().map(|leaf| existing(transaction, leaf)).collect()
        })
    }

    /// Reopens a task with a person's comment on the work so far.
    ///
    /// # Errors
    /// When a run has claimed it, it has subtasks, or the database cannot be written.
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

    /// Runs one unit of work on tasks in a transaction.
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

/// Deletes a task with its descendants; returns them from the top.
pub(super) fn delete_with_subtasks(
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
    // Deepest first, so that SQLite does not follow long cascades.
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

/// The descendants of a task, highest first.
const BELOW_BY_DEPTH: &str = "WITH RECURSIVE below(id, depth) AS (
        SELECT id, 1 FROM tasks WHERE parent = ?1
        UNION ALL SELECT child.id, depth + 1 FROM below CROSS JOIN tasks child ON child.parent = below.id)
    SELECT id FROM below ORDER BY depth, id";

/// The failed tasks without children among a task and its descendants.
const FAILED_LEAVES: &str = "WITH RECURSIVE below(id) AS (
        SELECT ?1
        UNION ALL SELECT child.id FROM below CROSS JOIN tasks child ON child.parent = below.id)
    SELECT task.id FROM below CROSS JOIN tasks task ON task.id = below.id
    WHERE task.status = 'failed' AND NOT EXISTS (SELECT 1 FROM tasks child WHERE child.parent = task.id)
    ORDER BY task.id";
