//! `ralph` alone: how things stand, and the next sensible command.

use ralph_memory::capture::Notebook;
use ralph_memory::catalogue::Problems;
use ralph_model::{Shelf, count};
use ralph_notes::Document;
use ralph_store::{KnownNote, NoteAction};

use crate::context::Context;
use crate::error::CommandError;
use crate::paths::{self, Spelling};
use crate::ui::Style;

pub(crate) fn cmd_overview(context: &Context<'_>) -> Result<(), CommandError> {
    let root = context.project.root.display().to_string();
    let mut text = line(context, "Project", &root);
    let mut shelves = Vec::new();
    let mut gone = Vec::new();
    for shelf in [Shelf::Memories, Shelf::Guardrails] {
        let notebook = context.notebook(shelf, Spelling::Own);
        let reading = notebook.read()?;
        let document = reading.document();
        context.report_problems(&notebook, &Problems::of(&document));
        context.report_findings(&notebook, &notebook.look(reading.stamp()));
        shelves.extend(counted(context, &notebook, &document));
        gone.extend(vanished(&notebook));
    }
    let has_notes = !shelves.is_empty();
    if !has_notes {
        shelves.push("none yet".to_owned());
    }
    for (at, shelf) in shelves.iter().enumerate() {
        text.push_str(&line(context, if at == 0 { "Notes" } else { "" }, shelf));
    }
    for gone in gone {
        text.push_str(&line(context, "Gone", &gone));
    }
    let next = if !context.project.root.join(paths::CONFIG).exists() {
        "ralph init    # set this project up"
    } else if has_notes {
        "ralph recall \"TEXT\"    # what is known about it"
    } else {
        "ralph remember \"TEXT\"    # keep the first note"
    };
    text.push_str(&line(context, "Next", next));
    context.ui.data(&text)
}

fn line(context: &Context<'_>, title: &str, text: &str) -> String {
    let gap = " ".repeat("Project  ".len() - title.len());
    format!("{}{gap}{text}\n", context.ui.paint(Style::Strong, title))
}

/// How many notes stand on a shelf, by their kinds; nothing where there are none.
fn counted(context: &Context<'_>, notebook: &Notebook<'_>, document: &Document<'_>) -> Option<String> {
    let (entries, signs) = (document.entries(), document.signs().len());
    if entries.is_empty() && signs == 0 {
        return None;
    }
    let kinds = notebook.shelf.kinds().iter().map(|kind| {
        let of_kind = entries.iter().filter(|entry| entry.kind == *kind).count();
        (of_kind, kind.word(), kind.section().to_lowercase())
    });
    let kinds: Vec<String> = kinds
        .chain([(signs, "Sign", "Signs".to_owned())])
        .filter(|(of_kind, ..)| *of_kind > 0)
        .map(|(of_kind, one, many)| count(of_kind, one, &many))
        .collect();
    let words = notebook.shelf.words();
    let notes = count(entries.len() + signs, words.one, words.many);
    let shown = context.project.shown(&notebook.path);
    Some(format!("{notes} in {shown} ({})", kinds.join(", ")))
}

/// What is gone from a shelf without having been deleted.
fn vanished(notebook: &Notebook<'_>) -> Option<String> {
    let is_vanished = |known: &&KnownNote| known.action == NoteAction::Vanished;
    let gone = notebook
        .gone()
        .map_or(0, |gone| gone.iter().filter(is_vanished).count());
    let command = notebook.shelf.words().command;
    let notes = count(gone, "note", "notes");
    (gone > 0).then(|| format!("{notes} vanished and can be brought back: {command} restore --list"))
}
