//! `ralph recall`: searches all notes and learnings.

use clap::Args;
use ralph_memory::recall::{KnowledgeSearch, Question, recall_with_learnings};
use ralph_model::NoteFileKind;
use ralph_search::{IndexError, SourceError, Sources};
use ralph_store::{Store, StoreError, Wait};

use super::notes::found::{FoundArgs, MoreWords, Nouns};
use super::notes::view::COLUMNS_OF_ALL;
use super::notes::{FilterArgs, Memories};
use crate::context::Context;
use crate::error::CommandError;
use crate::paths::Spelling;

/// The note files to search, besides knowledge entries.
const NOTE_FILES: [NoteFileKind; 2] = [NoteFileKind::Memories, NoteFileKind::Guardrails];
const NOTES: Nouns = Nouns {
    one: "note",
    many: "notes",
    column: "NOTE",
    head: COLUMNS_OF_ALL,
};

/// Search all notes and learnings
///
/// Any text works: words, a name, an error message, a whole task. Words match by stem and rare ones weigh more; names
/// match in any spelling, such as `camelCase` and `snake_case`; of several notes on one subject the newest comes first.
/// Learnings that are not yet promoted are included.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph recall \"how do we run the migrations\"
  ralph recall connection refused 5432
  ralph recall parseConfig --explain
  ralph recall \"$(cat task.md)\" --json")]
pub(crate) struct RecallArgs {
    /// Text to search for
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
        return Err(CommandError::usage("the text is blank"));
    }
    let wanted = args.filter.wanted(context);
    let question = Question {
        text: &text,
        file_kinds: &NOTE_FILES,
        knowledge: KnowledgeSearch::Include,
        wanted: &wanted,
        reach: args.found.reach(),
    };
    let repositories = NOTE_FILES.map(|file_kind| context.note_repository(file_kind, Spelling::Own));
    let learnings = learnings(context);
    let ask = |learnings: Option<&Store>| {
        let sources = Sources::KNOWLEDGE.and_facts(learnings);
        context.ask_about((&repositories, sources), |index| {
            recall_with_learnings(index, learnings, &question)
        })
    };
    let answer = match ask(learnings.as_ref()) {
        Err(SourceError::Index(IndexError::Facts(error))) => {
            warn_without_learnings(context, &error.to_string());
            ask(None)
        }
        answer => answer,
    }?;
    args.found.show(context, &answer, NOTES)
}

/// The store of learnings, if it can be read. Another tool's database has no learnings.
fn learnings(context: &Context<'_>) -> Option<Store> {
    match Store::open_for_reading(&context.project.fact_store(), Wait::Brief) {
        Ok(store) => store,
        Err(StoreError::Foreign { .. }) => None,
        Err(error) => {
            warn_without_learnings(context, &error.to_string());
            None
        }
    }
}

fn warn_without_learnings(context: &Context<'_>, reason: &str) {
    context
        .ui
        .warning(&format!("Searched only notes, not learnings: {reason}."));
}
