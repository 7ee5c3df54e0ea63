//! Keeps the index up to date: with note files and the knowledge folder by their stamps, with the fact store by its
//! revision.
//!
//! Readers bring it up to date before searching; writers of note files apply their own changes. If the index cannot be
//! written or trusted, the same index is built in memory: the answers are the same, only slower.

mod facts;
mod follow;
mod fresh;
mod knowledge;
mod problems;

use std::ops::Deref;
use std::path::{Path, PathBuf};

use ralph_model::{Clock, FileStamp, NoteFileKind};
use ralph_notes::{Boundary, Document, FileError, FileText, read_file};
use ralph_store::Store;

pub use follow::{FileChange, follow};
pub use knowledge::{KnowledgeFolder, inspect_knowledge, knowledge_stamps};
pub use problems::Problems;

use crate::DocKind;
use crate::index::{Index, IndexError, Update};
use fresh::{Freshness, freshness, state_of};
use knowledge::{Differences, Unreadable};

/// The location of the index and of the note files.
#[derive(Clone)]
pub struct IndexPlace<'a> {
    pub database: PathBuf,
    /// The note files, which need not exist.
    pub file_kinds: Vec<(NoteFileKind, PathBuf)>,
    /// The knowledge folder, which need not exist.
    pub knowledge: PathBuf,
    /// Whether the index may be created, in a folder that exists: a search leaves no trace in a project that has
    /// nothing of ralph's but its notes.
    pub may_create: bool,
    /// Links that lead outside are not read.
    pub boundary: &'a Boundary,
    /// The file system's clock, independent of the program's own time.
    pub file_clock: &'a dyn Clock,
}

/// What is searched besides memories and guardrails.
#[derive(Debug, Clone, Copy, Default)]
pub struct Sources<'s> {
    pub knowledge: bool,
    /// The fact store, for learnings and the journal.
    pub facts: Option<&'s Store>,
}

impl<'s> Sources<'s> {
    pub const NOTES: Self = Self {
        knowledge: false,
        facts: None,
    };
    pub const KNOWLEDGE: Self = Self {
        knowledge: true,
        facts: None,
    };

    /// The same and the facts of a store, if there is one.
    #[must_use]
    pub fn and_facts(self, facts: impl Into<Option<&'s Store>>) -> Self {
        Self {
            facts: facts.into(),
            ..self
        }
    }
}

/// The index, up to date with the sources that were asked for.
#[derive(Debug)]
pub struct SearchIndex {
    index: Index,
    file_kinds: Vec<NoteFileState>,
    unreadable: Vec<(NoteFileKind, FileError)>,
    unreadable_knowledge: Unreadable,
    includes_knowledge: bool,
    includes_facts: bool,
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
pub enum SourceError {
    #[error(transparent)]
    File(#[from] FileError),
    #[error("cannot read {}: {source}", path.display())]
    Folder { path: PathBuf, source: std::io::Error },
    #[error(transparent)]
    Index(#[from] IndexError),
}

impl SearchIndex {
    /// Opens the index and brings it up to date with memories, guardrails and some other sources. An unreadable file
    /// counts as missing. A damaged index is marked to be rebuilt.
    ///
    /// # Errors
    /// When not even an index in memory can be used, or the facts cannot be read.
    pub fn open(place: &IndexPlace<'_>, sources: Sources<'_>) -> Result<Self, IndexError> {
        Self::on_disk(place, sources).or_else(|reason| {
            match reason {
                IndexError::Facts(_) => return Err(reason),
                IndexError::Unusable { .. } => Index::invalidate(&place.database),
                IndexError::Busy { .. } | IndexError::Foreign { .. } => {}
            }
            Self::in_memory(place, sources, Some(reason))
        })
    }

    /// An index of the facts alone, in memory.
    ///
    /// # Errors
    /// When the facts cannot be read.
    pub fn of_facts(store: &Store) -> Result<Self, IndexError> {
        let index = Index::in_memory()?;
        let mut update = Update::of(&index)?;
        facts::catch_up(&mut update, store)?;
        update.finish()?;
        let sources = Sources::NOTES.and_facts(store);
        Self::of(index, (Seen::default(), Unreadable::default(), sources))
    }

    /// Asks about some note files and other sources. If the index turns out to be damaged, it is marked to be rebuilt
    /// and the question is asked of an index in memory.
    ///
    /// # Errors
    /// When one of these files, the knowledge folder or the facts cannot be read.
    pub fn ask<T>(
        place: &IndexPlace<'_>,
        (file_kinds, sources): (&[NoteFileKind], Sources<'_>),
        question: impl Fn(&Self) -> Result<T, IndexError>,
    ) -> Result<T, SourceError> {
        let index = Self::open(place, sources)?.refuse_unreadable(file_kinds)?;
        match question(&index) {
            Err(reason @ IndexError::Unusable { .. }) if index.degraded.is_none() => {
                drop(index);
                Index::invalidate(&place.database);
                let in_memory = Self::in_memory(place, sources, Some(reason))?;
                Ok(question(&in_memory.refuse_unreadable(file_kinds)?)?)
            }
            answer => Ok(answer?),
        }
    }

    /// Discards the index on disk and builds it again.
    ///
    /// # Errors
    /// When a source cannot be read, or the index belongs to another tool or cannot be written.
    pub fn rebuild(place: &IndexPlace<'_>, sources: Sources<'_>) -> Result<(), SourceError> {
        Index::invalidate(&place.database);
        Ok(Self::updated(place, sources).map(drop)?)
    }

    /// Why the index on disk is not used; `None` if it is.
    #[must_use]
    pub fn degraded(&self) -> Option<&IndexError> {
        self.degraded.as_ref()
    }

    #[must_use]
    pub fn includes_knowledge(&self) -> bool {
        self.includes_knowledge
    }

    #[must_use]
    pub fn includes_facts(&self) -> bool {
        self.includes_facts
    }

    #[must_use]
    pub fn file_kind(&self, file_kind: NoteFileKind) -> Option<&NoteFileState> {
        self.file_kinds.iter().find(|state| state.file_kind == file_kind)
    }

    /// The invalid files in the knowledge folder, by name, with the reasons.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub fn knowledge_problems(&self) -> Result<Vec<(String, String)>, IndexError> {
        if !self.includes_knowledge {
            return Ok(Vec::new());
        }
        let mut problems = self.index.files_with_problems(DocKind::Knowledge)?;
        problems.extend(self.unreadable_knowledge.files.iter().cloned());
        problems.sort();
        Ok(problems)
    }

    fn refuse_unreadable(mut self, file_kinds: &[NoteFileKind]) -> Result<Self, SourceError> {
        let refused = self.unreadable.iter().position(|(kind, _)| file_kinds.contains(kind));
        if let Some(position) = refused {
            return Err(self.unreadable.swap_remove(position).1.into());
        }
        match self.unreadable_knowledge.folder.take() {
            Some((path, source)) => Err(SourceError::Folder { path, source }),
            None => Ok(self),
        }
    }

    fn on_disk(place: &IndexPlace<'_>, sources: Sources<'_>) -> Result<Self, IndexError> {
        let seen = stamps_of(place);
        let Some(index) = Index::open(&place.database) else {
            return Self::updated(place, sources);
        };
        let (state, unreadable) = compare(&index, place, (&seen, sources))?;
        match state {
            State::Current => return Self::of(index, (seen, unreadable, sources)),
            State::Outdated => {
                drop(index);
                return Self::updated(place, sources);
            }
            State::NeedsRestamp => drop(index),
        }
        // The index is right; recording the new times saves reading the files next time. If that fails, the index is as
        // right as before.
        Self::updated(place, sources).or_else(|reason| match Index::open(&place.database) {
            Some(index) if compare(&index, place, (&stamps_of(place), sources))?.0 != State::Outdated => {
                Self::of(index, (stamps_of(place), unreadable, sources))
            }
            Some(_) | None => Err(reason),
        })
    }

    /// Updates the index on disk document by document.
    fn updated(place: &IndexPlace<'_>, sources: Sources<'_>) -> Result<Self, IndexError> {
        if !place.may_create && !place.database.exists() {
            return Self::in_memory(place, sources, None);
        }
        let writer = Index::write(&place.database)?;
        let (seen, unreadable) = fill(&writer, place, sources)?;
        Self::of(writer.commit()?, (seen, unreadable, sources))
    }

    fn in_memory(place: &IndexPlace<'_>, sources: Sources<'_>, reason: Option<IndexError>) -> Result<Self, IndexError> {
        let index = Index::in_memory()?;
        let (seen, unreadable) = fill(&index, place, sources)?;
        let mut built = Self::of(index, (seen, unreadable, sources))?;
        built.degraded = reason;
        Ok(built)
    }

    fn of(
        index: Index,
        (seen, unreadable_knowledge, sources): (Seen, Unreadable, Sources<'_>),
    ) -> Result<Self, IndexError> {
        let mut file_kinds = Vec::with_capacity(seen.stamps.len());
        for (file_kind, stamp) in seen.stamps {
            let state = match stamp {
                Some(_) => index.file(DocKind::of_file(file_kind), file_kind.file_name())?,
                None => None,
            };
            file_kinds.push(NoteFileState {
                file_kind,
                stamp,
                problems: state.map(|state| Problems::decode(&state.problems)).unwrap_or_default(),
            });
        }
        Ok(Self {
            index,
            file_kinds,
            unreadable: seen.unreadable,
            unreadable_knowledge,
            includes_knowledge: sources.knowledge,
            includes_facts: sources.facts.is_some(),
            degraded: None,
        })
    }
}

impl Deref for SearchIndex {
    type Target = Index;

    fn deref(&self) -> &Index {
        &self.index
    }
}

/// The result of comparing the index with its sources, ordered by how much has to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum State {
    Current,
    /// Current, and the time of this check should be recorded.
    NeedsRestamp,
    Outdated,
}

fn compare(
    index: &Index,
    place: &IndexPlace<'_>,
    (seen, sources): (&Seen, Sources<'_>),
) -> Result<(State, Unreadable), IndexError> {
    let mut state = State::Current;
    for ((file_kind, path), (_, stamp)) in place.file_kinds.iter().zip(&seen.stamps) {
        match freshness(index, *file_kind, stamp.as_ref())? {
            Freshness::Fresh => {}
            Freshness::Stale => return Ok((State::Outdated, Unreadable::default())),
            Freshness::Unsure { digest } => {
                let now = now_ns(place);
                let read = read_file(path).unwrap_or_default();
                if read.as_ref().map(|text| fresh::digest(&text.bytes)) != Some(digest) {
                    return Ok((State::Outdated, Unreadable::default()));
                }
                if read.is_some_and(|text| fresh::is_settled(&text.stamp, now)) {
                    state = State::NeedsRestamp;
                }
            }
        }
    }
    if let Some(store) = sources.facts
        && !facts::is_current(index, store)?
    {
        return Ok((State::Outdated, Unreadable::default()));
    }
    let mut unreadable = Unreadable::default();
    if sources.knowledge {
        let mut differences = Differences::of(index, place)?;
        state = state.max(differences.assess(place));
        unreadable = differences.unreadable;
    }
    Ok((state, unreadable))
}

/// The stamps of the notes files.
#[derive(Default)]
struct Seen {
    /// `None` if there is no readable file.
    stamps: Vec<(NoteFileKind, Option<FileStamp>)>,
    /// Files that exist but cannot be read.
    unreadable: Vec<(NoteFileKind, FileError)>,
}

impl Seen {
    fn note(&mut self, file_kind: NoteFileKind, stamp: Result<Option<FileStamp>, FileError>) {
        let stamp = stamp.unwrap_or_else(|error| {
            self.unreadable.push((file_kind, error));
            None
        });
        self.stamps.push((file_kind, stamp));
    }
}

fn now_ns(place: &IndexPlace<'_>) -> i64 {
    i64::try_from(place.file_clock.now().as_nanosecond()).unwrap_or_default()
}

/// Reads the stamps of the notes files.
fn stamps_of(place: &IndexPlace<'_>) -> Seen {
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

/// Brings an index up to date; only changed files and facts are read.
fn fill(index: &Index, place: &IndexPlace<'_>, sources: Sources<'_>) -> Result<(Seen, Unreadable), IndexError> {
    let mut update = Update::of(index)?;
    let mut seen = Seen::default();
    for (file_kind, path) in &place.file_kinds {
        let stamp = fill_file(&mut update, place, (*file_kind, path))?;
        seen.note(*file_kind, stamp);
    }
    let unreadable = if sources.knowledge {
        Differences::of(index, place)?.apply(&mut update, place)?
    } else {
        Unreadable::default()
    };
    if let Some(store) = sources.facts {
        facts::catch_up(&mut update, store)?;
    }
    update.finish()?;
    Ok((seen, unreadable))
}

/// Brings an index up to date with a notes file. Returns its stamp, or why it cannot be read.
fn fill_file(
    update: &mut Update<'_>,
    place: &IndexPlace<'_>,
    (file_kind, path): (NoteFileKind, &Path),
) -> Result<Result<Option<FileStamp>, FileError>, IndexError> {
    let (kind, name) = (DocKind::of_file(file_kind), file_kind.file_name());
    // Taken before reading, so that a change during the read is later than this.
    let now = now_ns(place);
    let known = update.index().file(kind, name)?;
    let FileText { bytes, stamp, .. } = match read_file(path) {
        Ok(Some(text)) => text,
        other => {
            if known.is_some() {
                update.index().forget_file(kind, name)?;
                update.replace_notes(kind, std::iter::empty())?;
            }
            return Ok(other.map(|_| None));
        }
    };
    let digest = fresh::digest(&bytes);
    if let Some(mut state) = known.filter(|state| state.digest == digest) {
        (state.stamp, state.indexed_ns) = (stamp, now);
        update.index().put_file(kind, name, &state)?;
    } else {
        let document = Document::parse(file_kind, &bytes);
        let state = state_of(&document, stamp, digest, now);
        update.index().put_file(kind, name, &state)?;
        update.replace_notes(kind, document.items())?;
    }
    Ok(Ok(Some(stamp)))
}
