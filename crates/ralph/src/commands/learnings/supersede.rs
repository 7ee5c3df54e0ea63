//! `learnings supersede`: a learning takes the place of another.

use clap::Args;

use super::find_to_change;
use crate::context::Context;
use crate::error::CommandError;

/// Say that a learning has taken the place of another one, which no agent sees any more
///
/// The old one stays on record, and `ralph learnings promote` gives it its place back. The new one holds from now on, if it was
/// still waiting.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph learnings conflicts            # which ones contradict each other
  ralph learnings supersede 1a2b 3c4d  # 3c4d holds, and 1a2b does not any more")]
pub(crate) struct SupersedeArgs {
    /// The one that goes: its id, or the beginning of it
    #[arg(value_name = "OLD")]
    old: String,
    /// The one that takes its place
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
            context
                .ui
                .status(&format!("{new} had taken the place of {old} already."));
        }
    }
    Ok(())
}
