//! `learnings clear`: deletes all learnings, or only the staged ones.

use clap::Args;
use ralph_model::count;
use ralph_store::Clearing;
use serde_json::json;

use super::super::task::store_to_write;
use super::confirmed;
use super::stats::Staging;
use crate::context::Context;
use crate::error::CommandError;

/// Delete all learnings, or only the staged ones
///
/// Backs up the database first and prints the path of the backup. Rejections are deleted too, so a later run or import
/// can bring back what you rejected.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph learnings clear --staged         # pending, validated and rejected
  ralph learnings clear --yes              # everything, without asking")]
pub(crate) struct ClearArgs {
    /// Only pending, validated and rejected learnings
    #[arg(long)]
    staged: bool,
    /// Delete without asking
    #[arg(long, short)]
    yes: bool,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn cmd_clear(context: &Context<'_>, args: &ClearArgs) -> Result<(), CommandError> {
    // A missing database is not created.
    let Some(store) = context.facts()? else {
        return nothing(context, args);
    };
    let stats = store.learning_stats()?;
    drop(store);
    let (clearing, learnings) = if args.staged {
        (Clearing::Staged, Staging::of(&stats).total)
    } else {
        (Clearing::All, stats.by_status.values().sum())
    };
    if learnings == 0 {
        return nothing(context, args);
    }
    if !args.yes {
        let learnings = count(
            usize::try_from(learnings).unwrap_or(usize::MAX),
            "learning",
            "learnings",
        );
        confirmed(context, &format!("Delete {learnings} for good?"))?;
    }
    let cleared = store_to_write(context)?.clear_learnings(clearing, context.clock().now())?;
    let Some(cleared) = cleared else {
        return nothing(context, args);
    };
    let copy = context.project.shown(&cleared.copy).to_string();
    if args.json {
        return context.ui.json(&json!({ "deleted": cleared.learnings, "copy": copy }));
    }
    context.ui.status(&format!("The database as it was is kept in {copy}."));
    let learnings = count(cleared.learnings, "learning", "learnings");
    context.ui.result("🗑️ ", &format!("{learnings} deleted"))
}

fn nothing(context: &Context<'_>, args: &ClearArgs) -> Result<(), CommandError> {
    if args.json {
        context.ui.json(&json!({ "deleted": 0, "copy": null }))
    } else {
        context.ui.data("There is nothing to clear.\n")
    }
}
