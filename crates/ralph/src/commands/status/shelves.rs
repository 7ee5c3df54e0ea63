//! How many notes stand on the shelves, and what is gone from them.

use std::fs;
use std::io::ErrorKind;

use ralph_memory::capture::Notebook;
use ralph_memory::catalogue::Problems;
use ralph_model::{Shelf, count};
use ralph_notes::Document;
use ralph_store::{KnownNote, NoteAction};

use crate::context::Context;
use crate::error::CommandError;
use crate::paths::{self, Spelling};

/// What stands on the shelves.
pub(super) struct Shelves {
    /// A line for each shelf that is not empty.
    pub(super) counted: Vec<String>,
    /// A line for each shelf from which notes vanished.
    pub(super) gone: Vec<String>,
    /// The name of each shelf with the number of its notes; the long ones count as one more.
    pub(super) numbers: Vec<(&'static str, usize)>,
}

impl Shelves {
    /// Looks at all shelves, and says what is wrong with their files.
    pub(super) fn look(context: &Context<'_>) -> Result<Self, CommandError> {
        let mut shelves = Self {
            counted: Vec::new(),
            gone: Vec::new(),
            numbers: Vec::new(),
        };
        for shelf in [Shelf::Memories, Shelf::Guardrails] {
            let notebook = context.notebook(shelf, Spelling::Own);
            let reading = notebook.read()?;
            let document = reading.document();
            context.report_problems(&notebook, &Problems::of(&document));
            context.report_findings(&notebook, &notebook.look(reading.stamp()));
            shelves.counted.extend(counted(context, &notebook, &document));
            shelves.gone.extend(vanished(&notebook));
            let notes = document.entries().len() + document.signs().len();
            shelves.numbers.push((shelf.words().many, notes));
        }
        let long_notes = long_notes(context);
        if long_notes > 0 {
            let notes = count(long_notes, "long note", "long notes");
            shelves.counted.push(format!("{notes} in {}", paths::KNOWLEDGE));
        }
        shelves.numbers.push(("knowledge", long_notes));
        Ok(shelves)
    }
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

/// How many long notes there are, each in a file of its own. That their folder cannot be read is said.
fn long_notes(context: &Context<'_>) -> usize {
    let entries = match fs::read_dir(context.project.root.join(paths::KNOWLEDGE)) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return 0,
        Err(error) => {
            let folder = paths::KNOWLEDGE;
            context.ui.warning(&format!("{folder} cannot be read: {error}."));
            return 0;
        }
    };
    let names = entries.filter_map(|entry| entry.ok().filter(|entry| entry.path().is_file()));
    let names = names.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names
        .filter(|name| name.ends_with(".md") && !name.starts_with('.'))
        .count()
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
