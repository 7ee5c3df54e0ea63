//! How rows of the journal are shown.

use ralph_model::{JournalRow, NewJournalRow, first_line};

use crate::commands::task::in_short;
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

/// What a row says, on a line: the task's title, and what was noted or else what was the matter.
pub(crate) fn what(row: &NewJournalRow) -> String {
    let title = first_line(&row.task_title);
    let texts = [row.notes.as_deref().unwrap_or_default(), row.reason.as_str()];
    let said = texts.into_iter().map(in_short).find(|said| !said.is_empty());
    said.map_or_else(|| title.to_owned(), |said| format!("{title}: {said}"))
}
