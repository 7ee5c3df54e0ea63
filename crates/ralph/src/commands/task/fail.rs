//! `task fail`: marks a task as failed.

use std::borrow::Cow;

use clap::Args;
use ralph_memory::capture::accept;

use super::find_to_change;
use crate::commands::notes::SecretArgs;
use crate::context::Context;
use crate::error::CommandError;

/// Mark a task as failed; no run takes it until it is reset
#[derive(Debug, Args)]
#[command(after_help = "Example:
  ralph task fail t-1a2b3c --reason \"the service is switched off\"")]
pub(crate) struct FailArgs {
    /// Id, or a unique prefix
    #[arg(value_name = "ID")]
    id: String,
    /// Reason
    #[arg(
        long,
        value_name = "TEXT",
        default_value = "",
        hide_default_value = true,
        allow_hyphen_values = true
    )]
    reason: String,
    #[command(flatten)]
    secrets: SecretArgs,
}

pub(super) fn cmd_fail(context: &Context<'_>, args: &FailArgs) -> Result<(), CommandError> {
    let reason = match args.reason.trim() {
        "" => Cow::Borrowed(""),
        reason => accept(reason, args.secrets.policy())?,
    };
    let (mut store, id) = find_to_change(context, &args.id)?;
    store.fail_task(&id, &reason, context.clock().now())?;
    context.ui.result("❌", &format!("Task failed: {id}"))
}
