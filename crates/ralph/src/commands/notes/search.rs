//! `search`: finds notes by words.

use clap::Args;
use ralph_memory::capture::Notebook;
use ralph_memory::recall::recall;
use ralph_model::Note;

use super::{
    FilterArgs, OnShelf, read,
    view::{self, Nothing},
};
use crate::cli::FormatArgs;
use crate::context::Context;
use crate::error::CommandError;

/// How many results are shown unless all are asked for.
const SHOWN: usize = 10;

/// Find notes by words, best first
#[derive(Debug, Args)]
#[command(after_help = S::examples("Examples:
  {ralph} search \"database migration\"
  {ralph} search --type fix --tags docker"))]
pub(crate) struct SearchArgs<S: OnShelf> {
    /// Words to look for in texts and tags; any text is fine
    #[arg(value_name = "QUERY", allow_hyphen_values = true)]
    query: Option<String>,
    #[command(flatten)]
    filter: FilterArgs<S>,
    /// Show all results, not only the best 10
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    format: FormatArgs,
}

pub(super) fn cmd_search<S: OnShelf>(
    context: &Context<'_>,
    notebook: &Notebook<'_>,
    args: &SearchArgs<S>,
) -> Result<(), CommandError> {
    let reading = read(context, notebook)?;
    let document = reading.document();
    context.report_problems(notebook, &document);
    let found = recall(&document, &args.filter.wanted(context), args.query.as_deref());
    let hits = match args.query {
        Some(_) => found.matching,
        None => found.rest,
    };
    let mut notes: Vec<Note> = hits.into_iter().map(|hit| hit.note).collect();
    if !args.all {
        notes.truncate(SHOWN);
    }
    view::list(context, notebook.shelf, (&notes, Nothing::Matching), args.format.get())
}
