//! `task done`: a person says that a task is done.

use clap::Args;

use super::find_to_change;
use crate::context::Context;
use crate::error::CommandError;
use crate::waiting_work;

/// Say that a task is done
///
/// When all changes are committed, the commit that is checked out is written down with it, and other worktrees count the
/// task as done once they have that commit. With changes that are not committed it is done in this worktree only; after
/// the commit the same command adds it. A task that is done and unverified is accepted; work of it that waits on a branch lands.
#[derive(Debug, Args)]
#[command(after_help = "Example:
  ralph task done t-1a2b3c")]
pub(crate) struct DoneArgs {
    /// Its id, or the beginning of it
    #[arg(value_name = "ID")]
    id: String,
}

pub(super) fn cmd_done(context: &Context<'_>, args: &DoneArgs) -> Result<(), CommandError> {
    let (mut store, id) = find_to_change(context, &args.id)?;
    waiting_work::accept(context, &mut store, &id)?;
    context.ui.result("✅", &format!("Task done: {id}"))
}
