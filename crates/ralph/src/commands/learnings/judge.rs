//! `learnings promote` and `learnings reject`: a person's word.

use clap::Args;
use ralph_memory::capture::accept;
use ralph_model::LearningId;
use ralph_store::Judgement;

use super::super::notes::SecretArgs;
use super::find_to_change;
use crate::context::Context;
use crate::error::CommandError;

/// What is kept as the reason where the person names none.
pub(crate) const NO_REASON: &str = "A person rejected it.";

/// Say that learnings hold: agents see them from now on
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph learnings promote learn-1a2b3c4d
  ralph learnings promote 1a2b 3c4d        # beginnings of ids are enough")]
pub(crate) struct PromoteArgs {
    /// Ids, or their beginnings
    #[arg(value_name = "ID", required = true)]
    ids: Vec<String>,
}

/// Say that learnings do not hold: no agent sees them any more
///
/// They stay on record, so that the same is not learned again; `ralph learnings promote` takes it back.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph learnings reject learn-1a2b3c4d
  ralph learnings reject 1a2b --reason \"it was the cache, not the parser\"")]
pub(crate) struct RejectArgs {
    /// Ids, or their beginnings
    #[arg(value_name = "ID", required = true)]
    ids: Vec<String>,
    /// Why
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    reason: Option<String>,
    #[command(flatten)]
    secrets: SecretArgs,
}

pub(super) fn cmd_promote(context: &Context<'_>, args: &PromoteArgs) -> Result<(), CommandError> {
    judge(context, &args.ids, Judgement::Promote)
}

pub(super) fn cmd_reject(context: &Context<'_>, args: &RejectArgs) -> Result<(), CommandError> {
    let reason = args
        .reason
        .as_deref()
        .map(str::trim)
        .filter(|reason| !reason.is_empty());
    let reason = match reason {
        Some(reason) => accept(reason, args.secrets.policy())?,
        None => NO_REASON.into(),
    };
    judge(context, &args.ids, Judgement::Reject(&reason))
}

fn judge(context: &Context<'_>, ids: &[String], judgement: Judgement<'_>) -> Result<(), CommandError> {
    let (mut store, ids) = find_to_change(context, ids)?;
    let changed = store.judge_learnings(&ids, judgement, context.clock().now())?;
    let (sign, word) = match judgement {
        Judgement::Promote => ("✅", "promoted"),
        Judgement::Reject(_) => ("❌", "rejected"),
    };
    let is_unchanged = |id: &&LearningId| !changed.contains(id);
    for id in ids.iter().filter(is_unchanged) {
        context.ui.status(&format!("{id} was {word} already."));
    }
    for id in &changed {
        context.ui.result(sign, &format!("Learning {word}: {id}"))?;
    }
    Ok(())
}
