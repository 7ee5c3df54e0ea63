//! Our own recall: the documents are added as memories to a file.

use std::collections::HashMap;
use std::path::Path;
use std::time::Duration;

use jiff::Timestamp;
use ralph_memory::capture::{Draft, LogPlace, NoteRepository, ProjectEnv, SecretPolicy};
use ralph_memory::recall::{KnowledgeSearch, NoteFilter, Question, Reach, recall};
use ralph_model::{Clock, Extra, NoteFileKind, NoteKind, SplitMix64, Tags};
use ralph_notes::{Boundary, Patience};
use ralph_search::{IndexPlace, SearchIndex, Sources};
use ralph_store::{DatabasePlace, NoteFile};
use tempfile::TempDir;

use super::set::Document;
use super::systems::{Allowed, System};

/// The seed of the memory ids.
const SEED: u64 = 1;
/// The lock timeout; there are no other writers.
const PATIENCE: Duration = Duration::from_secs(10);

/// A project with memories and an index.
struct Ours {
    index: SearchIndex,
    /// The document index of each memory id.
    places: HashMap<String, usize>,
    /// The memory id of each document index.
    ids: HashMap<usize, String>,
    _folder: TempDir,
}

/// Writes the documents into a new project.
pub(super) fn load(documents: &[Document]) -> Result<Box<dyn System>, String> {
    let folder = tempfile::Builder::new()
        .prefix("ralph-recall-")
        .tempdir()
        .map_err(|error| format!("cannot create a project: {error}"))?;
    let environment = TestProject {
        now: documents
            .iter()
            .map(|document| document.created)
            .max()
            .unwrap_or_default(),
        boundary: Boundary::new(folder.path(), &[]),
    };
    let note_repository = note_repository(folder.path(), &environment);
    // A memory must not be blank, and a blank document is never found.
    let (filled, drafts): (Vec<usize>, Vec<Draft>) = documents
        .iter()
        .enumerate()
        .filter(|(_, document)| !document.text.trim().is_empty())
        .map(|(place, document)| (place, draft(document)))
        .unzip();
    let failed = |error| format!("cannot write the documents as memories: {error}");
    let added = note_repository
        .add(&drafts, &mut SplitMix64::new(SEED))
        .map_err(failed)?;
    let ids: Vec<String> = added.notes.iter().map(|note| note.id.to_string()).collect();
    Ok(Box::new(Ours {
        index: SearchIndex::open(&note_repository.index, Sources::NOTES).map_err(|error| error.to_string())?,
        places: ids.iter().cloned().zip(filled.iter().copied()).collect(),
        ids: filled.into_iter().zip(ids).collect(),
        _folder: folder,
    }))
}

fn draft(document: &Document) -> Draft {
    Draft {
        kind: NoteKind::Context,
        // A memory must not contain NUL.
        content: document.text.replace('\0', " "),
        tags: Tags::default(),
        extra: Extra::default(),
        secrets: SecretPolicy::Allow,
        at: Some(document.created),
    }
}

fn note_repository<'a>(folder: &Path, environment: &'a TestProject) -> NoteRepository<'a> {
    let file = NoteFileKind::Memories.file_name();
    NoteRepository {
        file_kind: NoteFileKind::Memories,
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
        index: IndexPlace {
            database: folder.join("index.db"),
            file_kinds: vec![(NoteFileKind::Memories, folder.join(file))],
            knowledge: folder.join("knowledge"),
            may_create: true,
            boundary: &environment.boundary,
            file_clock: environment,
        },
        project_env: ProjectEnv::default(),
        clock: environment,
        patience: Patience {
            notice_after: PATIENCE,
            limit: PATIENCE,
            notice: &|_| {},
        },
    }
}

/// A project without git, at the time of its last document.
struct TestProject {
    now: Timestamp,
    boundary: Boundary,
}

impl Clock for TestProject {
    fn now(&self) -> Timestamp {
        self.now
    }
}

impl System for Ours {
    fn search(&self, query: &str, allowed: &Allowed<'_>, limit: usize) -> Result<Vec<usize>, String> {
        let excepted = allowed.except.iter().filter_map(|place| self.ids.get(place));
        let wanted = NoteFilter {
            before_second: allowed.before.map(first_second_from),
            except: excepted.cloned().collect(),
            ..NoteFilter::default()
        };
        let question = Question {
            text: query,
            file_kinds: &[NoteFileKind::Memories],
            knowledge: KnowledgeSearch::Exclude,
            wanted: &wanted,
            reach: Reach::Best(limit),
        };
        let found = recall(&self.index, &question).map_err(|error| error.to_string())?;
        let places = found.hits.iter().filter_map(|hit| self.places.get(hit.item.id()));
        Ok(places.copied().collect())
    }
}

/// The time rounded up to whole seconds, the resolution of ids.
fn first_second_from(time: Timestamp) -> i64 {
    time.as_second() + i64::from(time.subsec_nanosecond() > 0)
}
