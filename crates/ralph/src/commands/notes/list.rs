//! `list`: all notes, or those that are wanted.

use clap::Args;
use ralph_memory::capture::Notebook;
use ralph_notes::{Document, Entry};

use super::listed::NoteOrSign;
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
    let mut notes: Vec<NoteOrSign> = undated(&document, args, entries.len());
    notes.extend(
        entries
            .into_iter()
            .filter_map(|entry| document.note(entry))
            .map(NoteOrSign::Note),
    );
    let nothing = if document.entries().is_empty() && document.signs().is_empty() {
        Nothing::Yet
    } else {
        Nothing::Matching
    };
    view::list(context, notebook.shelf, (&notes, nothing), args.format.get())
}

/// The Signs that stand in the list before so many dated notes: they have no kind, no tags and no day that a filter could
/// ask for, and count as older than everything that has one.
fn undated<S: OnShelf>(document: &Document<'_>, args: &ListArgs<S>, dated: usize) -> Vec<NoteOrSign> {
    if !args.filter.is_empty() {
        return Vec::new();
    }
    let mut signs = document.signs();
    let room = args.last.map_or(usize::MAX, |last| last.saturating_sub(dated));
    let shown = signs.split_off(signs.len().saturating_sub(room));
    shown.into_iter().map(|sign| NoteOrSign::sign(document, sign)).collect()
}
