//! `task done`: marks a task as done.

use clap::Args;

use super::find_to_change;
use crate::accept_task;
use crate::context::Context;
use crate::error::CommandError;

/// Mark a task as done
///
/// If all changes are committed, HEAD is recorded with the task, and other worktrees count it as done once they have
/// that commit. With uncommitted changes it is done in this worktree only; run the command again after committing. For
/// an unverified task this accepts the work, and merges its branch if it has one.
#[derive(Debug, Args)]
#[command(after_help = "Example:
  ralph task done t-1a2b3c")]
pub(crate) struct DoneArgs {
    /// Id, or a unique prefix
    #[arg(value_name = "ID")]
    id: String,
}

pub(super) fn cmd_done(context: &Context<'_>, args: &DoneArgs) -> Result<(), CommandError> {
    let (mut store, id) = find_to_change(context, &args.id)?;
    accept_task::accept(context, &mut store, &id)?;
    context.ui.result("✅", &format!("Task done: {id}"))
}
