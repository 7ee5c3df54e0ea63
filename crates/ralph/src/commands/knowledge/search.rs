//! `ralph knowledge search`.

use clap::Args;
use ralph_memory::recall::{LongNotes, Question, Wanted, recall};

use crate::commands::notes::found::{FoundArgs, MoreWords, Nouns};
use crate::commands::notes::view::COLUMNS_OF_LONG_NOTES;
use crate::context::Context;
use crate::error::CommandError;

const NOTES: Nouns = Nouns {
    one: "note",
    many: "notes",
    column: "NOTE",
    head: COLUMNS_OF_LONG_NOTES,
};

/// Find long notes by their titles, tags and texts, the best first
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph knowledge search \"database pool\"
  ralph knowledge search migrations --all
  ralph knowledge search parseConfig --json")]
pub(crate) struct SearchArgs {
    /// What to look for; any text is fine
    #[arg(value_name = "TEXT", allow_hyphen_values = true)]
    text: String,
    #[command(flatten)]
    more: MoreWords,
    #[command(flatten)]
    found: FoundArgs,
}

pub(super) fn cmd_search(context: &Context<'_>, args: &SearchArgs) -> Result<(), CommandError> {
    let text = args.more.after(&args.text);
    let question = Question {
        text: &text,
        shelves: &[],
        knowledge: LongNotes::Sought,
        wanted: &Wanted::default(),
        reach: args.found.reach(),
    };
    let answer = context.ask_knowledge(&[], |catalogue| recall(catalogue, &question))?;
    args.found.show(context, &answer, NOTES)
}
