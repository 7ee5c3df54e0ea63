//! `learnings promote` and `learnings reject`.

use clap::Args;
use ralph_memory::capture::accept;
use ralph_model::{Learning, LearningId};
use ralph_store::{JudgedLearnings, Judgement};

use super::super::notes::SecretArgs;
use super::super::task::store_to_write;
use super::{find_to_change, view};
use crate::cli::{Format, FormatArgs};
use crate::context::Context;
use crate::error::CommandError;

/// The default reason of a rejection.
pub(crate) const NO_REASON: &str = "A person rejected it.";

/// Promote learnings, so that agents get them
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph learnings promote learn-1a2b3c4d
  ralph learnings promote 1a2b 3c4d        # unique prefixes are enough
  ralph learnings promote --all            # all validated learnings")]
pub(crate) struct PromoteArgs {
    /// Ids, or their beginnings
    #[arg(value_name = "ID", required_unless_present = "all")]
    ids: Vec<String>,
    /// Promote all validated learnings
    #[arg(long, conflicts_with = "ids")]
    all: bool,
    #[command(flatten)]
    format: FormatArgs,
}

impl PromoteArgs {
    pub(super) fn ids(&self) -> Vec<&str> {
        self.ids.iter().map(String::as_str).collect()
    }
}

/// Reject learnings, so that agents no longer get them
///
/// Rejected learnings stay on record, so that they are not learned again. Undo with `ralph learnings promote`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph learnings reject learn-1a2b3c4d
  ralph learnings reject 1a2b --reason \"it was the cache, not the parser\"")]
pub(crate) struct RejectArgs {
    /// Ids, or their beginnings
    #[arg(value_name = "ID", required = true)]
    ids: Vec<String>,
    /// Reason for the rejection
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    reason: Option<String>,
    #[command(flatten)]
    secrets: SecretArgs,
    #[command(flatten)]
    format: FormatArgs,
}

impl RejectArgs {
    pub(super) fn ids(&self) -> Vec<&str> {
        self.ids.iter().map(String::as_str).collect()
    }
}

pub(super) fn cmd_promote(context: &Context<'_>, args: &PromoteArgs) -> Result<(), CommandError> {
    let format = args.format.get();
    if !args.all {
        return judge(context, &args.ids, Judgement::Promote, format);
    }
    // A missing database is not created.
    let promoted = match context.facts()? {
        Some(_) => {
            let mut store = store_to_write(context)?;
            let judged = store.promote_validated(context.clock().now())?;
            warn_skipped(context, &judged);
            judged.judged
        }
        None => Vec::new(),
    };
    if promoted.is_empty() && format == Format::Table {
        context.ui.status("No validated learnings to promote.");
    }
    show(context, Judgement::Promote, &promoted, format)
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
    judge(context, &args.ids, Judgement::Reject(&reason), args.format.get())
}

fn judge(context: &Context<'_>, ids: &[String], judgement: Judgement<'_>, format: Format) -> Result<(), CommandError> {
    let (mut store, ids) = find_to_change(context, ids)?;
    let changed = store.judge_learnings(&ids, judgement, context.clock().now())?;
    let is_unchanged = |id: &&LearningId| !changed.contains(id);
    for id in ids.iter().filter(is_unchanged) {
        let (_, word) = sign_and_word(judgement);
        context.ui.status(&format!("{id} is already {word}."));
    }
    let mut learnings = Vec::new();
    for id in &changed {
        learnings.extend(store.learning(id)?);
    }
    show(context, judgement, &learnings, format)
}

fn show(
    context: &Context<'_>,
    judgement: Judgement<'_>,
    learnings: &[Learning],
    format: Format,
) -> Result<(), CommandError> {
    let (sign, word) = sign_and_word(judgement);
    match format {
        Format::Json => context.ui.json(&learnings),
        Format::Table => {
            for Learning { id, .. } in learnings {
                context.ui.result(sign, &format!("Learning {word}: {id}"))?;
            }
            Ok(())
        }
        other => view::plain(context, learnings.iter(), other),
    }
}

/// Warns about learnings that were skipped because they are empty.
pub(super) fn warn_skipped(context: &Context<'_>, judged: &JudgedLearnings) {
    for id in &judged.empty {
        context.ui.warning(&format!(
            "Skipped {id}: it has no text. Set one with `ralph learnings update {id} --content TEXT`."
        ));
    }
}

fn sign_and_word(judgement: Judgement<'_>) -> (&'static str, &'static str) {
    match judgement {
        Judgement::Promote => ("✅", "promoted"),
        Judgement::Reject(_) => ("❌", "rejected"),
    }
}
