//! How rows of the journal are shown.

use ralph_model::{JournalRow, first_line};

use crate::context::Context;
use crate::error::CommandError;
use crate::table::{Column, Fit};
use crate::ui::showing;

const COLUMNS: [Column; 6] = [
    Column {
        title: "ID",
        fit: Fit::Whole,
    },
    Column {
        title: "ITERATION",
        fit: Fit::Optional,
    },
    Column {
        title: "OUTCOME",
        fit: Fit::Whole,
    },
    Column {
        title: "TASK",
        fit: Fit::Optional,
    },
    Column {
        title: "TIME",
        fit: Fit::Optional,
    },
    Column {
        title: "WHAT",
        fit: Fit::Cut,
    },
];

/// Prints rows as a table.
pub(super) fn table(context: &Context<'_>, rows: &[JournalRow]) -> Result<(), CommandError> {
    let cells: Vec<Vec<String>> = rows.iter().map(cells).collect();
    let closing = showing(rows.len(), "iteration", "iterations");
    context.ui.table(&COLUMNS, &cells, &closing)
}

fn cells(row: &JournalRow) -> Vec<String> {
    let JournalRow { id, row } = row;
    let said = row.notes.as_deref().map(first_line).filter(|notes| !notes.is_empty());
    let said = said.or(Some(row.reason.as_str())
        .filter(|reason| !reason.is_empty())
        .map(first_line));
    let title = first_line(&row.task_title);
    vec![
        id.to_string(),
        format!("{}/{}", row.run, row.iteration),
        row.outcome.word().to_owned(),
        row.task.as_ref().map(ToString::to_string).unwrap_or_default(),
        format!("{:.0}", row.created_at),
        said.map_or_else(|| title.to_owned(), |said| format!("{title}: {said}")),
    ]
}
