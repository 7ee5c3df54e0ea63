//! `learnings delete`: deletes learnings permanently.

use clap::Args;
use ralph_model::{LearningId, count};
use ralph_store::DeletedLearnings;

use super::super::task::in_short;
use super::{confirmed, find_to_change};
use crate::cli::{Format, FormatArgs};
use crate::context::Context;
use crate::error::CommandError;

/// Delete learnings permanently
///
/// To keep a learning from coming back, use `ralph learnings reject` instead; to retire it for now, `ralph learnings
/// prune`. Deleting cannot be undone. A learning that was superseded by a deleted one is rejected until you promote it.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph learnings delete learn-1a2b3c4d
  ralph learnings delete 1a2b 3c4d --yes   # without asking")]
pub(crate) struct DeleteArgs {
    /// Ids, or unique prefixes
    #[arg(value_name = "ID", required = true)]
    ids: Vec<String>,
    /// Delete without asking
    #[arg(long, short)]
    yes: bool,
    #[command(flatten)]
    format: FormatArgs,
}

impl DeleteArgs {
    pub(super) fn ids(&self) -> Vec<&str> {
        self.ids.iter().map(String::as_str).collect()
    }
}

pub(super) fn cmd_delete(context: &Context<'_>, args: &DeleteArgs) -> Result<(), CommandError> {
    let (mut store, ids) = find_to_change(context, &args.ids)?;
    if !args.yes {
        for id in &ids {
            let text = store.learning(id)?.map(|learning| in_short(&learning.content));
            context.ui.status(&format!("{id}  {}", text.unwrap_or_default()));
        }
        let them = count(ids.len(), "learning", "learnings");
        confirmed(context, &format!("Delete {them} for good?"))?;
    }
    let done = store.delete_learnings(&ids, context.clock().now())?;
    report_released(context, &done);
    let deleted = done.deleted;
    match args.format.get() {
        Format::Json => context.ui.json(&deleted),
        Format::Quiet => {
            let lines: String = deleted.iter().map(|id| format!("{id}\n")).collect();
            context.ui.data(&lines)
        }
        Format::Table | Format::Markdown => {
            for id in &deleted {
                context.ui.result("🗑️ ", &format!("Learning deleted: {id}"))?;
            }
            Ok(())
        }
    }
}

/// Reports what happened to learnings that a deleted one had superseded or absorbed.
fn report_released(context: &Context<'_>, done: &DeletedLearnings) {
    let named = |ids: &[LearningId]| ids.iter().map(LearningId::as_str).collect::<Vec<_>>().join(" ");
    let (rejected, freed) = (named(&done.rejected), named(&done.freed));
    if !rejected.is_empty() {
        context.ui.status(&format!(
            "Rejected, because the learning that superseded it was deleted: {rejected}. Reactivate with \
            `ralph learnings promote {rejected}`."
        ));
    }
    if !freed.is_empty() {
        context.ui.status(&format!(
            "Still retired, after being merged into a deleted learning: {freed}. Restore with `ralph learnings restore {freed}`."
        ));
    }
}
