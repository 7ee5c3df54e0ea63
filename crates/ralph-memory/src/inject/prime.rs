//! Notes for the beginning of a session: the most fitting ones, whole, within a budget.

use std::cmp::Reverse;

use ralph_model::{Budget, Note, Shelf};
use ralph_notes::{Document, entry_text};

use super::pack::{Item, Sizes, pack};
use crate::recall::{Hit, Recalled, Wanted, recall};

/// How the notes are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PrimeFormat {
    /// As they stand in their file.
    Markdown,
    /// As an array of objects.
    Json,
}

/// Notes that were chosen.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Primed {
    /// The text; empty when there is nothing to say.
    pub text: String,
    /// How many notes stand in it.
    pub shown: usize,
    /// How many did not fit.
    pub left_out: usize,
}

/// Chooses notes for a budget: those that fit the text best or, without one, the newest. Superseded ones never stand.
///
/// # Errors
/// When the notes cannot be written as JSON.
pub fn prime(
    document: &Document<'_>,
    wanted: &Wanted,
    about: Option<&str>,
    budget: Budget,
    format: PrimeFormat,
) -> Result<Primed, serde_json::Error> {
    let Recalled { matching, rest } = recall(document, wanted, about);
    let hits: Vec<Hit> = matching.into_iter().chain(rest).collect();
    let rendered = hits
        .iter()
        .map(|hit| render(&hit.note, format))
        .collect::<Result<Vec<String>, _>>()?;
    let kinds = document.shelf().kinds();
    let items: Vec<Item> = hits
        .iter()
        .zip(&rendered)
        .map(|(hit, text)| Item {
            group: kinds.iter().position(|kind| *kind == hit.note.kind).unwrap_or_default(),
            size: text.chars().count(),
        })
        .collect();
    let headings: Vec<usize> = kinds
        .iter()
        .map(|kind| heading(kind.section(), format).chars().count())
        .collect();
    let (before, after) = frame(document.shelf(), format);
    let sizes = Sizes {
        frame: before.len() + after.len(),
        group: &headings,
        note: left_out_note(hits.len(), format).len(),
    };
    let packed = pack(&items, &sizes, budget);
    let left_out = hits.len() - packed.chosen.len();
    let mut text = String::new();
    for (group, kind) in kinds.iter().enumerate() {
        let mut of_kind: Vec<usize> = packed
            .chosen
            .iter()
            .copied()
            .filter(|position| items.get(*position).is_some_and(|item| item.group == group))
            .collect();
        // Within a section the oldest stands first, as in the file.
        of_kind.sort_by_key(|position| hits.get(*position).map(|hit| Reverse(hit.age)));
        if !of_kind.is_empty() {
            text.push_str(&heading(kind.section(), format));
        }
        text.extend(
            of_kind
                .iter()
                .filter_map(|position| rendered.get(*position))
                .map(String::as_str),
        );
    }
    if format == PrimeFormat::Json && text.is_empty() {
        text = "[]\n".to_owned();
    } else if format == PrimeFormat::Json {
        text = format!("{before}{}{after}", text.strip_suffix(',').unwrap_or(&text));
    } else if !text.is_empty() {
        text = format!("{before}{text}{after}");
    }
    if left_out > 0 && packed.note_fits {
        let note = left_out_note(left_out, format);
        text.push_str(if text.is_empty() { note.trim_start() } else { &note });
    }
    Ok(Primed {
        text,
        shown: packed.chosen.len(),
        left_out,
    })
}

fn render(note: &Note, format: PrimeFormat) -> Result<String, serde_json::Error> {
    Ok(match format {
        PrimeFormat::Markdown => format!("\n{}", entry_text(note)),
        PrimeFormat::Json => format!("\n  {},", serde_json::to_string(note)?),
    })
}

fn heading(section: &str, format: PrimeFormat) -> String {
    match format {
        PrimeFormat::Markdown => format!("\n## {section}\n"),
        PrimeFormat::Json => String::new(),
    }
}

fn frame(shelf: Shelf, format: PrimeFormat) -> (String, &'static str) {
    match format {
        PrimeFormat::Markdown => (format!("# {}\n", shelf.title()), ""),
        PrimeFormat::Json => ("[".to_owned(), "\n]\n"),
    }
}

fn left_out_note(left_out: usize, format: PrimeFormat) -> String {
    match format {
        PrimeFormat::Markdown => {
            format!("\n<!-- truncated: budget exceeded -->\n<!-- {left_out} entries left out -->\n")
        }
        PrimeFormat::Json => String::new(),
    }
}
