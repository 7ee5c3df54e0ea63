//! `restore`: brings notes back.

use std::marker::PhantomData;

use clap::Args;
use ralph_memory::capture::Notebook;
use ralph_model::{Note, first_line, moment_text};
use ralph_store::KnownNote;
use serde_json::json;

use super::{OnShelf, read, view};
use crate::cli::{Format, FormatArgs};
use crate::context::Context;
use crate::error::CommandError;
use crate::numbers::from_zero;
use crate::table::{Column, Fit};
use crate::ui::showing;

/// Bring notes back that are gone, or an earlier version of one
#[derive(Debug, Args)]
#[command(after_help = S::examples("Examples:
  {ralph} restore --list
  {ralph} restore {id}
  {ralph} restore {id} --version 2  # of show --history"))]
pub(crate) struct RestoreArgs<S: OnShelf> {
    /// Ids, or their beginnings
    #[arg(value_name = "ID", required_unless_present = "list")]
    ids: Vec<String>,
    /// List what can be brought back
    #[arg(long, conflicts_with_all = ["ids", "version"])]
    list: bool,
    /// Go back to this version
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = from_zero::<usize>)]
    version: Option<usize>,
    #[command(flatten)]
    format: FormatArgs,
    #[arg(skip)]
    shelf: PhantomData<S>,
}

impl<S: OnShelf> RestoreArgs<S> {
    pub(super) fn ids(&self) -> Vec<&str> {
        self.ids.iter().map(String::as_str).collect()
    }
}

pub(super) fn cmd_restore<S: OnShelf>(
    context: &Context<'_>,
    notebook: &Notebook<'_>,
    args: &RestoreArgs<S>,
) -> Result<(), CommandError> {
    if args.list {
        return list(context, notebook, args.format.get());
    }
    let stored = match (args.version, args.ids.as_slice()) {
        (None, ids) => notebook.restore(ids)?,
        (Some(version), [id]) => notebook.go_back(id, version)?,
        (Some(_), _) => return Err(CommandError::usage("--version goes with a single id")),
    };
    context.report_stored(notebook, &stored);
    view::acknowledge(context, notebook.shelf, ("restored", &stored.notes), args.format.get())
}

const COLUMNS: [Column; 3] = [
    Column {
        title: "ID",
        fit: Fit::Whole,
    },
    Column {
        title: "GONE SINCE",
        fit: Fit::Optional,
    },
    Column {
        title: "HOW",
        fit: Fit::Optional,
    },
];

fn list(context: &Context<'_>, notebook: &Notebook<'_>, format: Format) -> Result<(), CommandError> {
    read(context, notebook)?;
    let gone = notebook.gone()?;
    match format {
        Format::Json => {
            let gone: Vec<_> = gone
                .iter()
                .map(|known| json!({"at": moment_text(known.at), "how": known.action.word(), "memory": known.note}))
                .collect();
            context.ui.json(&gone)
        }
        Format::Table if gone.is_empty() => context.ui.data("Nothing is gone.\n"),
        Format::Table => {
            let rows: Vec<Vec<String>> = gone.iter().map(row).collect();
            let words = notebook.shelf.words();
            let columns = view::with_text(&COLUMNS, view::text_column(notebook.shelf));
            context
                .ui
                .table(&columns, &rows, &showing(rows.len(), words.one, words.many))
        }
        other => {
            let notes: Vec<Note> = gone.into_iter().map(|known| known.note).collect();
            view::whole(context, notebook.shelf, &notes, other)
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
