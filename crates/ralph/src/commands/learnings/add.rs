//! `learnings add`: stores a learning that a person or an agent gives.

use clap::Args;
use ralph_model::{Actor, Learning, Tags, TaskType, first_line, preview};
use ralph_search::text_features;
use ralph_store::{AddedLearning, NewLearning, ProposedLearning};

use super::super::notes::{LINE_BREAKS_CHANGED, SecretArgs, content_argument};
use super::super::task::store_to_write;
use super::incoming::MENTION_COLUMNS;
use super::judge::NO_REASON;
use super::view::acknowledge;
use super::{input, task_types};
use crate::cli::{Format, FormatArgs};
use crate::context::Context;
use crate::error::CommandError;

/// Add a learning, active at once
///
/// Agents get it when their task matches its tags or words. If the learning is already known, even in slightly
/// different words, its confidence is raised and it becomes active.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph learnings add \"migrate before the tests\" --category testing_strategy
  ralph learnings add \"clear the cache first\" --category pitfall --tags cache
  ralph learnings add - --category tool_usage < learning.txt")]
pub(crate) struct AddArgs {
    /// The text; `-` reads standard input
    #[arg(value_name = "TEXT", allow_hyphen_values = true)]
    text: String,
    /// Category: `success_pattern`, `pitfall`, `tool_usage`, `code_structure`, `testing_strategy`,
    /// `debugging_technique`, `other`, or your own
    #[arg(long, value_name = "CATEGORY")]
    category: String,
    /// Tags, separated by commas; used to match tasks
    #[arg(long, value_name = "TAGS", value_parser = Tags::parse)]
    tags: Option<Tags>,
    /// Task type that it applies to; all by default
    #[arg(long, value_name = "TYPE", value_parser = task_types())]
    task_type: Option<TaskType>,
    #[command(flatten)]
    secrets: SecretArgs,
    #[command(flatten)]
    format: FormatArgs,
}

pub(super) fn cmd_add(context: &Context<'_>, args: AddArgs) -> Result<(), CommandError> {
    let text = content_argument(context, args.text)?;
    let policy = args.secrets.policy();
    let content = input::content(&text, policy)?;
    let new = NewLearning {
        features: text_features(&content),
        content,
        category: input::category(&args.category, policy)?,
        tags: input::tags(&args.tags.unwrap_or_default(), policy)?,
        task_type: args.task_type,
    };
    // Fail before creating anything next to another tool's database.
    context.facts()?;
    let mut store = store_to_write(context)?;
    let now = context.clock().now();
    if context.actor != Actor::Person {
        let proposed = context.with_entropy(|entropy| store.propose_learning(&new, entropy, now))?;
        return acknowledge_proposed(context, &proposed, args.format.get());
    }
    let added = context.with_entropy(|entropy| store.add_learning(&new, entropy, now))?;
    if text.contains('\r') {
        context.ui.status(LINE_BREAKS_CHANGED);
    }
    let (learning, done) = match &added {
        AddedLearning::Stored(learning) => (learning, "stored"),
        AddedLearning::Known(learning) => {
            context.ui.status("Already known; confidence raised.");
            (learning, "strengthened")
        }
        AddedLearning::Widened(learning) => {
            let message = "Already known for one task type; it now applies to all, and its confidence was raised.";
            context.ui.status(message);
            (learning, "strengthened")
        }
        AddedLearning::Reworded(learning) => {
            context.ui.status(&reworded(learning, &new.content));
            (learning, "strengthened")
        }
        AddedLearning::HoldsAgain { learning, rejected } => {
            context.ui.status(&holds_again(rejected));
            (learning, "promoted")
        }
    };
    acknowledge(context, learning, done, args.format.get())
}

fn acknowledge_proposed(
    context: &Context<'_>,
    proposed: &ProposedLearning,
    format: Format,
) -> Result<(), CommandError> {
    let (learning, done) = match proposed {
        ProposedLearning::Stored(learning) => {
            context
                .ui
                .status("Proposed: becomes active with evidence, or when a person promotes it.");
            (learning, "proposed")
        }
        ProposedLearning::Known(learning) => (learning, "exists"),
    };
    acknowledge(context, learning, done, format)
}

/// The message for a near-duplicate: whether the new wording was kept as an example.
fn reworded(known: &Learning, words: &str) -> String {
    let text = preview(first_line(&known.content), MENTION_COLUMNS);
    let kept = if known.examples.iter().any(|example| example == words) {
        "your wording was added as an example"
    } else {
        "it has too many examples to keep your wording"
    };
    format!(
        "Near-duplicate of {} (\"{text}\"): confidence raised, and {kept}.",
        known.id
    )
}

/// The message for a learning that was rejected before.
fn holds_again(rejected: &str) -> String {
    let reason = rejected.trim_end_matches('.');
    if rejected == NO_REASON || reason.is_empty() {
        return "You had rejected it; it is active again.".to_owned();
    }
    format!("You had rejected it ({reason}); it is active again.")
}
