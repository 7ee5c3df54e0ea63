//! `task fail`: a person gives a task up.

use clap::Args;

use super::find_to_change;
use crate::context::Context;
use crate::error::CommandError;

/// Give a task up: it has failed, and no run takes it until it is reset
#[derive(Debug, Args)]
#[command(after_help = "Example:
  ralph task fail t-1a2b3c --reason \"the service is switched off\"")]
pub(crate) struct FailArgs {
    /// Its id, or the beginning of it
    #[arg(value_name = "ID")]
    id: String,
    /// Why
    #[arg(
        long,
        value_name = "TEXT",
        default_value = "",
        hide_default_value = true,
        allow_hyphen_values = true
    )]
    reason: String,
}

pub(super) fn cmd_fail(context: &Context<'_>, args: &FailArgs) -> Result<(), CommandError> {
    if args.reason.contains('\0') {
        return Err(CommandError::usage("the reason holds a NUL character"));
    }
    let (mut store, id) = find_to_change(context, &args.id)?;
    store.fail_task(&id, &args.reason, context.clock().now())?;
    context.ui.result("❌", &format!("Task failed: {id}"))
}
