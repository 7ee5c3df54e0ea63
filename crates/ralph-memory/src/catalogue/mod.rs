//! The catalogue: the index of all notes, in step with their files.
//!
//! Readers bring it up to date before they ask; writers take their own changes along. Where the index cannot be written or
//! trusted, the same index is made from the files in memory, so the answers are the same, only later.

mod follow;
mod fresh;
mod knowledge;
mod problems;
mod verify;

use std::path::{Path, PathBuf};

use ralph_model::{Clock, FileStamp, Shelf};
use ralph_notes::{FileError, FileText, read_file};
use ralph_store::index::{Index, IndexError};

pub(crate) use follow::{Made, follow};
pub use problems::Problems;
pub use ralph_store::index::KnowledgeOutline;
pub use verify::Verified;

use fresh::{Freshness, freshness, state_of};
pub(crate) use knowledge::knowledge_stamps;
use knowledge::{Differences, Extent, Judgement, Unreadable};
pub use knowledge::{LookedAt, look_at_knowledge};

/// What the catalogue needs to know of the project around it.
pub trait CatalogueHome {
    /// Makes ready for an index that is not there yet, and says whether there may be one: asking must leave no trace in a
    /// project that has nothing of ralph's but its notes.
    fn prepare_index(&self) -> bool;

    /// Where a file leads that is a link to outside the project, and must not be read therefore.
    fn leads_outside(&self, _file: &Path) -> Option<PathBuf> {
        None
    }
}

/// Where the index is, and what it is made from.
#[derive(Clone)]
pub struct CataloguePlace<'a> {
    /// The index.
    pub database: PathBuf,
    /// Every shelf with its file, which need not exist.
    pub shelves: Vec<(Shelf, PathBuf)>,
    /// The folder of long notes, which need not exist.
    pub knowledge: PathBuf,
    /// The project around it.
    pub home: &'a dyn CatalogueHome,
    /// The clock that the file system goes by, whatever the time of the program is.
    pub file_clock: &'a dyn Clock,
}

/// An index that is up to date with the files.
#[derive(Debug)]
pub struct Catalogue {
    pub(crate) index: Index,
    shelves: Vec<ShelfState>,
    unreadable: Vec<(Shelf, FileError)>,
    extent: Extent,
    unreadable_knowledge: Unreadable,
    degraded: Option<IndexError>,
}

/// What is known of a shelf's file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShelfState {
    /// The shelf.
    pub shelf: Shelf,
    /// What the file system says of its file; none where there is none.
    pub stamp: Option<FileStamp>,
    /// What a reader should be told about it.
    pub problems: Problems,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum CatalogueError {
    /// A file of notes cannot be read.
    #[error(transparent)]
    File(#[from] FileError),
    /// The folder of long notes cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// Not even an index in memory can be used.
    #[error(transparent)]
    Index(#[from] IndexError),
}

impl Catalogue {
    /// Opens the index and brings what stands on the shelves up to date. A file that cannot be read counts as one that is
    /// not there. An index that turns out to be damaged is left to be made anew.
    ///
    /// # Errors
    /// When not even an index in memory can be used.
    pub fn open(place: &CataloguePlace<'_>) -> Result<Self, IndexError> {
        Self::open_for(place, Extent::Shelves)
    }

    /// The same with the long notes.
    ///
    /// # Errors
    /// When not even an index in memory can be used.
    pub fn open_with_knowledge(place: &CataloguePlace<'_>) -> Result<Self, IndexError> {
        Self::open_for(place, Extent::Everything)
    }

    /// Asks a question about some shelves. An index that turns out to be damaged is left to be made anew, and the question
    /// is asked of the files.
    ///
    /// # Errors
    /// When the file of one of these shelves cannot be read.
    pub fn ask<T>(
        place: &CataloguePlace<'_>,
        shelves: &[Shelf],
        question: impl Fn(&Self) -> Result<T, IndexError>,
    ) -> Result<T, CatalogueError> {
        Self::ask_for(place, (shelves, Extent::Shelves), question)
    }

    /// Asks a question about long notes and some shelves. Only here the folder of long notes is looked at.
    ///
    /// # Errors
    /// When that folder, or the file of one of these shelves, cannot be read.
    pub fn ask_knowledge<T>(
        place: &CataloguePlace<'_>,
        shelves: &[Shelf],
        question: impl Fn(&Self) -> Result<T, IndexError>,
    ) -> Result<T, CatalogueError> {
        Self::ask_for(place, (shelves, Extent::Everything), question)
    }

    fn open_for(place: &CataloguePlace<'_>, extent: Extent) -> Result<Self, IndexError> {
        Self::on_disk(place, extent).or_else(|reason| {
            if matches!(reason, IndexError::Unusable { .. }) {
                Index::distrust(&place.database);
            }
            Self::in_memory(place, extent, Some(reason))
        })
    }

    fn ask_for<T>(
        place: &CataloguePlace<'_>,
        (shelves, extent): (&[Shelf], Extent),
        question: impl Fn(&Self) -> Result<T, IndexError>,
    ) -> Result<T, CatalogueError> {
        let catalogue = Self::open_for(place, extent)?.refuse_unreadable(shelves)?;
        match question(&catalogue) {
            Err(reason) if catalogue.degraded.is_none() => {
                drop(catalogue);
                Index::distrust(&place.database);
                let from_files = Self::in_memory(place, extent, Some(reason))?.refuse_unreadable(shelves)?;
                Ok(question(&from_files)?)
            }
            answer => Ok(answer?),
        }
    }

    /// Why the index on disk is not used; none when it is.
    #[must_use]
    pub fn degraded(&self) -> Option<&IndexError> {
        self.degraded.as_ref()
    }

    /// What is known of each shelf's file.
    #[must_use]
    pub fn shelf(&self, shelf: Shelf) -> Option<&ShelfState> {
        self.shelves.iter().find(|state| state.shelf == shelf)
    }

    fn refuse_unreadable(mut self, shelves: &[Shelf]) -> Result<Self, CatalogueError> {
        match self.unreadable.iter().position(|(shelf, _)| shelves.contains(shelf)) {
            Some(position) => Err(self.unreadable.swap_remove(position).1.into()),
            None => self.refuse_unreadable_folder(),
        }
    }

    fn on_disk(place: &CataloguePlace<'_>, extent: Extent) -> Result<Self, IndexError> {
        let now = now_ns(place);
        let seen = look(place);
        let Some(index) = Index::open(&place.database) else {
            return Self::brought_up_to_date(place, extent);
        };
        let mut judgement = Judgement::Fresh;
        for ((shelf, path), stamp) in place.shelves.iter().zip(&seen.stamps) {
            match freshness(&index, *shelf, stamp.as_ref())? {
                Freshness::Fresh => {}
                Freshness::Unsure { digest } => {
                    let read = read_file(path).unwrap_or_default();
                    if read.as_ref().map(|text| fresh::digest(&text.bytes)) != Some(digest) {
                        judgement = Judgement::Stale;
                        break;
                    }
                    if read.is_some_and(|text| fresh::is_settled(&text.stamp, now)) {
                        judgement = Judgement::WorthNoting;
                    }
                }
                Freshness::Stale => {
                    judgement = Judgement::Stale;
                    break;
                }
            }
        }
        let mut unreadable = Unreadable::default();
        if extent == Extent::Everything && judgement != Judgement::Stale {
            let mut differences = Differences::of(&index, place)?;
            judgement = judgement.max(differences.judge(place));
            unreadable = differences.unreadable;
        }
        match judgement {
            Judgement::Fresh => return Self::of(place, index, (seen, extent, unreadable)),
            Judgement::Stale => {
                drop(index);
                return Self::brought_up_to_date(place, extent);
            }
            Judgement::WorthNoting => drop(index),
        }
        // The index is right; with the new times noted nobody has to read the files next time. Where that is not
        // possible, it is as right as before.
        Self::brought_up_to_date(place, extent).or_else(|reason| match Index::open(&place.database) {
            Some(index) if is_up_to_date(&index, place, extent)? => {
                Self::of(place, index, (look(place), extent, unreadable))
            }
            Some(_) | None => Err(reason),
        })
    }

    /// Brings the index on disk up to date, entry by entry.
    fn brought_up_to_date(place: &CataloguePlace<'_>, extent: Extent) -> Result<Self, IndexError> {
        if !place.database.exists() && !place.home.prepare_index() {
            return Self::in_memory(place, extent, None);
        }
        let writer = Index::write(&place.database)?;
        let seen = fill(&writer, place)?;
        let unreadable = fill_knowledge(&writer, place, extent)?;
        Self::of(place, writer.commit()?, (seen, extent, unreadable))
    }

    fn in_memory(place: &CataloguePlace<'_>, extent: Extent, reason: Option<IndexError>) -> Result<Self, IndexError> {
        let index = Index::in_memory()?;
        let seen = fill(&index, place)?;
        let unreadable = fill_knowledge(&index, place, extent)?;
        let mut catalogue = Self::of(place, index, (seen, extent, unreadable))?;
        catalogue.degraded = reason;
        Ok(catalogue)
    }

    fn of(
        place: &CataloguePlace<'_>,
        index: Index,
        (seen, extent, unreadable_knowledge): (Seen, Extent, Unreadable),
    ) -> Result<Self, IndexError> {
        let mut shelves = Vec::with_capacity(place.shelves.len());
        for ((shelf, _), stamp) in place.shelves.iter().zip(seen.stamps) {
            let state = match stamp {
                Some(_) => index.source(source_name(*shelf))?,
                None => None,
            };
            shelves.push(ShelfState {
                shelf: *shelf,
                stamp,
                problems: state.map(|state| Problems::decode(&state.problems)).unwrap_or_default(),
            });
        }
        Ok(Self {
            index,
            shelves,
            unreadable: seen.unreadable,
            extent,
            unreadable_knowledge,
            degraded: None,
        })
    }
}

/// What was seen of the shelves' files.
#[derive(Default)]
struct Seen {
    /// What the file system says of each; none where there is no file that can be read.
    stamps: Vec<Option<FileStamp>>,
    /// Those that are there and cannot be read.
    unreadable: Vec<(Shelf, FileError)>,
}

impl Seen {
    fn note(&mut self, shelf: Shelf, stamp: Result<Option<FileStamp>, FileError>) {
        self.stamps.push(stamp.unwrap_or_else(|error| {
            self.unreadable.push((shelf, error));
            None
        }));
    }
}

/// The name of a shelf's file in the index.
pub(crate) fn source_name(shelf: Shelf) -> &'static str {
    shelf.file_name()
}

fn now_ns(place: &CataloguePlace<'_>) -> i64 {
    i64::try_from(place.file_clock.now().as_nanosecond()).unwrap_or_default()
}

/// Looks at the shelves' files without reading them.
fn look(place: &CataloguePlace<'_>) -> Seen {
    let mut seen = Seen::default();
    for (shelf, path) in &place.shelves {
        let stamp = match std::fs::metadata(path) {
            Ok(metadata) if metadata.is_file() => Ok(Some(FileStamp::of(&metadata))),
            // Whatever is wrong with it, reading says it best.
            _ => read_file(path).map(|text| text.map(|text| text.stamp)),
        };
        seen.note(*shelf, stamp);
    }
    seen
}

/// Whether the index was made from what the files hold now.
fn is_up_to_date(index: &Index, place: &CataloguePlace<'_>, extent: Extent) -> Result<bool, IndexError> {
    for (shelf, path) in &place.shelves {
        let known = index.source(source_name(*shelf))?.map(|state| state.digest);
        let read = read_file(path).unwrap_or_default();
        if known != read.map(|text| fresh::digest(&text.bytes)) {
            return Ok(false);
        }
    }
    Ok(extent == Extent::Shelves || Differences::of(index, place)?.judge(place) != Judgement::Stale)
}

/// Makes an index agree with the folder of long notes, where it is asked for.
fn fill_knowledge(index: &Index, place: &CataloguePlace<'_>, extent: Extent) -> Result<Unreadable, IndexError> {
    match extent {
        Extent::Shelves => Ok(Unreadable::default()),
        Extent::Everything => Differences::of(index, place)?.apply(index, place),
    }
}

/// Makes an index agree with the files, which are parsed only where they have changed.
fn fill(index: &Index, place: &CataloguePlace<'_>) -> Result<Seen, IndexError> {
    let mut seen = Seen::default();
    let mut names = Vec::new();
    for (shelf, path) in &place.shelves {
        // Before it is read, so that a change while that goes on is later than this.
        let now = now_ns(place);
        let text = match read_file(path) {
            Ok(Some(text)) => text,
            other => {
                seen.note(*shelf, other.map(|_| None));
                continue;
            }
        };
        let FileText { bytes, stamp, .. } = text;
        let name = source_name(*shelf);
        names.push(name);
        let digest = fresh::digest(&bytes);
        let known = index.source(name)?.filter(|state| state.digest == digest);
        if let Some(mut state) = known {
            (state.stamp, state.indexed_ns) = (stamp, now);
            index.put_source(name, &state)?;
        } else {
            let document = ralph_notes::Document::parse(*shelf, &bytes);
            index.put_source(name, &state_of(&document, stamp, digest, now))?;
            index.replace_entries(name, document.items())?;
        }
        seen.note(*shelf, Ok(Some(stamp)));
    }
    index.keep_sources(&names)?;
    Ok(seen)
}
