//! Tasks that agents propose. A proposed task has no parent, feature or dependencies, so it does not affect other
//! tasks: the agent's wishes are kept beside it until a person accepts it.

use jiff::Timestamp;
use ralph_model::{Entropy, NewTask, Task, TaskId, TaskProposal, TaskStatus};
use rusqlite::{Transaction, params};

use super::Store;
use super::columns::{moment, to_json};
use super::dependency_cycles::dependency_cycle;
use super::task_error::{TaskError, Trouble};
use super::task_rows::log;
use super::task_steps::{existing, existing_feature, insert, put_update};
use super::tasks::{FeatureChange, ParentChange, TaskUpdate};
use super::transitions::changed;

impl Store {
    /// Stores a task that an agent proposes.
    ///
    /// # Errors
    /// When its parent, feature or a dependency does not exist, or the database cannot be written.
    pub fn propose_task(
        &mut self,
        new: &NewTask,
        entropy: &mut dyn Entropy,
        now: Timestamp,
    ) -> Result<Task, TaskError> {
        self.change_tasks(|transaction| {
            for named in new.parent.iter().chain(&new.after) {
                existing(transaction, named)?;
            }
            if let Some(feature) = &new.feature {
                existing_feature(transaction, feature)?;
            }
            let proposal = TaskProposal {
                parent: new.parent.clone(),
                feature: new.feature.clone(),
                after: new.after.clone(),
            };
            let alone = NewTask {
                parent: None,
                feature: None,
                after: Vec::new(),
                ..new.clone()
            };
            let id = insert(transaction, &alone, entropy, now)?;
            transaction
                .prepare_cached("UPDATE tasks SET status = 'proposed', proposal = ?2 WHERE id = ?1")?
                .execute(params![id.as_str(), to_json(&proposal)?])?;
            log(transaction, &id, "Proposed: a person accepts or rejects it.", now)?;
            existing(transaction, &id)
        })
    }

    /// Accepts a proposed task: opens it with the requested parent, feature and dependencies, as far as they still
    /// exist.
    ///
    /// # Errors
    /// When it is not proposed, it needs a task that is itself only proposed, a dependency cycle would result, or the
    /// database cannot be written.
    pub fn accept_task(&mut self, id: &TaskId, now: Timestamp) -> Result<Task, TaskError> {
        self.change_tasks(|transaction| {
            let task = existing(transaction, id)?;
            let Some(proposal) = task.proposal.clone() else {
                return Err(TaskError::NotProposed { task: task.id }.into());
            };
            transaction
                .prepare_cached("UPDATE tasks SET status = 'pending', proposal = NULL, updated_at = ?2 WHERE id = ?1")?
                .execute(params![id.as_str(), moment(now)])?;
            log(transaction, id, "Accepted.", now)?;
            let update = wanted(transaction, &proposal)?;
            put_update(transaction, &existing(transaction, id)?, &update, now)?;
            if let Some(steps) = dependency_cycle(transaction, std::slice::from_ref(id))? {
                return Err(TaskError::DependencyCycle { steps }.into());
            }
            changed(transaction, std::slice::from_ref(id), now)?;
            existing(transaction, id)
        })
    }
}

/// The requested relations that still exist.
fn wanted(transaction: &Transaction<'_>, proposal: &TaskProposal) -> Result<TaskUpdate, Trouble> {
    let still_there = |id: &TaskId| match existing(transaction, id) {
        Ok(task) => Ok(Some(task.id)),
        Err(Trouble::Task(TaskError::Unknown { .. })) => Ok(None),
        Err(other) => Err(other),
    };
    let parent = proposal.parent.as_ref().map(still_there).transpose()?.flatten();
    let mut add_after = Vec::new();
    for after in &proposal.after {
        add_after.extend(still_there(after)?);
    }
    let feature = match &proposal.feature {
        Some(feature) => existing_feature(transaction, feature).map(|_| feature.clone()).ok(),
        None => None,
    };
    Ok(TaskUpdate {
        parent: parent.map_or(ParentChange::Keep, ParentChange::Under),
        feature: feature.map_or(FeatureChange::Keep, FeatureChange::Of),
        add_after,
        ..TaskUpdate::default()
    })
}

/// Refuses what is only possible with an accepted task: finishing, failing, adding subtasks or dependents.
pub(super) fn refuse_proposed(task: &Task) -> Result<(), TaskError> {
    match task.status {
        TaskStatus::Proposed => Err(TaskError::Proposed { task: task.id.clone() }),
        _ => Ok(()),
    }
}
