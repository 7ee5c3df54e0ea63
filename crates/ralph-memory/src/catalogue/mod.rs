//! The catalogue: the index of all notes, in step with their files.
//!
//! Readers bring it up to date before they ask; writers take their own changes along. Where the index cannot be written or
//! trusted, the same index is made from the files in memory, so the answers are the same, only later.

mod follow;
mod fresh;
mod problems;
mod verify;

use std::path::PathBuf;

use ralph_model::{Clock, FileStamp, Shelf};
use ralph_notes::{FileError, FileText, read_file};
use ralph_store::index::{Index, IndexError};

pub(crate) use follow::{Made, follow};
pub use problems::Problems;
pub use verify::Verified;

use fresh::{Freshness, freshness, state_of};

/// What the catalogue needs to know of the project around it.
pub trait CatalogueHome {
    /// Makes ready for an index that is not there yet, and says whether there may be one: asking must leave no trace in a
    /// project that has nothing of ralph's but its notes.
    fn prepare_index(&self) -> bool;
}

/// Where the index is, and what it is made from.
#[derive(Clone)]
pub struct CataloguePlace<'a> {
    /// The index.
    pub database: PathBuf,
    /// Every shelf with its file, which need not exist.
    pub shelves: Vec<(Shelf, PathBuf)>,
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
    /// Not even an index in memory can be used.
    #[error(transparent)]
    Index(#[from] IndexError),
}

impl Catalogue {
    /// Opens the index and brings it up to date. A file that cannot be read counts as one that is not there. An index
    /// that turns out to be damaged is left to be made anew.
    ///
    /// # Errors
    /// When not even an index in memory can be used.
    pub fn open(place: &CataloguePlace<'_>) -> Result<Self, IndexError> {
        Self::on_disk(place).or_else(|reason| {
            if matches!(reason, IndexError::Unusable { .. }) {
                Index::distrust(&place.database);
            }
            Self::in_memory(place, Some(reason))
        })
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
        let catalogue = Self::open(place)?.refuse_unreadable(shelves)?;
        match question(&catalogue) {
            Err(reason) if catalogue.degraded.is_none() => {
                drop(catalogue);
                Index::distrust(&place.database);
                let from_files = Self::in_memory(place, Some(reason))?.refuse_unreadable(shelves)?;
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

    fn refuse_unreadable(mut self, shelves: &[Shelf]) -> Result<Self, FileError> {
        match self.unreadable.iter().position(|(shelf, _)| shelves.contains(shelf)) {
            Some(position) => Err(self.unreadable.swap_remove(position).1),
            None => Ok(self),
        }
    }

    fn on_disk(place: &CataloguePlace<'_>) -> Result<Self, IndexError> {
        let now = now_ns(place);
        let seen = look(place);
        let Some(index) = Index::open(&place.database) else {
            return Self::brought_up_to_date(place);
        };
        let mut worth_noting = false;
        for ((shelf, path), stamp) in place.shelves.iter().zip(&seen.stamps) {
            match freshness(&index, *shelf, stamp.as_ref())? {
                Freshness::Fresh => {}
                Freshness::Unsure { digest } => {
                    let read = read_file(path).unwrap_or_default();
                    if read.as_ref().map(|text| fresh::digest(&text.bytes)) != Some(digest) {
                        drop(index);
                        return Self::brought_up_to_date(place);
                    }
                    worth_noting |= read.is_some_and(|text| fresh::is_settled(&text.stamp, now));
                }
                Freshness::Stale => {
                    drop(index);
                    return Self::brought_up_to_date(place);
                }
            }
        }
        if !worth_noting {
            return Self::of(place, index, seen);
        }
        // The index is right; with the new times noted nobody has to read the files next time. Where that is not
        // possible, it is as right as before.
        drop(index);
        Self::brought_up_to_date(place).or_else(|reason| match Index::open(&place.database) {
            Some(index) if is_up_to_date(&index, place)? => Self::of(place, index, look(place)),
            Some(_) | None => Err(reason),
        })
    }

    /// Brings the index on disk up to date, entry by entry.
    fn brought_up_to_date(place: &CataloguePlace<'_>) -> Result<Self, IndexError> {
        if !place.database.exists() && !place.home.prepare_index() {
            return Self::in_memory(place, None);
        }
        let writer = Index::write(&place.database)?;
        let seen = fill(&writer, place)?;
        Self::of(place, writer.commit()?, seen)
    }

    fn in_memory(place: &CataloguePlace<'_>, reason: Option<IndexError>) -> Result<Self, IndexError> {
        let index = Index::in_memory()?;
        let seen = fill(&index, place)?;
        let mut catalogue = Self::of(place, index, seen)?;
        catalogue.degraded = reason;
        Ok(catalogue)
    }

    fn of(place: &CataloguePlace<'_>, index: Index, seen: Seen) -> Result<Self, IndexError> {
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
fn is_up_to_date(index: &Index, place: &CataloguePlace<'_>) -> Result<bool, IndexError> {
    for (shelf, path) in &place.shelves {
        let known = index.source(source_name(*shelf))?.map(|state| state.digest);
        let read = read_file(path).unwrap_or_default();
        if known != read.map(|text| fresh::digest(&text.bytes)) {
            return Ok(false);
        }
    }
    Ok(true)
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
