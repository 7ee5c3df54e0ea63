//! `ralph memory search`.

use clap::Args;
use ralph_memory::capture::Notebook;
use ralph_memory::recall::{rank, superseded};
use ralph_model::Note;

use super::{FilterArgs, read, view};
use crate::cli::FormatArgs;
use crate::context::Context;
use crate::error::CommandError;

/// How many results are shown unless all are asked for.
const SHOWN: usize = 10;

/// Find notes by words, best first
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph memory search \"database migration\"
  ralph memory search --type fix --tags docker")]
pub(crate) struct SearchArgs {
    /// Words to look for in texts and tags; any text is fine
    #[arg(value_name = "QUERY", allow_hyphen_values = true)]
    query: Option<String>,
    #[command(flatten)]
    filter: FilterArgs,
    /// Show all results, not only the best 10
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    format: FormatArgs,
}

pub(super) fn cmd_search(
    context: &Context<'_>,
    notebook: &Notebook<'_>,
    args: &SearchArgs,
) -> Result<(), CommandError> {
    let reading = read(context, notebook)?;
    let document = reading.document();
    context.report_problems(&notebook.path, &document);
    let wanted = args.filter.wanted(context);
    let replaced = superseded(&document);
    let mut entries = document.oldest_first();
    entries.retain(|entry| wanted.matches(&document, entry) && !replaced.contains(document.id(entry)));
    entries.reverse();
    let mut notes: Vec<Note> = entries.into_iter().filter_map(|entry| document.note(entry)).collect();
    if let Some(query) = &args.query {
        let texts: Vec<String> = notes
            .iter()
            .map(|note| format!("{} {}", note.content, note.tags))
            .collect();
        notes = rank(query, &texts)
            .into_iter()
            .filter_map(|position| notes.get(position).cloned())
            .collect();
    }
    if !args.all {
        notes.truncate(SHOWN);
    }
    view::list(context, &notes, args.format.get(), "No matching memories found")
}
