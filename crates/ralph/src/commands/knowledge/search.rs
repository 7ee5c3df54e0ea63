//! `ralph knowledge search`.

use clap::Args;
use ralph_memory::recall::{KnowledgeSearch, NoteFilter, Question, recall};

use crate::commands::notes::found::{FoundArgs, MoreWords, Nouns};
use crate::commands::notes::view::KNOWLEDGE_COLUMNS;
use crate::context::Context;
use crate::error::CommandError;

const ENTRIES: Nouns = Nouns {
    one: "entry",
    many: "entries",
    column: "ENTRY",
    head: KNOWLEDGE_COLUMNS,
};

/// Find knowledge entries, best first
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph knowledge search \"database pool\"
  ralph knowledge search migrations --all
  ralph knowledge search parseConfig --json")]
pub(crate) struct SearchArgs {
    /// Any text; matched against titles, tags and texts
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
        file_kinds: &[],
        knowledge: KnowledgeSearch::Include,
        wanted: &NoteFilter::default(),
        reach: args.found.reach(),
    };
    let answer = context.ask_knowledge(&[], |index| recall(index, &question))?;
    args.found.show(context, &answer, ENTRIES)
}
