//! `list`: lists notes.

use clap::Args;
use ralph_memory::capture::NoteRepository;
use ralph_memory::recall::{Newest, Superseded, newest_notes};

use super::{
    FilterArgs, NoteFamily,
    view::{self, Nothing},
};
use ralph_search::DocKind;

use crate::cli::FormatArgs;
use crate::context::Context;
use crate::error::CommandError;
use crate::numbers::from_zero;

/// List notes, oldest first
#[derive(Debug, Args)]
#[command(after_help = S::examples("Examples:
  {ralph} list --last 20
  {ralph} list --type fix --tags docker --json"))]
pub(crate) struct ListArgs<S: NoteFamily> {
    #[command(flatten)]
    filter: FilterArgs<S>,
    /// Only the newest N
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = from_zero::<usize>)]
    last: Option<usize>,
    #[command(flatten)]
    format: FormatArgs,
}

pub(super) fn cmd_list<S: NoteFamily>(
    context: &Context<'_>,
    note_repository: &NoteRepository<'_>,
    args: &ListArgs<S>,
) -> Result<(), CommandError> {
    let wanted = args.filter.wanted(context);
    let newest = Newest {
        file_kind: note_repository.file_kind,
        kind: match wanted.kinds.as_slice() {
            [kind] => Some(kind.word()),
            _ => None,
        },
        wanted: &wanted,
        superseded: Superseded::Shown,
    };
    let limit = args.last.unwrap_or(usize::MAX);
    let (mut notes, has_any) = context.ask(note_repository, |index| {
        Ok((
            newest_notes(index, &newest, limit)?,
            index.totals(&[DocKind::of_file(note_repository.file_kind)])?.docs > 0,
        ))
    })?;
    notes.reverse();
    let nothing = if has_any { Nothing::Matching } else { Nothing::Yet };
    view::list(context, note_repository.file_kind, (&notes, nothing), args.format.get())
}
