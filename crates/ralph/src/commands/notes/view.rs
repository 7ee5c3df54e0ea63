//! How notes are shown in lists and in full.

use ralph_model::NoteFileKind;

use super::listed::Listed;
use crate::cli::Format;
use crate::context::Context;
use crate::error::CommandError;
use crate::table::Column;
use crate::ui::Style;

/// The columns before the text of a note.
pub(super) const COLUMNS: [Column; 4] = [
    Column::whole("ID"),
    Column::optional("TYPE"),
    Column::optional("CREATED"),
    Column::optional("TAGS"),
];
/// The same for results that include knowledge entries, whose file names are longer than any id.
pub(crate) const COLUMNS_OF_ALL: [Column; 4] = [Column::narrow("ID", ID_COLUMNS), COLUMNS[1], COLUMNS[2], COLUMNS[3]];
/// The same for knowledge entries alone: they are found by title, and all have the same type.
pub(crate) const KNOWLEDGE_COLUMNS: [Column; 4] = [
    Column::wide("ID"),
    Column::wide("TYPE"),
    COLUMNS[2],
    Column::narrow("TAGS", FEW_TAGS_COLUMNS),
];

/// Width of a memory id.
const ID_COLUMNS: usize = 19;
/// Width of a knowledge entry's tags next to its title on a narrow screen.
pub(crate) const FEW_TAGS_COLUMNS: usize = 16;

/// The greatest width of the tags in a table.
const TAGS_COLUMNS: usize = 24;

/// Reports changed notes.
pub(crate) fn acknowledge(
    context: &Context<'_>,
    file_kind: NoteFileKind,
    (done, notes): (&str, &[impl Listed]),
    format: Format,
) -> Result<(), CommandError> {
    match format {
        Format::Table if notes.is_empty() => context.ui.data("Nothing changed.\n"),
        Format::Table => notes.iter().try_for_each(|note| {
            let title = file_kind.words().title;
            context.ui.result("📝", &format!("{title} {done}: {}", note.id()))
        }),
        other => whole(context, file_kind, notes, other),
    }
}

/// Why there is nothing to list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Nothing {
    Yet,
    /// There are notes, but none matches.
    Matching,
}

pub(super) fn list(
    context: &Context<'_>,
    file_kind: NoteFileKind,
    (notes, nothing): (&[impl Listed], Nothing),
    format: Format,
) -> Result<(), CommandError> {
    let ui = context.ui;
    let words = file_kind.words();
    match format {
        Format::Json => ui.json(&notes),
        Format::Quiet => ui.data(&notes.iter().map(|note| format!("{}\n", note.id())).collect::<String>()),
        Format::Markdown => ui.text(&notes.iter().map(Listed::markdown).collect::<Vec<_>>().join("\n")),
        Format::Table => {
            let nothing = match nothing {
                Nothing::Yet => format!("No {} yet.", words.many),
                Nothing::Matching => format!("No matching {} found", words.many),
            };
            let columns = with_text(&COLUMNS, text_column(file_kind));
            ui.list((&columns, notes), row, (words.one, words.many), &nothing)
        }
    }
}

/// Shows notes in full.
pub(super) fn whole(
    context: &Context<'_>,
    file_kind: NoteFileKind,
    notes: &[impl Listed],
    format: Format,
) -> Result<(), CommandError> {
    let ui = context.ui;
    match format {
        Format::Json => match notes {
            [one] => ui.json(one),
            several => ui.json(&several),
        },
        Format::Quiet | Format::Markdown => list(context, file_kind, (notes, Nothing::Matching), format),
        Format::Table => {
            for (index, note) in notes.iter().enumerate() {
                if index > 0 {
                    ui.data("\n")?;
                }
                let id = ui.paint(Style::Strong, note.id());
                let about = [note.kind().to_owned(), note.created()];
                let about: Vec<String> = about.into_iter().filter(|word| !word.is_empty()).collect();
                ui.data(&format!("{id}  {}\n", about.join(", ")))?;
                let tags = Some(("tags".to_owned(), note.tags())).filter(|(_, tags)| !tags.is_empty());
                for (key, value) in tags.into_iter().chain(note.details()) {
                    ui.data(&ui.paint(Style::Faint, &key))?;
                    ui.text(&format!("  {value}\n"))?;
                }
                ui.text(&format!("\n{}\n", note.content()))?;
            }
            Ok(())
        }
    }
}

pub(super) fn text_column(file_kind: NoteFileKind) -> &'static str {
    match file_kind {
        NoteFileKind::Memories => "MEMORY",
        NoteFileKind::Guardrails => "GUARDRAIL",
    }
}

pub(super) fn with_text(columns: &[Column], title: &'static str) -> Vec<Column> {
    columns.iter().copied().chain([Column::cut(title)]).collect()
}

/// The cells before the text.
pub(super) fn head(note: &impl Listed) -> Vec<String> {
    vec![
        note.id().to_owned(),
        note.kind().to_owned(),
        note.created(),
        ralph_model::preview(&note.tags(), TAGS_COLUMNS),
    ]
}

fn row(note: &impl Listed) -> Vec<String> {
    let mut row = head(note);
    row.push(ralph_model::first_line(&note.content()).to_owned());
    row
}
