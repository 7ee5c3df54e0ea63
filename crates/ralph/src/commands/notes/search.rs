//! `search`: finds notes by words.

use clap::Args;
use ralph_memory::capture::Notebook;
use ralph_memory::recall::{LongNotes, Newest, Question, Superseded, recall};

use super::found::{FoundArgs, MoreWords, Nouns};
use super::{
    FilterArgs, OnShelf,
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
pub(crate) struct SearchArgs<S: OnShelf> {
    /// Words to look for in texts and tags; any text is fine
    #[arg(value_name = "QUERY", allow_hyphen_values = true)]
    query: Option<String>,
    #[command(flatten)]
    more: MoreWords,
    #[command(flatten)]
    filter: FilterArgs<S>,
    #[command(flatten)]
    found: FoundArgs,
}

pub(super) fn cmd_search<S: OnShelf>(
    context: &Context<'_>,
    notebook: &Notebook<'_>,
    args: &SearchArgs<S>,
) -> Result<(), CommandError> {
    let wanted = args.filter.wanted(context);
    let Some(text) = args.query.as_deref() else {
        let newest = Newest {
            shelf: notebook.shelf,
            kind: None,
            wanted: &wanted,
            superseded: Superseded::Hidden,
        };
        let notes = context.ask(notebook, |catalogue| catalogue.newest(&newest, args.found.most()))?;
        return view::list(
            context,
            notebook.shelf,
            (&notes, Nothing::Matching),
            args.found.format(),
        );
    };
    let text = args.more.after(text);
    let question = Question {
        text: &text,
        shelves: &[notebook.shelf],
        knowledge: LongNotes::Left,
        wanted: &wanted,
        reach: args.found.reach(),
    };
    let answer = context.ask(notebook, |catalogue| recall(catalogue, &question))?;
    let words = notebook.shelf.words();
    let nouns = Nouns {
        one: words.one,
        many: words.many,
        column: view::text_column(notebook.shelf),
        head: view::COLUMNS,
    };
    args.found.show(context, &answer, nouns)
}
