//! `learnings add`: a person says what is to be learned.

use clap::Args;
use ralph_memory::recall::{Said, keep_compared, retold};
use ralph_model::{Actor, Learning, Tags, TaskType, first_line, preview};
use ralph_store::{AddedLearning, NewLearning, ProposedLearning, Store};

use super::super::notes::{LINE_BREAKS_CHANGED, SecretArgs, content_argument};
use super::super::task::store_to_write;
use super::foreign::MENTION_COLUMNS;
use super::judge::NO_REASON;
use super::{handed_in, task_types};
use crate::cli::{Format, FormatArgs};
use crate::context::Context;
use crate::error::CommandError;

/// Keep a learning; it holds at once
///
/// Agents see it when their task is about its tags or its words. One that is known already, in these words or in others that say
/// nearly the same, becomes surer, and holds from now on if it did not.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph learnings add \"migrate before the tests\" --category testing_strategy
  ralph learnings add \"clear the cache first\" --category pitfall --tags cache
  ralph learnings add - --category tool_usage < lesson.txt")]
pub(crate) struct AddArgs {
    /// What is to be learned; `-` reads it from standard input
    #[arg(value_name = "TEXT", allow_hyphen_values = true)]
    text: String,
    /// What it is about: `success_pattern`, `pitfall`, `tool_usage`, `code_structure`, `testing_strategy`,
    /// `debugging_technique`, `other`, or a word of your own
    #[arg(long, value_name = "CATEGORY")]
    category: String,
    /// Tags, separated by commas; by them it is found for a task
    #[arg(long, value_name = "TAGS", value_parser = Tags::parse)]
    tags: Option<Tags>,
    /// The kind of work that it is good for; without it every kind
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
    let new = NewLearning {
        content: handed_in::content(&text, policy)?,
        category: handed_in::category(&args.category, policy)?,
        tags: handed_in::tags(&args.tags.unwrap_or_default(), policy)?,
        task_type: args.task_type,
        retold: None,
    };
    // Beside another tool's database nothing is made, not even a folder.
    context.facts()?;
    let mut store = store_to_write(context)?;
    let now = context.clock().now();
    let compare = |store: &Store| retold(store, [Said::from(&new)]);
    if context.actor != Actor::Person {
        let proposed = context.with_entropy(|entropy| {
            keep_compared(&mut store, compare, |store, found| {
                let retold = found.into_iter().next().flatten();
                store.propose_learning(&NewLearning { retold, ..new.clone() }, entropy, now)
            })
        })?;
        return acknowledge_proposed(context, &proposed, args.format.get());
    }
    let added = context.with_entropy(|entropy| {
        keep_compared(&mut store, compare, |store, found| {
            let retold = found.into_iter().next().flatten();
            store.add_learning(&NewLearning { retold, ..new.clone() }, entropy, now)
        })
    })?;
    context.tell_unreadable(&store);
    if text.contains('\r') {
        context.ui.status(LINE_BREAKS_CHANGED);
    }
    let (learning, done) = match &added {
        AddedLearning::Stored(learning) => (learning, "stored"),
        AddedLearning::Known(learning) => {
            context.ui.status("It was known already, and is surer now.");
            (learning, "strengthened")
        }
        AddedLearning::Widened(learning) => {
            let told = "It was known already, for one kind of work; it is for every kind now, and surer.";
            context.ui.status(told);
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
    match args.format.get() {
        Format::Json => context.ui.json(learning),
        Format::Quiet => context.ui.data(&format!("{}\n", learning.id)),
        Format::Table | Format::Markdown => context.ui.result("📝", &format!("Learning {done}: {}", learning.id)),
    }
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
                .status("It is proposed: it becomes active with evidence, or when a person promotes it.");
            (learning, "proposed")
        }
        ProposedLearning::Known(learning) => (learning, "exists"),
    };
    match format {
        Format::Json => context.ui.json(learning),
        Format::Quiet => context.ui.data(&format!("{}\n", learning.id)),
        Format::Table | Format::Markdown => context.ui.result("📝", &format!("Learning {done}: {}", learning.id)),
    }
}

/// What is said to a person whose words are kept beside others, or are not because many others are kept there.
fn reworded(known: &Learning, words: &str) -> String {
    let text = preview(first_line(&known.content), MENTION_COLUMNS);
    let kept = if known.examples.iter().any(|example| example == words) {
        "has your words beside its own"
    } else {
        "has no room for your words beside the others that it was told in"
    };
    format!(
        "{} says nearly the same (\"{text}\"); it is surer now, and {kept}.",
        known.id
    )
}

/// What is said to a person who says again what they had rejected.
fn holds_again(rejected: &str) -> String {
    let reason = rejected.trim_end_matches('.');
    if rejected == NO_REASON || reason.is_empty() {
        return "You had rejected it; it holds again.".to_owned();
    }
    format!("You had rejected it ({reason}); it holds again.")
}
