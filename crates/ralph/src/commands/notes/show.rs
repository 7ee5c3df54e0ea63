//! `show`: shows whole notes, or their history.

use std::marker::PhantomData;

use clap::Args;
use ralph_memory::capture::NoteRepository;
use ralph_memory::recall::find_note;
use ralph_model::{Note, NoteOrSign, first_line, format_timestamp};
use ralph_notes::Document;
use ralph_store::NoteVersion;
use serde_json::json;

use super::{NoteFamily, read, view};
use crate::cli::{Format, FormatArgs};
use crate::context::Context;
use crate::error::CommandError;
use crate::table::Column;
use crate::ui::showing;

/// Show notes in full
#[derive(Debug, Args)]
#[command(after_help = S::examples("Examples:
  {ralph} show {id}
  {ralph} show {id} --history"))]
pub(crate) struct ShowArgs<S: NoteFamily> {
    /// Ids, or unique prefixes
    #[arg(value_name = "ID", required = true)]
    ids: Vec<String>,
    /// Show all recorded versions, including those of deleted notes
    #[arg(long)]
    history: bool,
    #[command(flatten)]
    format: FormatArgs,
    #[arg(skip)]
    family: PhantomData<S>,
}

pub(super) fn cmd_show<S: NoteFamily>(
    context: &Context<'_>,
    note_repository: &NoteRepository<'_>,
    args: &ShowArgs<S>,
) -> Result<(), CommandError> {
    if args.history {
        let reading = read(context, note_repository)?;
        return show_history(context, note_repository, &reading.document(), args);
    }
    let found = context.ask(note_repository, |index| {
        let find = |id: &String| find_note(index, note_repository.file_kind, id);
        args.ids.iter().map(find).collect::<Result<Option<Vec<_>>, _>>()
    })?;
    // Reading the file gives the best error for an unknown or ambiguous id.
    let notes = match found {
        Some(notes) => notes,
        None => find_in_file(note_repository, &args.ids)?,
    };
    view::whole(context, note_repository.file_kind, &notes, args.format.get())
}

fn find_in_file(note_repository: &NoteRepository<'_>, ids: &[String]) -> Result<Vec<NoteOrSign>, CommandError> {
    let reading = note_repository.read()?;
    let document = reading.document();
    let signs = note_repository.find_signs(&document, ids)?;
    let others: Vec<&String> = (ids.iter().zip(&signs))
        .filter_map(|(id, sign)| sign.is_none().then_some(id))
        .collect();
    let mut entries = note_repository.select_all(&document, &others)?.into_iter();
    let found = signs.into_iter().filter_map(|sign| match sign {
        Some(sign) => Some(document.item_of(sign)),
        None => entries
            .next()
            .and_then(|entry| document.note(entry))
            .map(NoteOrSign::Note),
    });
    Ok(found.collect())
}

const COLUMNS: [Column; 4] = [
    Column::optional("ID"),
    Column::whole("VERSION"),
    Column::optional("TIME"),
    Column::whole("CHANGE"),
];

fn show_history<S: NoteFamily>(
    context: &Context<'_>,
    note_repository: &NoteRepository<'_>,
    document: &Document<'_>,
    args: &ShowArgs<S>,
) -> Result<(), CommandError> {
    let mut versions: Vec<NoteVersion> = Vec::new();
    for id in &args.ids {
        let found = note_repository.history(id)?;
        if found.is_empty() {
            let current = document.id(note_repository.select(document, id)?);
            return Err(CommandError::new(format!("no recorded changes of {current} yet")));
        }
        versions.extend(found);
    }
    match args.format.get() {
        Format::Json => {
            let versions: Vec<_> = versions
                .iter()
                .map(|version| {
                    json!({
                        "version": version.number,
                        "at": format_timestamp(version.at),
                        "change": version.action.word(),
                        "file": version.file.path,
                        "worktree": version.file.worktree,
                        "memory": version.note,
                    })
                })
                .collect();
            context.ui.json(&versions)
        }
        Format::Table => {
            let rows: Vec<Vec<String>> = versions.iter().map(row).collect();
            let columns = view::with_text(&COLUMNS, view::text_column(note_repository.file_kind));
            context
                .ui
                .table(&columns, &rows, &showing(rows.len(), "version", "versions"))
        }
        other => {
            let notes: Vec<Note> = versions.into_iter().map(|version| version.note).collect();
            view::whole(context, note_repository.file_kind, &notes, other)
        }
    }
}

fn row(version: &NoteVersion) -> Vec<String> {
    vec![
        version.note.id.to_string(),
        version.number.to_string(),
        format!("{:.0}", version.at),
        version.action.word().replace('_', " "),
        first_line(&version.note.content).to_owned(),
    ]
}
