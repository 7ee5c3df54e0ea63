//! `ralph diff`: shows the changes of a task with git.

use std::os::unix::process::ExitStatusExt;

use clap::Args;
use ralph_model::TaskId;
use ralph_process::command;
use ralph_process::git::Git;
use ralph_store::{RollbackTarget, Store, TaskCommit};
use rustix::process::Signal;

use super::task::find_to_read;
use crate::context::Context;
use crate::env;
use crate::error::CommandError;

/// The exit code of a shell for a program whose pager was closed.
const PIPE_CLOSED: i32 = 141;

/// Show what a task changed
///
/// Shows the landed commit, or the branch of work that has not landed, with git and your configured pager and colors.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph diff t-1a2b3c
  ralph diff t-1a2b3c | git apply --reverse")]
pub(crate) struct DiffArgs {
    /// Id or id prefix of the task
    #[arg(value_name = "TASK")]
    task: String,
}

pub(crate) fn cmd_diff(context: &Context<'_>, args: &DiffArgs) -> Result<(), CommandError> {
    let (store, task) = find_to_read(context, &args.task)?;
    let range = range_of(context, &store, &task)?.ok_or_else(|| {
        CommandError::new(format!("git has no changes for {task}"))
            .hint("for work in the project folder, see the diff.patch of each iteration in .ralph/runs/")
    })?;
    show(context, &range)
}

pub(super) fn show(context: &Context<'_>, range: &str) -> Result<(), CommandError> {
    let shown = command("git")
        .arg("-C")
        .arg(&context.project.root)
        .arg("diff")
        // Git ignores NO_COLOR when it writes to a pager.
        .args(env::no_color().then_some("--no-color"))
        .arg(range)
        .status()
        .map_err(|error| CommandError::new(format!("cannot start git: {error}")))?;
    // The user may close the pager early.
    let is_pager_closed = shown.signal() == Some(Signal::PIPE.as_raw()) || shown.code() == Some(PIPE_CLOSED);
    match shown.success() || is_pager_closed {
        true => Ok(()),
        false => Err(CommandError::new(format!("git failed to show {range}"))),
    }
}

/// The commit range with the changes of a task, if git has it.
pub(super) fn range_of(context: &Context<'_>, store: &Store, task: &TaskId) -> Result<Option<String>, CommandError> {
    let commits = store.commits_of(&RollbackTarget::Task(task.clone()))?;
    let (from, to) = match (commits.first(), store.checkout_of(task)?) {
        (Some(TaskCommit { commit, .. }), _) => (format!("{commit}^"), commit.clone()),
        (None, Some(record)) => (record.base_commit, format!("refs/heads/{}", record.branch)),
        (None, None) => return Ok(None),
    };
    let exists = |commit: &str| {
        let commit = format!("{commit}^{{commit}}");
        let answer = Git::question(&context.project.root).run(["rev-parse", "--verify", "--quiet", &commit]);
        answer.is_ok_and(|answer| answer.status.success())
    };
    Ok((exists(&from) && exists(&to)).then(|| format!("{from}..{to}")))
}
