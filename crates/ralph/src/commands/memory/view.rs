//! How notes are shown.

use ralph_model::Note;
use ralph_notes::entry_text;

use crate::cli::Format;
use crate::context::Context;
use crate::error::CommandError;
use crate::table::{Column, Fit};
use crate::ui::{Style, showing};

const COLUMNS: &[Column] = &[
    Column {
        title: "ID",
        fit: Fit::Whole,
    },
    Column {
        title: "TYPE",
        fit: Fit::Optional,
    },
    Column {
        title: "CREATED",
        fit: Fit::Optional,
    },
    Column {
        title: "TAGS",
        fit: Fit::Optional,
    },
    Column {
        title: "MEMORY",
        fit: Fit::Cut,
    },
];

/// The widest that the tags of a note are shown in a table.
const TAGS_COLUMNS: usize = 24;

/// Says what was done with notes.
pub(super) fn acknowledge(
    context: &Context<'_>,
    done: &str,
    notes: &[Note],
    format: Format,
) -> Result<(), CommandError> {
    match format {
        Format::Table if notes.is_empty() => context.ui.data("Nothing changed.\n"),
        Format::Table => notes
            .iter()
            .try_for_each(|note| context.ui.result("📝", &format!("Memory {done}: {}", note.id))),
        other => whole(context, notes, other),
    }
}

/// Shows notes in a list; `nothing` is said when there are none.
pub(super) fn list(context: &Context<'_>, notes: &[Note], format: Format, nothing: &str) -> Result<(), CommandError> {
    let ui = context.ui;
    match format {
        Format::Json => ui.json(&notes),
        Format::Quiet => ui.data(&notes.iter().map(|note| format!("{}\n", note.id)).collect::<String>()),
        Format::Markdown => ui.text(&notes.iter().map(entry_text).collect::<Vec<_>>().join("\n")),
        Format::Table if notes.is_empty() => ui.data(&format!("{nothing}\n")),
        Format::Table => {
            let rows: Vec<Vec<String>> = notes.iter().map(row).collect();
            ui.table(COLUMNS, &rows, &showing(notes.len(), "memory", "memories"))
        }
    }
}

/// Shows notes whole, one after the other.
pub(super) fn whole(context: &Context<'_>, notes: &[Note], format: Format) -> Result<(), CommandError> {
    let ui = context.ui;
    match format {
        Format::Json => match notes {
            [one] => ui.json(one),
            several => ui.json(&several),
        },
        Format::Quiet | Format::Markdown => list(context, notes, format, ""),
        Format::Table => {
            for (index, note) in notes.iter().enumerate() {
                if index > 0 {
                    ui.data("\n")?;
                }
                let id = ui.paint(Style::Strong, note.id.as_str());
                ui.data(&format!("{id}  {}, {}\n", note.kind, note.created))?;
                let tags = (!note.tags.is_empty()).then(|| ("tags".to_owned(), note.tags.to_string()));
                let extra = note.extra.iter().map(|(key, value)| (key.to_owned(), value.to_owned()));
                for (key, value) in tags.into_iter().chain(extra) {
                    ui.data(&ui.paint(Style::Faint, &key))?;
                    ui.text(&format!("  {value}\n"))?;
                }
                ui.text(&format!("\n{}\n", note.content))?;
            }
            Ok(())
        }
    }
}

fn row(note: &Note) -> Vec<String> {
    vec![
        note.id.to_string(),
        note.kind.to_string(),
        note.created.to_string(),
        ralph_model::preview(&note.tags.to_string(), TAGS_COLUMNS),
        ralph_model::first_line(&note.content).to_owned(),
    ]
}
