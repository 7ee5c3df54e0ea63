//! `ralph diff`: the changes of a task, as git shows them.

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

/// How a shell says that a program wrote to a pager that was left.
const PIPE_CLOSED: i32 = 141;

/// Show what a task changed
///
/// Shows the commit that landed, or the branch of work that has not landed, with git: its pager, its colours, and the
/// `core.pager` that you have configured.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph diff t-1a2b3c
  ralph diff t-1a2b3c | git apply --reverse")]
pub(crate) struct DiffArgs {
    /// Id of the task, or its beginning
    #[arg(value_name = "TASK")]
    task: String,
}

pub(crate) fn cmd_diff(context: &Context<'_>, args: &DiffArgs) -> Result<(), CommandError> {
    let (store, task) = find_to_read(context, &args.task)?;
    let range = range_of(context, &store, &task)?.ok_or_else(|| {
        CommandError::new(format!("git has no changes of {task}"))
            .hint("work in the project itself is in the diff.patch of each iteration, below .ralph/runs/")
    })?;
    show(context, &range)
}

/// Shows the changes between two commits with git, which uses the user's pager.
pub(super) fn show(context: &Context<'_>, range: &str) -> Result<(), CommandError> {
    let shown = command("git")
        .arg("-C")
        .arg(&context.project.root)
        .arg("diff")
        // Git colours what it gives to a pager, whatever this variable says.
        .args(env::no_color().then_some("--no-color"))
        .arg(range)
        .status()
        .map_err(|error| CommandError::new(format!("git could not be started: {error}")))?;
    // The user may leave the pager early.
    let has_left = shown.signal() == Some(Signal::PIPE.as_raw()) || shown.code() == Some(PIPE_CLOSED);
    match shown.success() || has_left {
        true => Ok(()),
        false => Err(CommandError::new(format!("git could not show {range}"))),
    }
}

/// The commits between which the changes of a task are, as far as git has them.
pub(super) fn range_of(context: &Context<'_>, store: &Store, task: &TaskId) -> Result<Option<String>, CommandError> {
    let commits = store.commits_of(&RollbackTarget::Task(task.clone()))?;
    let (from, to) = match (commits.first(), store.checkout_of(task)?) {
        (Some(TaskCommit { commit, .. }), _) => (format!("{commit}^"), commit.clone()),
        (None, Some(record)) => (record.base_commit, format!("refs/heads/{}", record.branch)),
        (None, None) => return Ok(None),
    };
    let is_there = |commit: &str| {
        let commit = format!("{commit}^{{commit}}");
        let answer = Git::question(&context.project.root).run(["rev-parse", "--verify", "--quiet", &commit]);
        answer.is_ok_and(|answer| answer.status.success())
    };
    Ok((is_there(&from) && is_there(&to)).then(|| format!("{from}..{to}")))
}
