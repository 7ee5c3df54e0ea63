//! Our own recall: the documents are notes in a file, added together, and found again.

use std::collections::HashMap;
use std::path::Path;
use std::time::Duration;

use jiff::Timestamp;
use ralph_memory::capture::{Draft, LogPlace, Notebook, SecretPolicy, Surroundings};
use ralph_memory::recall::{Wanted, recall};
use ralph_model::{Clock, Extra, NoteKind, Shelf, SplitMix64, Tags};
use ralph_notes::{Document as Notes, FileError, Patience, create_folder};
use ralph_store::NoteFile;

use super::set::Document;
use super::systems::System;

/// The seed of the notes' ids.
const SEED: u64 = 1;
/// Nobody else writes there, so nobody is waited for.
const PATIENCE: Duration = Duration::from_secs(10);

/// A file of notes, read once, as every question would read it.
struct Ours {
    notes: Notes<'static>,
    /// Which document a note is, by its id.
    places: HashMap<String, usize>,
}

/// Writes the documents into a project of their own.
pub(super) fn load(documents: &[Document]) -> Result<Box<dyn System>, String> {
    let folder = tempfile::Builder::new()
        .prefix("ralph-recall-")
        .tempdir()
        .map_err(|error| format!("cannot make a project: {error}"))?;
    let alone = Alone(
        documents
            .iter()
            .map(|document| document.created)
            .max()
            .unwrap_or_default(),
    );
    let notebook = notebook(folder.path(), &alone);
    // A note is never blank, and what says nothing is never found.
    let (filled, drafts): (Vec<usize>, Vec<Draft>) = documents
        .iter()
        .enumerate()
        .filter(|(_, document)| !document.text.trim().is_empty())
        .map(|(place, document)| (place, draft(document)))
        .unzip();
    let failed = |error| format!("cannot write the documents as notes: {error}");
    let added = notebook.add(&drafts, &mut SplitMix64::new(SEED)).map_err(failed)?;
    let ids = added.notes.iter().map(|note| note.id.to_string());
    let reading = notebook.read().map_err(failed)?;
    Ok(Box::new(Ours {
        places: ids.zip(filled).collect(),
        // A document borrows the bytes it was read from; both are needed until the benchmark ends.
        notes: Box::leak(Box::new(reading)).document(),
    }))
}

fn draft(document: &Document) -> Draft {
    Draft {
        kind: NoteKind::Context,
        // No note holds a NUL.
        content: document.text.replace('\0', " "),
        tags: Tags::default(),
        extra: Extra::default(),
        secrets: SecretPolicy::Allow,
        at: Some(document.created),
    }
}

fn notebook<'a>(folder: &Path, alone: &'a Alone) -> Notebook<'a> {
    let file = Shelf::Memories.file_name();
    Notebook {
        shelf: Shelf::Memories,
        path: folder.join(file),
        log: LogPlace {
            database: folder.join("progress.db"),
            file: NoteFile {
                worktree: String::new(),
                path: file.to_owned(),
            },
        },
        surroundings: alone,
        clock: alone,
        patience: Patience {
            notice_after: PATIENCE,
            limit: PATIENCE,
            notice: &|_| {},
        },
    }
}

/// A project without git, at the moment of its last document.
struct Alone(Timestamp);

impl Clock for Alone {
    fn now(&self) -> Timestamp {
        self.0
    }
}

impl Surroundings for Alone {
    fn head(&self) -> Option<String> {
        None
    }

    fn prepare_note_folder(&self, file: &Path) -> Result<(), FileError> {
        file.parent().map_or(Ok(()), create_folder)
    }

    fn prepare_database_folder(&self, folder: &Path) -> Result<(), FileError> {
        create_folder(folder)
    }
}

impl System for Ours {
    fn search(&self, query: &str, allowed: &dyn Fn(usize) -> bool, limit: usize) -> Result<Vec<usize>, String> {
        let found = recall(&self.notes, &Wanted::default(), Some(query));
        let places = found
            .matching
            .iter()
            .filter_map(|hit| self.places.get(hit.note.id.as_str()));
        Ok(places.copied().filter(|place| allowed(*place)).take(limit).collect())
    }
}
