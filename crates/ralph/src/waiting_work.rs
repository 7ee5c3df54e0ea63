//! Work that waits on its branch for a person, because it changed what its evidence rests on: accepting it lands it.

use ralph_loop::{Base, BranchError, land_branch, remove_checkout};
use ralph_model::{TaskId, Unverified};
use ralph_store::{CheckoutRecord, DoneIn, Store};

use crate::commands::rollback::short_commit;
use crate::commands::task::done_here;
use crate::context::Context;
use crate::error::CommandError;
use crate::state_folder::StateFolder;

/// Marks a task as done by a person's word. Work that waits for review lands first.
pub(crate) fn accept(context: &Context<'_>, store: &mut Store, task: &TaskId) -> Result<(), CommandError> {
    let record = waiting(store, task)?;
    let done = match &record {
        Some(record) => land(context, record)?,
        None => done_here(context),
    };
    store.finish_task(task, &done, context.clock().now())?;
    let Some(record) = record else {
        return Ok(());
    };
    if let Some(folder) = StateFolder::find(&context.project) {
        remove_checkout(&context.project.root, &folder.work(), (task, &record.branch))?;
    }
    store.forget_checkout(task)?;
    Ok(())
}

/// The checkout whose work waits for the review of its task.
fn waiting(store: &Store, task: &TaskId) -> Result<Option<CheckoutRecord>, CommandError> {
    let unverified = store.task(task)?.and_then(|task| task.unverified);
    let is_waiting = matches!(unverified, Some(Unverified::EvidenceChanged(_)));
    Ok(store.checkout_of(task)?.filter(|_| is_waiting))
}

fn land(context: &Context<'_>, record: &CheckoutRecord) -> Result<DoneIn, CommandError> {
    let base = Base::new(record.base.clone());
    let commit = land_branch(&context.project.root, &base, (&record.branch, &record.base_commit))
        .map_err(|error| refused(&record.task, &record.branch, &error))?;
    let (task, branch) = (&record.task, base.branch());
    context.ui.status(&match &commit {
        Some(commit) => format!("Landed the work of {task} on {branch} as {}.", short_commit(commit)),
        None => format!("{branch} has the work of {task} already."),
    });
    Ok(DoneIn {
        worktree: record.base.clone(),
        commit,
    })
}

fn refused(task: &TaskId, branch: &str, error: &BranchError) -> CommandError {
    let refused = CommandError::new(format!(
        "the work of {task} was not accepted, because it cannot land: {error}"
    ));
    match error {
        BranchError::Conflict { .. } => refused.hint(format!("`git merge {branch}` shows the conflicts")),
        BranchError::InTheWay(_) => refused.hint("commit or stash that change, then try again"),
        BranchError::Missing(_) => refused.hint(format!("`ralph task reset {task}` lets it be done anew")),
        BranchError::Git(_) => refused,
    }
}
