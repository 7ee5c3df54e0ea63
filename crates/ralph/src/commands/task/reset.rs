//! `task reset`: a task is to be done anew.

use clap::Args;
use ralph_store::Reach;

use super::find_to_change;
use crate::context::Context;
use crate::error::CommandError;

/// Open a task again, with all its retries
///
/// What was tried stays known: the next agent is told how the earlier attempts failed, and they count for the model that it
/// gets.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph task reset t-1a2b3c
  ralph task reset t-1a2b3c --all        # everything below it that failed")]
pub(crate) struct ResetArgs {
    /// Its id, or the beginning of it
    #[arg(value_name = "ID")]
    id: String,
    /// The task and everything below it, as far as it has failed
    #[arg(long)]
    all: bool,
}

pub(super) fn cmd_reset(context: &Context<'_>, args: &ResetArgs) -> Result<(), CommandError> {
    let (mut store, id) = find_to_change(context, &args.id)?;
    let reach = if args.all { Reach::FailedBelow } else { Reach::Itself };
    let reset = store.reset_task(&id, reach, context.clock().now())?;
    if reset.is_empty() {
        return context.ui.data("Nothing has failed there.\n");
    }
    reset
        .iter()
        .try_for_each(|task| context.ui.result("🔄", &format!("Task reset: {}", task.id)))
}
