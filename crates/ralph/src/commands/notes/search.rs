//! `search`: finds notes by their text.

use clap::Args;
use ralph_memory::capture::NoteRepository;
use ralph_memory::recall::{KnowledgeSearch, Newest, Question, Superseded, newest_notes, recall};

use super::found::{FoundArgs, MoreWords, Nouns};
use super::{
    FilterArgs, NoteFamily,
    view::{self, Nothing},
};
use crate::context::Context;
use crate::error::CommandError;

/// Find notes by words, best first
#[derive(Debug, Args)]
#[command(after_help = S::examples("Examples:
  {ralph} search \"database migration\"
  {ralph} search \"ECONNREFUSED 5432\" --explain
  {ralph} search --type fix --tags docker"))]
pub(crate) struct SearchArgs<S: NoteFamily> {
    /// Any text; matched against texts and tags
    #[arg(value_name = "QUERY", allow_hyphen_values = true)]
    query: Option<String>,
    #[command(flatten)]
    more: MoreWords,
    #[command(flatten)]
    filter: FilterArgs<S>,
    #[command(flatten)]
    found: FoundArgs,
}

pub(super) fn cmd_search<S: NoteFamily>(
    context: &Context<'_>,
    note_repository: &NoteRepository<'_>,
    args: &SearchArgs<S>,
) -> Result<(), CommandError> {
    let wanted = args.filter.wanted(context);
    let Some(text) = args.query.as_deref() else {
        let newest = Newest {
            file_kind: note_repository.file_kind,
            kind: None,
            wanted: &wanted,
            superseded: Superseded::Hidden,
        };
        let notes = context.ask(note_repository, |index| {
            newest_notes(index, &newest, args.found.limit())
        })?;
        return view::list(
            context,
            note_repository.file_kind,
            (&notes, Nothing::Matching),
            args.found.format(),
        );
    };
    let text = args.more.after(text);
    let question = Question {
        text: &text,
        file_kinds: &[note_repository.file_kind],
        knowledge: KnowledgeSearch::Exclude,
        wanted: &wanted,
        reach: args.found.reach(),
    };
    let answer = context.ask(note_repository, |index| recall(index, &question))?;
    let words = note_repository.file_kind.words();
    let nouns = Nouns {
        one: words.one,
        many: words.many,
        column: view::text_column(note_repository.file_kind),
        head: view::COLUMNS,
    };
    args.found.show(context, &answer, nouns)
}
