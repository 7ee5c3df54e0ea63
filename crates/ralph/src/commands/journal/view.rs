//! Formats journal entries as a table.

use ralph_model::{JournalRow, NewJournalRow, first_line};

use crate::commands::task::in_short;
use crate::context::Context;
use crate::error::CommandError;
use crate::table::Column;

const COLUMNS: [Column; 6] = [
    Column::whole("ID"),
    Column::optional("ITERATION"),
    Column::whole("OUTCOME"),
    Column::optional("TASK"),
    Column::optional("TIME"),
    Column::cut("WHAT"),
];

pub(super) fn table(context: &Context<'_>, rows: &[JournalRow], nothing: &str) -> Result<(), CommandError> {
    let nouns = ("iteration", "iterations");
    context.ui.list((&COLUMNS, rows), cells, nouns, nothing)
}

fn cells(row: &JournalRow) -> Vec<String> {
    let JournalRow { id, row, .. } = row;
    vec![
        id.to_string(),
        format!("{}/{}", row.run, row.iteration),
        row.outcome.word().to_owned(),
        row.task.as_ref().map(ToString::to_string).unwrap_or_default(),
        format!("{:.0}", row.created_at),
        what(row),
    ]
}

/// A one-line summary: the task's title, with the notes or else the reason.
pub(crate) fn what(row: &NewJournalRow) -> String {
    let title = first_line(&row.task_title);
    let texts = [row.notes.as_deref().unwrap_or_default(), row.reason.as_str()];
    let text = texts.into_iter().map(in_short).find(|text| !text.is_empty());
    text.map_or_else(|| title.to_owned(), |text| format!("{title}: {text}"))
}
