//! `task delete`: takes a task away.

use clap::Args;
use ralph_model::count;

use super::find_to_change;
use crate::context::Context;
use crate::error::CommandError;

/// Delete a task with everything below it; what was tried stays on record, and `task restore` undoes it
#[derive(Debug, Args)]
#[command(after_help = "Example:
  ralph task delete t-1a2b3c")]
pub(crate) struct DeleteArgs {
    /// Its id, or the beginning of it
    #[arg(value_name = "ID")]
    id: String,
}

pub(super) fn cmd_delete(context: &Context<'_>, args: &DeleteArgs) -> Result<(), CommandError> {
    let (mut store, id) = find_to_change(context, &args.id)?;
    let deleted = store.delete_task(&id, context.clock().now())?;
    let parts = deleted.len().saturating_sub(1);
    if parts > 0 {
        let parts = count(parts, "task", "tasks");
        context.ui.status(&format!("With {parts} below it."));
    }
    context.ui.result("🗑️ ", &format!("Task deleted: {id}"))?;
    context.ui.hint(&format!("`ralph task restore {id}` undoes it."));
    Ok(())
}
