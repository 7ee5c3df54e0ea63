//! `task delete`: deletes a task and its subtasks.

use clap::Args;
use ralph_model::count;

use super::find_to_change;
use crate::context::Context;
use crate::error::CommandError;

/// Delete a task and its subtasks; undo with `task restore`
#[derive(Debug, Args)]
#[command(after_help = "Example:
  ralph task delete t-1a2b3c")]
pub(crate) struct DeleteArgs {
    /// Id, or a unique prefix
    #[arg(value_name = "ID")]
    id: String,
}

pub(super) fn cmd_delete(context: &Context<'_>, args: &DeleteArgs) -> Result<(), CommandError> {
    let (mut store, id) = find_to_change(context, &args.id)?;
    let deleted = store.delete_task(&id, context.clock().now())?;
    let subtasks = deleted.len().saturating_sub(1);
    if subtasks > 0 {
        let subtasks = count(subtasks, "subtask", "subtasks");
        context.ui.status(&format!("Also deleted {subtasks}."));
    }
    context.ui.result("🗑️ ", &format!("Task deleted: {id}"))?;
    context.ui.hint(&format!("undo with `ralph task restore {id}`"));
    Ok(())
}
