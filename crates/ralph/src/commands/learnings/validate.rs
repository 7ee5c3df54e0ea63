//! `learnings validate`: checks pending learnings.

use clap::Args;
use ralph_model::{Learning, LearningStatus, count};
use serde_json::json;

use super::super::task::store_to_write;
use super::find_to_change;
use super::judge::warn_skipped;
use crate::context::Context;
use crate::error::CommandError;

/// Validate pending learnings, or reject them with a reason
///
/// Validated learnings become active with `ralph learnings promote`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph learnings validate                 # all pending ones
  ralph learnings validate 1a2b 3c4d
  ralph learnings validate --json | jq .rejected")]
pub(crate) struct ValidateArgs {
    /// Ids, or unique prefixes; all pending learnings by default
    #[arg(value_name = "ID")]
    ids: Vec<String>,
    /// Print the result as JSON
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
        warn_skipped(context, &judged);
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
    context.ui.status(&format!(
        "Checked {judged}: {validated} validated, {rejected} rejected."
    ));
    if validated > 0 {
        context
            .ui
            .hint("activate validated learnings with `ralph learnings promote --all`");
    }
    Ok(())
}
