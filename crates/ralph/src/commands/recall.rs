//! `ralph recall`: finds what is known about something, wherever it is kept.

use clap::Args;
use ralph_memory::recall::{LongNotes, Question, recall_with_learnings};
use ralph_model::Shelf;
use ralph_store::{Store, StoreError, Wait};

use super::notes::found::{FoundArgs, MoreWords, Nouns};
use super::notes::view::COLUMNS_OF_ALL;
use super::notes::{FilterArgs, Memories};
use crate::context::Context;
use crate::error::CommandError;
use crate::paths::Spelling;

/// Every shelf that notes stand on, beside the folder of long notes.
const SHELVES: [Shelf; 2] = [Shelf::Memories, Shelf::Guardrails];
const NOTES: Nouns = Nouns {
    one: "note",
    many: "notes",
    column: "NOTE",
    head: COLUMNS_OF_ALL,
};

/// Find what is known about something, in all notes and learnings
///
/// Any text is fine: a few words, a name, an error message, a whole task. Words count by their stems, rare ones most;
/// a name is found in all its spellings; of several notes on one subject the newest stands first. Learnings are found
/// whether they hold or still wait for evidence.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph recall \"how do we run the migrations\"
  ralph recall connection refused 5432
  ralph recall parseConfig --explain
  ralph recall \"$(cat task.md)\" --json")]
pub(crate) struct RecallArgs {
    /// What to look for
    #[arg(value_name = "TEXT", allow_hyphen_values = true)]
    text: String,
    #[command(flatten)]
    more: MoreWords,
    #[command(flatten)]
    filter: FilterArgs<Memories>,
    #[command(flatten)]
    found: FoundArgs,
}

pub(crate) fn cmd_recall(context: &Context<'_>, args: &RecallArgs) -> Result<(), CommandError> {
    let text = args.more.after(&args.text);
    if text.trim().is_empty() {
        return Err(CommandError::usage(
            "the text is blank, so there is nothing to look for",
        ));
    }
    let wanted = args.filter.wanted(context);
    let question = Question {
        text: &text,
        shelves: &SHELVES,
        knowledge: LongNotes::Sought,
        wanted: &wanted,
        reach: args.found.reach(),
    };
    let notebooks = SHELVES.map(|shelf| context.notebook(shelf, Spelling::Own));
    let learnings = learnings(context);
    let answer = context.ask_knowledge(&notebooks, |catalogue| {
        recall_with_learnings(catalogue, learnings.as_ref(), &question)
    })?;
    if let Some(reason) = &answer.without_learnings {
        not_looked_at(context, reason);
    }
    args.found.show(context, &answer, NOTES)
}

/// Where lessons are kept. Where they cannot be read, notes are found without them; another tool's database has none.
fn learnings(context: &Context<'_>) -> Option<Store> {
    match Store::open_to_read(&context.project.fact_store(), Wait::Brief) {
        Ok(store) => store,
        Err(StoreError::Foreign { .. }) => None,
        Err(error) => {
            not_looked_at(context, &error.to_string());
            None
        }
    }
}

fn not_looked_at(context: &Context<'_>, reason: &str) {
    context
        .ui
        .warning(&format!("Learnings were not looked at, only notes: {reason}."));
}
