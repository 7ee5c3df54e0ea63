//! `learnings validate`: judges what waits.

use clap::Args;
use ralph_model::{Learning, LearningStatus, count};
use serde_json::json;

use super::super::task::store_to_write;
use super::find_to_change;
use super::judge::tell_passed_over;
use crate::context::Context;
use crate::error::CommandError;

/// Judge pending learnings: each can be true, or is rejected for a reason
///
/// What can be true is validated, and waits: `ralph learnings promote` says that it holds.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph learnings validate                 # all that are pending
  ralph learnings validate 1a2b 3c4d
  ralph learnings validate --json | jq .rejected")]
pub(crate) struct ValidateArgs {
    /// Ids, or their beginnings; without one all that are pending
    #[arg(value_name = "ID")]
    ids: Vec<String>,
    /// Write what became of them as JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn cmd_validate(context: &Context<'_>, args: &ValidateArgs) -> Result<(), CommandError> {
    let now = context.clock().now();
    let judged = if !args.ids.is_empty() {
        let (mut store, ids) = find_to_change(context, &args.ids)?;
        store.validate_learnings(&ids, now)?.judged
    } else if context.facts()?.is_some() {
        let mut store = store_to_write(context)?;
        let judged = store.validate_learnings(&[], now)?;
        tell_passed_over(context, &store, &judged);
        judged.judged
    } else {
        Vec::new()
    };
    let of = |status: LearningStatus| judged.iter().filter(|learning| learning.status == status).count();
    let (validated, rejected) = (of(LearningStatus::Validated), of(LearningStatus::Rejected));
    if args.json {
        return context
            .ui
            .json(&json!({ "validated": validated, "rejected": rejected, "learnings": judged }));
    }
    if judged.is_empty() {
        return context.ui.data("Nothing is pending.\n");
    }
    for Learning { id, reason, .. } in &judged {
        match reason {
            Some(reason) => context.ui.result("❌", &format!("Learning rejected: {id}: {reason}"))?,
            None => context.ui.result("✅", &format!("Learning validated: {id}"))?,
        }
    }
    let judged = count(judged.len(), "learning", "learnings");
    context
        .ui
        .status(&format!("{judged} judged: {validated} validated, {rejected} rejected."));
    if validated > 0 {
        context
            .ui
            .hint("`ralph learnings promote --all` says that what is validated holds.");
    }
    Ok(())
}
