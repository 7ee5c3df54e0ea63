//! Tasks that agents propose. A proposed task has no parent, feature or dependencies: where the agent wants it is kept beside
//! it until a person accepts it, so that it changes nothing for other tasks.

use jiff::Timestamp;
use ralph_model::{Entropy, NewTask, Task, TaskId, TaskProposal, TaskStatus};
use rusqlite::{Transaction, params};

use super::Store;
use super::columns::{moment, to_json};
use super::rings::ring;
use super::task_error::{TaskError, Trouble};
use super::task_rows::log;
use super::task_steps::{existing, existing_feature, insert, put_update};
use super::tasks::{FeatureChange, ParentChange, TaskUpdate};
use super::transitions::changed;

impl Store {
    /// Stores a task that an agent proposes.
    ///
    /// # Errors
    /// When its parent, its feature or what it comes after is not there, or the database cannot be written.
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

    /// Accepts a proposed task: it is open, where the agent wanted it. What was deleted since is left out.
    ///
    /// # Errors
    /// When it is not proposed, when it needs a task that is itself only proposed, when it could never be done, or the
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
            if let Some(steps) = ring(transaction, std::slice::from_ref(id))? {
                return Err(TaskError::Ring { steps }.into());
            }
            changed(transaction, std::slice::from_ref(id), now)?;
            existing(transaction, id)
        })
    }
}

/// What a proposal asks for, as far as it is still there.
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

/// Refuses what only an accepted task can be: done, failed, a parent, something that others wait for.
pub(super) fn refuse_proposed(task: &Task) -> Result<(), TaskError> {
    match task.status {
        TaskStatus::Proposed => Err(TaskError::Proposed { task: task.id.clone() }),
        _ => Ok(()),
    }
}
