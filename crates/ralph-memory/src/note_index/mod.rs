//! The note index: a search index of all notes, in sync with their files.
//!
//! Readers bring it up to date before searching; writers apply their own changes. If the index cannot be written or
//! trusted, the same index is built in memory from the files: the answers are the same, only slower.

mod follow;
mod fresh;
mod knowledge;
mod problems;
mod verify;

use std::path::{Path, PathBuf};

use ralph_model::{Clock, FileStamp, NoteFileKind};
use ralph_notes::{FileError, FileText, read_file};
use ralph_store::index::{Index, IndexError};

pub(crate) use follow::{FileChange, follow};
pub use problems::Problems;
pub use ralph_store::index::KnowledgeMetadata;
pub use verify::Verified;

use fresh::{Freshness, freshness, state_of};
pub(crate) use knowledge::knowledge_stamps;
use knowledge::{Differences, Extent, IndexState, Unreadable};
pub use knowledge::{KnowledgeFolder, inspect_knowledge};

/// What the note index needs to know about the project.
pub trait NoteIndexHome {
    /// Prepares for creating the index, and returns whether it may be created: a search must leave no trace in a
    /// project that has nothing of ralph's but its notes.
    fn prepare_index(&self) -> bool;

    /// The target of a file that is a link to outside the project, and so must not be read.
    fn leads_outside(&self, _file: &Path) -> Option<PathBuf> {
        None
    }
}

/// The location of the index and of its sources.
#[derive(Clone)]
pub struct NoteIndexPlace<'a> {
    pub database: PathBuf,
    /// Every notes file, which need not exist.
    pub file_kinds: Vec<(NoteFileKind, PathBuf)>,
    /// The knowledge folder, which need not exist.
    pub knowledge: PathBuf,
    pub home: &'a dyn NoteIndexHome,
    /// The file system's clock, independent of the program's own time.
    pub file_clock: &'a dyn Clock,
}

#[derive(Debug)]
pub struct NoteIndex {
    pub(crate) index: Index,
    file_kinds: Vec<NoteFileState>,
    unreadable: Vec<(NoteFileKind, FileError)>,
    extent: Extent,
    unreadable_knowledge: Unreadable,
    degraded: Option<IndexError>,
}

/// The state of a notes file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoteFileState {
    pub file_kind: NoteFileKind,
    /// `None` if there is no file.
    pub stamp: Option<FileStamp>,
    /// Problems to report to readers.
    pub problems: Problems,
}

/// Why a question could not be answered.
#[derive(Debug, thiserror::Error)]
pub enum NoteIndexError {
    #[error(transparent)]
    File(#[from] FileError),
    #[error("cannot read {}: {source}", path.display())]
    Folder { path: PathBuf, source: std::io::Error },
    #[error(transparent)]
    Index(#[from] IndexError),
}

impl NoteIndex {
    /// Opens the index and brings it up to date with memories and guardrails. An unreadable file counts as missing. A
    /// damaged index is marked to be rebuilt.
    ///
    /// # Errors
    /// When not even an index in memory can be used.
    pub fn open(place: &NoteIndexPlace<'_>) -> Result<Self, IndexError> {
        Self::open_for(place, Extent::WithoutKnowledge)
    }

    /// The same with knowledge entries.
    ///
    /// # Errors
    /// When not even an index in memory can be used.
    pub fn open_with_knowledge(place: &NoteIndexPlace<'_>) -> Result<Self, IndexError> {
        Self::open_for(place, Extent::WithKnowledge)
    }

    /// Queries some notes files. If the index turns out to be damaged, it is marked to be rebuilt and the query runs on
    /// the files.
    ///
    /// # Errors
    /// When the file of one of these files cannot be read.
    pub fn ask<T>(
        place: &NoteIndexPlace<'_>,
        file_kinds: &[NoteFileKind],
        question: impl Fn(&Self) -> Result<T, IndexError>,
    ) -> Result<T, NoteIndexError> {
        Self::ask_for(place, (file_kinds, Extent::WithoutKnowledge), question)
    }

    /// Queries knowledge entries and some notes files. Only this scans the knowledge folder.
    ///
    /// # Errors
    /// When that folder, or the file of one of these files, cannot be read.
    pub fn ask_knowledge<T>(
        place: &NoteIndexPlace<'_>,
        file_kinds: &[NoteFileKind],
        question: impl Fn(&Self) -> Result<T, IndexError>,
    ) -> Result<T, NoteIndexError> {
        Self::ask_for(place, (file_kinds, Extent::WithKnowledge), question)
    }

    fn open_for(place: &NoteIndexPlace<'_>, extent: Extent) -> Result<Self, IndexError> {
        Self::on_disk(place, extent).or_else(|reason| {
            if matches!(reason, IndexError::Unusable { .. }) {
                Index::invalidate(&place.database);
            }
            Self::in_memory(place, extent, Some(reason))
        })
    }

    fn ask_for<T>(
        place: &NoteIndexPlace<'_>,
        (file_kinds, extent): (&[NoteFileKind], Extent),
        question: impl Fn(&Self) -> Result<T, IndexError>,
    ) -> Result<T, NoteIndexError> {
        let note_index = Self::open_for(place, extent)?.refuse_unreadable(file_kinds)?;
        match question(&note_index) {
            Err(reason) if note_index.degraded.is_none() => {
                drop(note_index);
                Index::invalidate(&place.database);
                let from_files = Self::in_memory(place, extent, Some(reason))?.refuse_unreadable(file_kinds)?;
                Ok(question(&from_files)?)
            }
            answer => Ok(answer?),
        }
    }

    /// Why the index on disk is not used; `None` if it is.
    #[must_use]
    pub fn degraded(&self) -> Option<&IndexError> {
        self.degraded.as_ref()
    }

    #[must_use]
    pub fn file_kind(&self, file_kind: NoteFileKind) -> Option<&NoteFileState> {
        self.file_kinds.iter().find(|state| state.file_kind == file_kind)
    }

    fn refuse_unreadable(mut self, file_kinds: &[NoteFileKind]) -> Result<Self, NoteIndexError> {
        match self
            .unreadable
            .iter()
            .position(|(file_kind, _)| file_kinds.contains(file_kind))
        {
            Some(position) => Err(self.unreadable.swap_remove(position).1.into()),
            None => self.refuse_unreadable_folder(),
        }
    }

    fn on_disk(place: &NoteIndexPlace<'_>, extent: Extent) -> Result<Self, IndexError> {
        let now = now_ns(place);
        let seen = stamps_of(place);
        let Some(index) = Index::open(&place.database) else {
            return Self::updated(place, extent);
        };
        let mut index_state = IndexState::Fresh;
        for ((file_kind, path), stamp) in place.file_kinds.iter().zip(&seen.stamps) {
            match freshness(&index, *file_kind, stamp.as_ref())? {
                Freshness::Fresh => {}
                Freshness::Unsure { digest } => {
                    let read = read_file(path).unwrap_or_default();
                    if read.as_ref().map(|text| fresh::digest(&text.bytes)) != Some(digest) {
                        index_state = IndexState::Stale;
                        break;
                    }
                    if read.is_some_and(|text| fresh::is_settled(&text.stamp, now)) {
                        index_state = IndexState::NeedsRestamp;
                    }
                }
                Freshness::Stale => {
                    index_state = IndexState::Stale;
                    break;
                }
            }
        }
        let mut unreadable = Unreadable::default();
        if extent == Extent::WithKnowledge && index_state != IndexState::Stale {
            let mut differences = Differences::of(&index, place)?;
            index_state = index_state.max(differences.assess(place));
            unreadable = differences.unreadable;
        }
        match index_state {
            IndexState::Fresh => return Self::of(place, index, (seen, extent, unreadable)),
            IndexState::Stale => {
                drop(index);
                return Self::updated(place, extent);
            }
            IndexState::NeedsRestamp => drop(index),
        }
        // The index is right; recording the new times saves reading the files next time. If that fails, the index is as
        // right as before.
        Self::updated(place, extent).or_else(|reason| match Index::open(&place.database) {
            Some(index) if is_up_to_date(&index, place, extent)? => {
                Self::of(place, index, (stamps_of(place), extent, unreadable))
            }
            Some(_) | None => Err(reason),
        })
    }

    /// Updates the index on disk entry by entry.
    fn updated(place: &NoteIndexPlace<'_>, extent: Extent) -> Result<Self, IndexError> {
        if !place.database.exists() && !place.home.prepare_index() {
            return Self::in_memory(place, extent, None);
        }
        let writer = Index::write(&place.database)?;
        let seen = fill(&writer, place)?;
        let unreadable = fill_knowledge(&writer, place, extent)?;
        Self::of(place, writer.commit()?, (seen, extent, unreadable))
    }

    fn in_memory(place: &NoteIndexPlace<'_>, extent: Extent, reason: Option<IndexError>) -> Result<Self, IndexError> {
        let index = Index::in_memory()?;
        let seen = fill(&index, place)?;
        let unreadable = fill_knowledge(&index, place, extent)?;
        let mut note_index = Self::of(place, index, (seen, extent, unreadable))?;
        note_index.degraded = reason;
        Ok(note_index)
    }

    fn of(
        place: &NoteIndexPlace<'_>,
        index: Index,
        (seen, extent, unreadable_knowledge): (Seen, Extent, Unreadable),
    ) -> Result<Self, IndexError> {
        let mut file_kinds = Vec::with_capacity(place.file_kinds.len());
        for ((file_kind, _), stamp) in place.file_kinds.iter().zip(seen.stamps) {
            let state = match stamp {
                Some(_) => index.source(source_name(*file_kind))?,
                None => None,
            };
            file_kinds.push(NoteFileState {
                file_kind: *file_kind,
                stamp,
                problems: state.map(|state| Problems::decode(&state.problems)).unwrap_or_default(),
            });
        }
        Ok(Self {
            index,
            file_kinds,
            unreadable: seen.unreadable,
            extent,
            unreadable_knowledge,
            degraded: None,
        })
    }
}

/// The stamps of the notes files.
#[derive(Default)]
struct Seen {
    /// `None` if there is no readable file.
    stamps: Vec<Option<FileStamp>>,
    /// Files that exist but cannot be read.
    unreadable: Vec<(NoteFileKind, FileError)>,
}

impl Seen {
    fn note(&mut self, file_kind: NoteFileKind, stamp: Result<Option<FileStamp>, FileError>) {
        self.stamps.push(stamp.unwrap_or_else(|error| {
            self.unreadable.push((file_kind, error));
            None
        }));
    }
}

/// The name of a notes file in the index.
pub(crate) fn source_name(file_kind: NoteFileKind) -> &'static str {
    file_kind.file_name()
}

fn now_ns(place: &NoteIndexPlace<'_>) -> i64 {
    i64::try_from(place.file_clock.now().as_nanosecond()).unwrap_or_default()
}

/// Reads the stamps of the notes files.
fn stamps_of(place: &NoteIndexPlace<'_>) -> Seen {
    let mut seen = Seen::default();
    for (file_kind, path) in &place.file_kinds {
        let stamp = match std::fs::metadata(path) {
            Ok(metadata) if metadata.is_file() => Ok(Some(FileStamp::of(&metadata))),
            // Reading gives the best error.
            _ => read_file(path).map(|text| text.map(|text| text.stamp)),
        };
        seen.note(*file_kind, stamp);
    }
    seen
}

/// Whether the index matches the current contents of the files.
fn is_up_to_date(index: &Index, place: &NoteIndexPlace<'_>, extent: Extent) -> Result<bool, IndexError> {
    for (file_kind, path) in &place.file_kinds {
        let known = index.source(source_name(*file_kind))?.map(|state| state.digest);
        let read = read_file(path).unwrap_or_default();
        if known != read.map(|text| fresh::digest(&text.bytes)) {
            return Ok(false);
        }
    }
    Ok(extent == Extent::WithoutKnowledge || Differences::of(index, place)?.assess(place) != IndexState::Stale)
}

/// Brings an index up to date with the knowledge folder, if included.
fn fill_knowledge(index: &Index, place: &NoteIndexPlace<'_>, extent: Extent) -> Result<Unreadable, IndexError> {
    match extent {
        Extent::WithoutKnowledge => Ok(Unreadable::default()),
        Extent::WithKnowledge => Differences::of(index, place)?.apply(index, place),
    }
}

/// Brings an index up to date with the files; only changed ones are parsed.
fn fill(index: &Index, place: &NoteIndexPlace<'_>) -> Result<Seen, IndexError> {
    let mut seen = Seen::default();
    let mut names = Vec::new();
    for (file_kind, path) in &place.file_kinds {
        // Taken before reading, so that a change during the read is later than this.
        let now = now_ns(place);
        let text = match read_file(path) {
            Ok(Some(text)) => text,
            other => {
                seen.note(*file_kind, other.map(|_| None));
                continue;
            }
        };
        let FileText { bytes, stamp, .. } = text;
        let name = source_name(*file_kind);
        names.push(name);
        let digest = fresh::digest(&bytes);
        let known = index.source(name)?.filter(|state| state.digest == digest);
        if let Some(mut state) = known {
            (state.stamp, state.indexed_ns) = (stamp, now);
            index.put_source(name, &state)?;
        } else {
            let document = ralph_notes::Document::parse(*file_kind, &bytes);
            index.put_source(name, &state_of(&document, stamp, digest, now))?;
            index.replace_entries(name, document.items())?;
        }
        seen.note(*file_kind, Ok(Some(stamp)));
    }
    index.keep_sources(&names)?;
    Ok(seen)
}
