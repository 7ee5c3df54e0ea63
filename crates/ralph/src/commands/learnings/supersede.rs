//! `learnings supersede`: marks a learning as superseded by another.

use clap::Args;

use super::find_to_change;
use crate::context::Context;
use crate::error::CommandError;

/// Supersede a learning with another one
///
/// Agents no longer get the old one. It stays on record; undo with `ralph learnings promote`. The new one becomes
/// active if it was not.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph learnings conflicts            # lists conflicts
  ralph learnings supersede 1a2b 3c4d  # 3c4d replaces 1a2b")]
pub(crate) struct SupersedeArgs {
    /// Learning to supersede: id, or a unique prefix
    #[arg(value_name = "OLD")]
    old: String,
    /// Learning that replaces it
    #[arg(value_name = "NEW")]
    new: String,
}

impl SupersedeArgs {
    pub(super) fn ids(&self) -> Vec<&str> {
        vec![&self.old, &self.new]
    }
}

pub(super) fn cmd_supersede(context: &Context<'_>, args: &SupersedeArgs) -> Result<(), CommandError> {
    let (mut store, old) = find_to_change(context, std::slice::from_ref(&args.old))?;
    let new = store.find_learning(&args.new)?;
    for old in &old {
        if store.supersede_learning(old, &new, context.clock().now())? {
            context
                .ui
                .result("🔁", &format!("Learning superseded: {old} by {new}"))?;
        } else {
            context.ui.status(&format!("{old} is already superseded by {new}."));
        }
    }
    Ok(())
}
