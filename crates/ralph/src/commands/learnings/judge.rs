//! `learnings promote` and `learnings reject`: a person's word.

use clap::Args;
use ralph_memory::capture::accept;
use ralph_model::{Learning, LearningId};
use ralph_store::{JudgedLearnings, Judgement, Store};

use super::super::notes::SecretArgs;
use super::super::task::store_to_write;
use super::{find_to_change, view};
use crate::cli::{Format, FormatArgs};
use crate::context::Context;
use crate::error::CommandError;

/// What is kept as the reason where the person names none.
pub(crate) const NO_REASON: &str = "A person rejected it.";

/// Say that learnings hold: agents see them from now on
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph learnings promote learn-1a2b3c4d
  ralph learnings promote 1a2b 3c4d        # beginnings of ids are enough
  ralph learnings promote --all            # all that can be true and wait")]
pub(crate) struct PromoteArgs {
    /// Ids, or their beginnings
    #[arg(value_name = "ID", required_unless_present = "all")]
    ids: Vec<String>,
    /// All that are validated
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
    // Where there is no database nothing waits, and none is made.
    let promoted = match context.facts()? {
        Some(_) => {
            let mut store = store_to_write(context)?;
            let judged = store.promote_validated(context.clock().now())?;
            tell_passed_over(context, &store, &judged);
            judged.judged
        }
        None => Vec::new(),
    };
    if promoted.is_empty() && format == Format::Table {
        context.ui.status("Nothing waits to be promoted.");
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
        let (_, word) = said(judgement);
        context.ui.status(&format!("{id} was {word} already."));
    }
    let mut learnings = Vec::new();
    for id in &changed {
        learnings.extend(store.learning(id)?);
    }
    show(context, judgement, &learnings, format)
}

/// Shows the learnings that were judged, as they stand now.
fn show(
    context: &Context<'_>,
    judgement: Judgement<'_>,
    learnings: &[Learning],
    format: Format,
) -> Result<(), CommandError> {
    let (sign, word) = said(judgement);
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

/// Warns of learnings that were left as they are because something is wrong with them.
pub(super) fn tell_passed_over(context: &Context<'_>, store: &Store, judged: &JudgedLearnings) {
    context.tell_unreadable(store);
    for id in &judged.damaged {
        context.ui.warning(&format!(
            "{id} is not what was written; it was passed over, and `ralph learnings verify` tells what mends it."
        ));
    }
    for id in &judged.empty {
        context.ui.warning(&format!(
            "{id} has no text and was skipped; `ralph learnings update {id} --content TEXT` says what it teaches."
        ));
    }
}

fn said(judgement: Judgement<'_>) -> (&'static str, &'static str) {
    match judgement {
        Judgement::Promote => ("✅", "promoted"),
        Judgement::Reject(_) => ("❌", "rejected"),
    }
}
