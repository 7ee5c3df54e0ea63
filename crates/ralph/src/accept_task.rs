//! Accepts a task that needs review: lands its branch, if it has one, and marks it as done.

use ralph_loop::{Base, BranchError, land_branch, remove_checkout};
use ralph_model::{TaskId, Unverified};
use ralph_store::{CheckoutRecord, DoneIn, Store};

use crate::commands::rollback::short_commit;
use crate::commands::task::done_here;
use crate::context::Context;
use crate::error::CommandError;
use crate::state_folder::StateFolder;

/// Marks a task as done on a person's decision. Work that awaits review lands first.
pub(crate) fn accept(context: &Context<'_>, store: &mut Store, task: &TaskId) -> Result<(), CommandError> {
    let record = awaiting_review(store, task)?;
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

/// The checkout of a task whose work awaits review.
fn awaiting_review(store: &Store, task: &TaskId) -> Result<Option<CheckoutRecord>, CommandError> {
    let unverified = store.task(task)?.and_then(|task| task.unverified);
    let needs_review = matches!(unverified, Some(Unverified::EvidenceChanged(_)));
    Ok(store.checkout_of(task)?.filter(|_| needs_review))
}

fn land(context: &Context<'_>, record: &CheckoutRecord) -> Result<DoneIn, CommandError> {
    let base = Base::new(record.base.clone());
    let commit = land_branch(&context.project.root, &base, (&record.branch, &record.base_commit))
        .map_err(|error| refused(&record.task, &record.branch, &error))?;
    let (task, branch) = (&record.task, base.branch());
    context.ui.status(&match &commit {
        Some(commit) => format!("Landed the work of {task} on {branch} as {}.", short_commit(commit)),
        None => format!("{branch} already contains the work of {task}."),
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
        BranchError::Conflict { .. } => refused.hint(format!("see the conflicts with `git merge {branch}`")),
        BranchError::InTheWay(_) => refused.hint("commit or stash that change and try again"),
        BranchError::Missing(_) => refused.hint(format!("start over with `ralph task reset {task}`")),
        BranchError::Git(_) => refused,
    }
}
