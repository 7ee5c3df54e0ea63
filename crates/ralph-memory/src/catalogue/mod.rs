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
    /// Opens the index and brings it up to date.
    ///
    /// # Errors
    /// When a file of notes cannot be read.
    pub fn open(place: &CataloguePlace<'_>) -> Result<Self, CatalogueError> {
        match Self::on_disk(place) {
            Err(CatalogueError::Index(reason)) => Self::in_memory(place, Some(reason)),
            other => other,
        }
    }

    /// Asks a question. An index that turns out to be damaged is left to be made anew, and the question is asked of the
    /// files.
    ///
    /// # Errors
    /// When a file of notes cannot be read.
    pub fn ask<T>(
        place: &CataloguePlace<'_>,
        question: impl Fn(&Self) -> Result<T, IndexError>,
    ) -> Result<T, CatalogueError> {
        let catalogue = Self::open(place)?;
        match question(&catalogue) {
            Err(reason) if catalogue.degraded.is_none() => {
                drop(catalogue);
                Index::distrust(&place.database);
                Ok(question(&Self::in_memory(place, Some(reason))?)?)
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

    fn on_disk(place: &CataloguePlace<'_>) -> Result<Self, CatalogueError> {
        let now = now_ns(place);
        let stamps = stamps(place)?;
        let Some(index) = Index::open(&place.database)? else {
            return Self::brought_up_to_date(place);
        };
        let mut worth_noting = false;
        for ((shelf, path), stamp) in place.shelves.iter().zip(&stamps) {
            match freshness(&index, *shelf, stamp.as_ref())? {
                Freshness::Fresh => {}
                Freshness::Unsure { digest } => {
                    let read = read_file(path)?;
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
        if worth_noting {
            drop(index);
            return Self::brought_up_to_date(place);
        }
        Self::of(place, index, &stamps)
    }

    /// Brings the index on disk up to date, entry by entry.
    fn brought_up_to_date(place: &CataloguePlace<'_>) -> Result<Self, CatalogueError> {
        if !place.database.exists() && !place.home.prepare_index() {
            return Self::in_memory(place, None);
        }
        let writer = Index::write(&place.database)?;
        let stamps = fill(&writer, place)?;
        Self::of(place, writer.commit()?, &stamps)
    }

    fn in_memory(place: &CataloguePlace<'_>, reason: Option<IndexError>) -> Result<Self, CatalogueError> {
        let index = Index::in_memory()?;
        let stamps = fill(&index, place)?;
        let mut catalogue = Self::of(place, index, &stamps)?;
        catalogue.degraded = reason;
        Ok(catalogue)
    }

    fn of(place: &CataloguePlace<'_>, index: Index, stamps: &[Option<FileStamp>]) -> Result<Self, CatalogueError> {
        let mut shelves = Vec::with_capacity(place.shelves.len());
        for ((shelf, _), stamp) in place.shelves.iter().zip(stamps) {
            let state = match stamp {
                Some(_) => index.source(source_name(*shelf))?,
                None => None,
            };
            shelves.push(ShelfState {
                shelf: *shelf,
                stamp: *stamp,
                problems: state.map(|state| Problems::decode(&state.problems)).unwrap_or_default(),
            });
        }
        Ok(Self {
            index,
            shelves,
            degraded: None,
        })
    }
}

/// The name of a shelf's file in the index.
pub(crate) fn source_name(shelf: Shelf) -> &'static str {
    shelf.file_name()
}

fn now_ns(place: &CataloguePlace<'_>) -> i64 {
    i64::try_from(place.file_clock.now().as_nanosecond()).unwrap_or_default()
}

/// What the file system says of each shelf's file.
fn stamps(place: &CataloguePlace<'_>) -> Result<Vec<Option<FileStamp>>, FileError> {
    place
        .shelves
        .iter()
        .map(|(_, path)| match std::fs::metadata(path) {
            Ok(metadata) if metadata.is_file() => Ok(Some(FileStamp::of(&metadata))),
            // Whatever is wrong with it, reading says it best.
            _ => read_file(path).map(|text| text.map(|text| text.stamp)),
        })
        .collect()
}

/// Makes an index agree with the files, which are read only where they have changed.
fn fill(index: &Index, place: &CataloguePlace<'_>) -> Result<Vec<Option<FileStamp>>, CatalogueError> {
    let mut stamps = Vec::with_capacity(place.shelves.len());
    let mut names = Vec::new();
    for (shelf, path) in &place.shelves {
        let now = now_ns(place);
        let Some(text) = read_file(path)? else {
            stamps.push(None);
            continue;
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
        stamps.push(Some(stamp));
    }
    index.keep_sources(&names)?;
    Ok(stamps)
}
