//! `show`: notes whole, or their histories.

use std::marker::PhantomData;

use clap::Args;
use ralph_memory::capture::Notebook;
use ralph_model::{Note, NoteOrSign, first_line, moment_text};
use ralph_notes::Document;
use ralph_store::NoteVersion;
use serde_json::json;

use super::{OnShelf, read, view};
use crate::cli::{Format, FormatArgs};
use crate::context::Context;
use crate::error::CommandError;
use crate::table::{Column, Fit};
use crate::ui::showing;

/// Show notes whole
#[derive(Debug, Args)]
#[command(after_help = S::examples("Examples:
  {ralph} show {id}
  {ralph} show {id} --history"))]
pub(crate) struct ShowArgs<S: OnShelf> {
    /// Ids, or their beginnings
    #[arg(value_name = "ID", required = true)]
    ids: Vec<String>,
    /// Show every version that is on record, also of a note that is gone
    #[arg(long)]
    history: bool,
    #[command(flatten)]
    format: FormatArgs,
    #[arg(skip)]
    shelf: PhantomData<S>,
}

pub(super) fn cmd_show<S: OnShelf>(
    context: &Context<'_>,
    notebook: &Notebook<'_>,
    args: &ShowArgs<S>,
) -> Result<(), CommandError> {
    if args.history {
        let reading = read(context, notebook)?;
        return show_history(context, notebook, &reading.document(), args);
    }
    let found = context.ask(notebook, |catalogue| {
        let find = |id: &String| catalogue.find(notebook.shelf, id);
        args.ids.iter().map(find).collect::<Result<Option<Vec<_>>, _>>()
    })?;
    // The file tells best what is not clear about an id.
    let notes = match found {
        Some(notes) => notes,
        None => find_in_file(notebook, &args.ids)?,
    };
    view::whole(context, notebook.shelf, &notes, args.format.get())
}

fn find_in_file(notebook: &Notebook<'_>, ids: &[String]) -> Result<Vec<NoteOrSign>, CommandError> {
    let reading = notebook.read()?;
    let document = reading.document();
    let signs = notebook.find_signs(&document, ids)?;
    let others: Vec<&String> = (ids.iter().zip(&signs))
        .filter_map(|(id, sign)| sign.is_none().then_some(id))
        .collect();
    let mut entries = notebook.select_all(&document, &others)?.into_iter();
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
    Column {
        title: "ID",
        fit: Fit::Optional,
    },
    Column {
        title: "VERSION",
        fit: Fit::Whole,
    },
    Column {
        title: "TIME",
        fit: Fit::Optional,
    },
    Column {
        title: "CHANGE",
        fit: Fit::Whole,
    },
];

fn show_history<S: OnShelf>(
    context: &Context<'_>,
    notebook: &Notebook<'_>,
    document: &Document<'_>,
    args: &ShowArgs<S>,
) -> Result<(), CommandError> {
    let mut versions: Vec<NoteVersion> = Vec::new();
    for id in &args.ids {
        let found = notebook.history(id)?;
        if found.is_empty() {
            let standing = document.id(notebook.select(document, id)?);
            return Err(CommandError::new(format!("no change of {standing} is on record yet")));
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
                        "at": moment_text(version.at),
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
            let columns = view::with_text(&COLUMNS, view::text_column(notebook.shelf));
            context
                .ui
                .table(&columns, &rows, &showing(rows.len(), "version", "versions"))
        }
        other => {
            let notes: Vec<Note> = versions.into_iter().map(|version| version.note).collect();
            view::whole(context, notebook.shelf, &notes, other)
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
