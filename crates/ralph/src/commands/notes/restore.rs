//! `restore`: restores deleted notes, or earlier versions.

use std::marker::PhantomData;

use clap::Args;
use ralph_memory::capture::NoteRepository;
use ralph_model::{Note, first_line, format_timestamp};
use ralph_store::KnownNote;
use serde_json::json;

use super::{NoteFamily, read, view};
use crate::cli::{Format, FormatArgs};
use crate::context::Context;
use crate::error::CommandError;
use crate::numbers::from_zero;
use crate::table::Column;

/// Restore deleted notes, or an earlier version of one
#[derive(Debug, Args)]
#[command(after_help = S::examples("Examples:
  {ralph} restore --list
  {ralph} restore {id}
  {ralph} restore {id} --version 2  # see show --history"))]
pub(crate) struct RestoreArgs<S: NoteFamily> {
    /// Ids, or unique prefixes
    #[arg(value_name = "ID", required_unless_present = "list")]
    ids: Vec<String>,
    /// List notes that can be restored
    #[arg(long, conflicts_with_all = ["ids", "version"])]
    list: bool,
    /// Restore this version
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = from_zero::<usize>)]
    version: Option<usize>,
    #[command(flatten)]
    format: FormatArgs,
    #[arg(skip)]
    family: PhantomData<S>,
}

impl<S: NoteFamily> RestoreArgs<S> {
    pub(super) fn ids(&self) -> Vec<&str> {
        self.ids.iter().map(String::as_str).collect()
    }
}

pub(super) fn cmd_restore<S: NoteFamily>(
    context: &Context<'_>,
    note_repository: &NoteRepository<'_>,
    args: &RestoreArgs<S>,
) -> Result<(), CommandError> {
    if args.list {
        return list(context, note_repository, args.format.get());
    }
    let stored = match (args.version, args.ids.as_slice()) {
        (None, ids) => note_repository.restore(ids)?,
        (Some(version), [id]) => note_repository.revert_to(id, version)?,
        (Some(_), _) => return Err(CommandError::usage("--version takes a single id")),
    };
    context.report_stored(note_repository, &stored);
    view::acknowledge(
        context,
        note_repository.file_kind,
        ("restored", &stored.notes),
        args.format.get(),
    )
}

const COLUMNS: [Column; 3] = [
    Column::whole("ID"),
    Column::optional("REMOVED"),
    Column::optional("HOW"),
];

fn list(context: &Context<'_>, note_repository: &NoteRepository<'_>, format: Format) -> Result<(), CommandError> {
    read(context, note_repository)?;
    let missing = note_repository.missing()?;
    match format {
        Format::Json => {
            let missing: Vec<_> = missing
                .iter()
                .map(
                    |known| json!({"at": format_timestamp(known.at), "how": known.action.word(), "memory": known.note}),
                )
                .collect();
            context.ui.json(&missing)
        }
        Format::Table => {
            let words = note_repository.file_kind.words();
            let columns = view::with_text(&COLUMNS, view::text_column(note_repository.file_kind));
            let nouns = (words.one, words.many);
            context.ui.list((&columns, &missing), row, nouns, "Nothing to restore.")
        }
        other => {
            let notes: Vec<Note> = missing.into_iter().map(|known| known.note).collect();
            view::whole(context, note_repository.file_kind, &notes, other)
        }
    }
}

fn row(known: &KnownNote) -> Vec<String> {
    vec![
        known.note.id.to_string(),
        format!("{:.0}", known.at),
        known.action.word().replace('_', " "),
        first_line(&known.note.content).to_owned(),
    ]
}
