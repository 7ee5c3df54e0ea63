//! Our own recall: the documents are notes in a file, added together, and found again.

use std::collections::HashMap;
use std::path::Path;
use std::time::Duration;

use jiff::Timestamp;
use ralph_memory::capture::{Draft, LogPlace, Notebook, SecretPolicy, Surroundings};
use ralph_memory::catalogue::{Catalogue, CatalogueHome, CataloguePlace};
use ralph_memory::recall::{LongNotes, Question, Reach, Wanted, recall};
use ralph_model::{Clock, Extra, NoteKind, Shelf, SplitMix64, Tags};
use ralph_notes::Patience;
use ralph_store::{DatabasePlace, NoteFile};
use tempfile::TempDir;

use super::set::Document;
use super::systems::{Allowed, System};

/// The seed of the notes' ids.
const SEED: u64 = 1;
/// Nobody else writes there, so nobody is waited for.
const PATIENCE: Duration = Duration::from_secs(10);

/// A project of notes with its index.
struct Ours {
    catalogue: Catalogue,
    /// Which document a note is, by its id.
    places: HashMap<String, usize>,
    /// The ids of the notes, by the places of the documents.
    ids: HashMap<usize, String>,
    _folder: TempDir,
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
    let ids: Vec<String> = added.notes.iter().map(|note| note.id.to_string()).collect();
    Ok(Box::new(Ours {
        catalogue: Catalogue::open(&notebook.catalogue).map_err(|error| error.to_string())?,
        places: ids.iter().cloned().zip(filled.iter().copied()).collect(),
        ids: filled.into_iter().zip(ids).collect(),
        _folder: folder,
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
        author: ralph_model::Author::HUMAN,
        path: folder.join(file),
        log: LogPlace {
            database: DatabasePlace {
                path: folder.join("progress.db"),
                backups: None,
            },
            file: NoteFile {
                worktree: String::new(),
                path: file.to_owned(),
            },
        },
        catalogue: CataloguePlace {
            database: folder.join("index.db"),
            shelves: vec![(Shelf::Memories, folder.join(file))],
            knowledge: folder.join("knowledge"),
            home: alone,
            file_clock: alone,
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

impl Surroundings for Alone {}

impl CatalogueHome for Alone {
    fn prepare_index(&self) -> bool {
        true
    }
}

impl System for Ours {
    fn search(&self, query: &str, allowed: &Allowed<'_>, limit: usize) -> Result<Vec<usize>, String> {
        let excepted = allowed.except.iter().filter_map(|place| self.ids.get(place));
        let wanted = Wanted {
            before_second: allowed.before.map(first_second_from),
            except: excepted.cloned().collect(),
            ..Wanted::default()
        };
        let question = Question {
            text: query,
            shelves: &[Shelf::Memories],
            knowledge: LongNotes::Left,
            wanted: &wanted,
            reach: Reach::Best(limit),
        };
        let found = recall(&self.catalogue, &question).map_err(|error| error.to_string())?;
        let places = found.hits.iter().filter_map(|hit| self.places.get(hit.item.id()));
        Ok(places.copied().collect())
    }
}

/// The first whole second that is not before a moment; ids have no finer time.
fn first_second_from(moment: Timestamp) -> i64 {
    moment.as_second() + i64::from(moment.subsec_nanosecond() > 0)
}
