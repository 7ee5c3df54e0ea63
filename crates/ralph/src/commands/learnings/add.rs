//! `learnings add`: a person says what is to be learned.

use clap::Args;
use ralph_memory::capture::{MOST_LEARNING, SecretPolicy, accept};
use ralph_model::{Tags, TaskType};
use ralph_notes::cleaned_tags;
use ralph_store::{AddedLearning, NewLearning};

use super::super::notes::{LINE_BREAKS_CHANGED, SecretArgs, content_argument};
use super::super::task::store_to_write;
use super::{category, task_types};
use crate::cli::{Format, FormatArgs};
use crate::context::Context;
use crate::error::CommandError;

/// The longest category, in characters.
const CATEGORY_CHARACTERS: usize = 64;

/// Keep a learning; it holds at once
///
/// Agents see it when their task is about its tags or its words. One that is known already becomes surer, and holds from now
/// on if it did not.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph learnings add \"run the migrations before the tests\" --category testing_strategy --tags postgres
  ralph learnings add \"the cache hides the fault: clear it first\" --category pitfall --task-type bug-fix
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
    let content = learning_text(&text, policy)?;
    let category =
        category(&accept(&args.category, policy).map_err(|error| CommandError::from(error).about("--category"))?);
    if category.chars().count() > CATEGORY_CHARACTERS || category.contains(char::is_control) {
        return Err(CommandError::usage(format!(
            "--category: a category is one line of at most {CATEGORY_CHARACTERS} characters"
        )));
    }
    let tags = args.tags.unwrap_or_default();
    if !tags.is_empty() {
        accept(&tags.to_string(), policy).map_err(|error| CommandError::from(error).about("--tags"))?;
    }
    let new = NewLearning {
        category,
        content,
        tags: cleaned_tags(tags.iter()),
        task_type: args.task_type,
    };
    // Beside another tool's database nothing is made, not even a folder.
    context.facts()?;
    let mut store = store_to_write(context)?;
    let now = context.clock().now();
    let added = context.with_entropy(|entropy| store.add_learning(&new, entropy, now))?;
    if text.contains('\r') {
        context.ui.status(LINE_BREAKS_CHANGED);
    }
    let learning = match &added {
        AddedLearning::Stored(learning) => learning,
        AddedLearning::Known(learning) => {
            context.ui.status("It was known already, and is surer now.");
            learning
        }
    };
    match args.format.get() {
        Format::Json => context.ui.json(learning),
        Format::Quiet => context.ui.data(&format!("{}\n", learning.id)),
        Format::Table | Format::Markdown => context.ui.result("📝", &format!("Learning stored: {}", learning.id)),
    }
}

/// The text of a learning as it is kept: without a secret, and not too long.
pub(crate) fn learning_text(text: &str, policy: SecretPolicy) -> Result<String, CommandError> {
    let content = accept(text.trim_end(), policy)?.into_owned();
    let characters = content.chars().count();
    if characters > MOST_LEARNING {
        return Err(CommandError::usage(format!(
            "the text has {characters} characters, and a learning at most {MOST_LEARNING}: shorten it, or keep it with \
             `ralph knowledge add`"
        )));
    }
    Ok(content)
}
