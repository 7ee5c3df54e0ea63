//! `ralph` alone: how things stand, and the next sensible command.

use ralph_memory::capture::Notebook;
use ralph_memory::catalogue::Problems;
use ralph_model::{Shelf, count};
use ralph_notes::Document;
use ralph_store::NoteAction;

use crate::context::Context;
use crate::error::CommandError;
use crate::paths::{self, Spelling};
use crate::ui::Style;

pub(crate) fn cmd_overview(context: &Context<'_>) -> Result<(), CommandError> {
    let mut notes: Vec<String> = Vec::new();
    let mut gone: Vec<String> = Vec::new();
    for shelf in [Shelf::Memories, Shelf::Guardrails] {
        let notebook = context.notebook(shelf, Spelling::Own);
        let reading = notebook.read()?;
        let document = reading.document();
        context.report_problems(&notebook, &Problems::of(&document));
        context.report_findings(&notebook, &notebook.look(reading.stamp()));
        notes.extend(standing(context, &notebook, &document));
        gone.extend(vanished(&notebook));
    }
    let next = if !context.project.root.join(paths::CONFIG).exists() {
        "ralph init    # set this project up"
    } else if notes.is_empty() {
        "ralph memory add \"TEXT\"    # keep the first note"
    } else {
        "ralph memory prime --budget 2000    # for an agent's start"
    };
    if notes.is_empty() {
        notes.push("none yet".to_owned());
    }
    let mut text = String::new();
    let root = context.project.root.display().to_string();
    for (title, lines) in [
        ("Project", vec![root]),
        ("Notes", notes),
        ("Gone", gone),
        ("Next", vec![next.to_owned()]),
    ] {
        for (index, line) in lines.iter().enumerate() {
            let (shown, width) = match index {
                0 => (context.ui.paint(Style::Strong, title), title.len()),
                _ => (String::new(), 0),
            };
            let gap = " ".repeat("Project  ".len() - width);
            text.push_str(&format!("{shown}{gap}{line}\n"));
        }
    }
    context.ui.data(&text)
}

/// What stands on a shelf: how many notes of which kinds, in which file; none where there is nothing.
fn standing(context: &Context<'_>, notebook: &Notebook<'_>, document: &Document<'_>) -> Option<String> {
    let (entries, signs) = (document.entries(), document.signs().len());
    if entries.is_empty() && signs == 0 {
        return None;
    }
    let number = |kind| entries.iter().filter(|entry| entry.kind == kind).count();
    let kinds = notebook.shelf.kinds().iter().map(|kind| {
        let section = kind.section().to_lowercase();
        (number(*kind), count(number(*kind), kind.word(), &section))
    });
    let kinds = kinds.chain([(signs, count(signs, "Sign", "Signs"))]);
    let kinds: Vec<String> = kinds.filter(|(n, _)| *n > 0).map(|(_, said)| said).collect();
    let words = notebook.shelf.words();
    let total = count(entries.len() + signs, words.one, words.many);
    let shown = context.project.shown(&notebook.path);
    Some(format!("{total} in {shown} ({})", kinds.join(", ")))
}

/// How many notes of a shelf vanished; none where none did.
fn vanished(notebook: &Notebook<'_>) -> Option<String> {
    let gone = notebook.gone().unwrap_or_default();
    let vanished = gone.iter().filter(|known| known.action == NoteAction::Vanished);
    let vanished = vanished.count();
    let notes = count(vanished, "note", "notes");
    let command = notebook.shelf.words().command;
    (vanished > 0).then(|| format!("{notes} vanished and can be brought back: {command} restore --list"))
}
