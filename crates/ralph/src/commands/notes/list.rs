//! `list`: all notes, or those that are wanted.

use clap::Args;
use ralph_memory::capture::Notebook;
use ralph_memory::recall::{Newest, Superseded};

use super::{
    FilterArgs, OnShelf,
    view::{self, Nothing},
};
use crate::cli::FormatArgs;
use crate::context::Context;
use crate::error::CommandError;
use crate::numbers::from_zero;

/// List the notes, oldest first
#[derive(Debug, Args)]
#[command(after_help = S::examples("Examples:
  {ralph} list --last 20
  {ralph} list --type fix --tags docker --json"))]
pub(crate) struct ListArgs<S: OnShelf> {
    #[command(flatten)]
    filter: FilterArgs<S>,
    /// Only the newest so many
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = from_zero::<usize>)]
    last: Option<usize>,
    #[command(flatten)]
    format: FormatArgs,
}

pub(super) fn cmd_list<S: OnShelf>(
    context: &Context<'_>,
    notebook: &Notebook<'_>,
    args: &ListArgs<S>,
) -> Result<(), CommandError> {
    let wanted = args.filter.wanted(context);
    let newest = Newest {
        shelf: notebook.shelf,
        kind: match wanted.kinds.as_slice() {
            [kind] => Some(kind.word()),
            _ => None,
        },
        wanted: &wanted,
        superseded: Superseded::Shown,
    };
    let most = args.last.unwrap_or(usize::MAX);
    let (mut notes, there_are_some) = context.ask(notebook, |catalogue| {
        Ok((catalogue.newest(&newest, most)?, catalogue.has_any(notebook.shelf)?))
    })?;
    notes.reverse();
    let nothing = if there_are_some {
        Nothing::Matching
    } else {
        Nothing::Yet
    };
    view::list(context, notebook.shelf, (&notes, nothing), args.format.get())
}
