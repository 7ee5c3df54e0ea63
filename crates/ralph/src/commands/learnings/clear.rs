//! `learnings clear`: takes all learnings away, or all that wait.

use clap::Args;
use ralph_model::count;
use ralph_store::Clearing;
use serde_json::json;

use super::super::task::store_to_write;
use super::confirmed;
use super::stats::Staging;
use crate::context::Context;
use crate::error::CommandError;

/// Delete all learnings for good, or with --staged all that were not promoted
///
/// A copy of the database is made before, and named: until you delete it, nothing is lost. What you rejected is forgotten with
/// your reason, so a run or an import that teaches it again may bring it back.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph learnings clear --staged           # what waits, and what was rejected
  ralph learnings clear --yes              # everything; does not ask")]
pub(crate) struct ClearArgs {
    /// Only those that wait for a judgement or were rejected
    #[arg(long)]
    staged: bool,
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
    /// Write what was done as JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn cmd_clear(context: &Context<'_>, args: &ClearArgs) -> Result<(), CommandError> {
    // Where there is no database there is nothing to clear, and none is made.
    let Some(store) = context.facts()? else {
        return nothing(context, args);
    };
    let stats = store.learning_stats()?;
    drop(store);
    let (clearing, lessons) = if args.staged {
        (Clearing::Staged, Staging::of(&stats).total)
    } else {
        (Clearing::All, stats.by_status.values().sum())
    };
    if lessons == 0 {
        return nothing(context, args);
    }
    if !args.yes {
        let lessons = count(usize::try_from(lessons).unwrap_or(usize::MAX), "learning", "learnings");
        confirmed(context, &format!("Delete {lessons} for good?"))?;
    }
    let cleared = store_to_write(context)?.clear_learnings(clearing, context.clock().now())?;
    let Some(cleared) = cleared else {
        return nothing(context, args);
    };
    let copy = context.project.shown(&cleared.copy).to_string();
    if args.json {
        return context.ui.json(&json!({ "deleted": cleared.lessons, "copy": copy }));
    }
    context.ui.status(&format!("The database as it was is kept in {copy}."));
    let lessons = count(cleared.lessons, "learning", "learnings");
    context.ui.result("🗑️ ", &format!("{lessons} deleted"))
}

fn nothing(context: &Context<'_>, args: &ClearArgs) -> Result<(), CommandError> {
    if args.json {
        context.ui.json(&json!({ "deleted": 0, "copy": null }))
    } else {
        context.ui.data("There is nothing to clear.\n")
    }
}
