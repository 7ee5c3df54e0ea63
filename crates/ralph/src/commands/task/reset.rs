//! `task reset`: reopens a task.

use clap::Args;
use ralph_store::Reach;

use super::find_to_change;
use crate::context::Context;
use crate::error::CommandError;

/// Reopen a task with all its retries
///
/// Earlier attempts stay on record: the next agent gets their failure reports, and they count for the choice of its
/// model.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph task reset t-1a2b3c
  ralph task reset t-1a2b3c --all        # also failed subtasks")]
pub(crate) struct ResetArgs {
    /// Id, or a unique prefix
    #[arg(value_name = "ID")]
    id: String,
    /// Reset the task and all subtasks that failed
    #[arg(long)]
    all: bool,
}

pub(super) fn cmd_reset(context: &Context<'_>, args: &ResetArgs) -> Result<(), CommandError> {
    let (mut store, id) = find_to_change(context, &args.id)?;
    let reach = if args.all { Reach::FailedBelow } else { Reach::Itself };
    let reset = store.reset_task(&id, reach, context.clock().now())?;
    if reset.is_empty() {
        return context.ui.data("No failed tasks to reset.\n");
    }
    reset
        .iter()
        .try_for_each(|task| context.ui.result("🔄", &format!("Task reset: {}", task.id)))
}
