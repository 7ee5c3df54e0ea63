//! `list`: all notes, or those that are wanted.

use clap::Args;
use ralph_memory::capture::Notebook;
use ralph_model::Note;
use ralph_notes::Entry;

use super::{
    FilterArgs, OnShelf, read,
    view::{self, Nothing},
};
use crate::cli::FormatArgs;
use crate::context::Context;
use crate::error::CommandError;

/// List the notes, oldest first
#[derive(Debug, Args)]
#[command(after_help = S::examples("Examples:
  {ralph} list --last 20
  {ralph} list --type fix --tags docker --json"))]
pub(crate) struct ListArgs<S: OnShelf> {
    #[command(flatten)]
    filter: FilterArgs<S>,
    /// Only the newest so many
    #[arg(long, value_name = "N")]
    last: Option<usize>,
    #[command(flatten)]
    format: FormatArgs,
}

pub(super) fn cmd_list<S: OnShelf>(
    context: &Context<'_>,
    notebook: &Notebook<'_>,
    args: &ListArgs<S>,
) -> Result<(), CommandError> {
    let reading = read(context, notebook)?;
    let document = reading.document();
    context.report_problems(notebook, &document);
    let wanted = args.filter.wanted(context);
    let entries: Vec<&Entry> = match args.last {
        Some(last) if args.filter.is_empty() => document.newest(last),
        last => {
            let mut entries = document.oldest_first();
            entries.retain(|entry| wanted.matches(&document, entry));
            let skipped = entries.len().saturating_sub(last.unwrap_or(usize::MAX));
            entries.split_off(skipped)
        }
    };
    let notes: Vec<Note> = entries.into_iter().filter_map(|entry| document.note(entry)).collect();
    let nothing = if document.entries().is_empty() {
        Nothing::Yet
    } else {
        Nothing::Matching
    };
    view::list(context, notebook.shelf, (&notes, nothing), args.format.get())
}
