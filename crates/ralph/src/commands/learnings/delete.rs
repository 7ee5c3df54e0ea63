//! `learnings delete`: takes learnings away for good.

use clap::Args;
use ralph_model::{LearningId, count};
use ralph_store::DeletedLearnings;

use super::super::task::in_short;
use super::{confirmed, find_to_change};
use crate::cli::{Format, FormatArgs};
use crate::context::Context;
use crate::error::CommandError;

/// Delete learnings for good
///
/// `ralph learnings reject` keeps on record that they do not hold, so that they are not learned again; `ralph learnings prune`
/// can be taken back. This can not. A learning that a deleted one had taken the place of does not hold again: it is rejected
/// until you promote it.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph learnings delete learn-1a2b3c4d
  ralph learnings delete 1a2b 3c4d --yes   # does not ask")]
pub(crate) struct DeleteArgs {
    /// Ids, or their beginnings
    #[arg(value_name = "ID", required = true)]
    ids: Vec<String>,
    /// Do not ask
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
            // One that cannot be read can still be deleted.
            let text = store.learning(id).ok().flatten();
            let text = text.map(|learning| in_short(&learning.content));
            context.ui.status(&format!("{id}  {}", text.unwrap_or_default()));
        }
        let them = count(ids.len(), "learning", "learnings");
        confirmed(context, &format!("Delete {them} for good?"))?;
    }
    let done = store.delete_learnings(&ids, context.clock().now())?;
    tell_released(context, &done);
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

/// What became of others that one of the deleted ones stood for.
fn tell_released(context: &Context<'_>, done: &DeletedLearnings) {
    let named = |ids: &[LearningId]| ids.iter().map(LearningId::as_str).collect::<Vec<_>>().join(" ");
    let (rejected, freed) = (named(&done.rejected), named(&done.freed));
    let (their, them) = match done.rejected.len() {
        1 => ("its", "it"),
        _ => ("their", "them"),
    };
    if !rejected.is_empty() {
        context.ui.status(&format!(
            "Rejected, because what took {their} place is deleted: {rejected}. `ralph learnings promote {rejected}` lets {them} \
             hold again."
        ));
    }
    if !freed.is_empty() {
        context.ui.status(&format!(
            "Merged into what is deleted, and still taken out: {freed}. `ralph learnings restore {freed}` brings back what they said."
        ));
    }
}
