//! The index file. It knows only rows and terms; `sources` reads files and facts and keeps it up to date.

mod docs;
mod error;
mod knowledge;
mod notes;
mod open;
mod places;
mod stamp;
mod stamps;
mod terms;
#[cfg(test)]
mod tests;
mod update;
mod writer;

use std::path::{Path, PathBuf};

use ralph_store::belongs_to_another_tool;
use rusqlite::Connection;

pub use docs::{Age, Doc, Totals};
pub use error::IndexError;
pub(crate) use knowledge::KnowledgeEntry;
pub use knowledge::{KnowledgeAge, KnowledgeMetadata};
pub use notes::{Change, Neighbours};
pub(crate) use stamps::FileState;
pub use terms::KnownTerm;
pub(crate) use update::{NewFact, Update};
pub use update::{fact_number, row_of_fact};

/// State of the file at the path of an index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IndexFileState {
    Missing,
    /// It is as its last writer left it.
    Intact,
    /// It cannot be trusted, and the next writer rebuilds it.
    Outdated,
    Foreign,
    Unreadable(String),
}

/// A readable index. Its content does not change while it is open.
#[derive(Debug)]
pub struct Index {
    connection: Connection,
    path: PathBuf,
}

impl Index {
    /// Opens the index for reading. Returns `None` if it is missing or cannot be trusted.
    #[must_use]
    pub fn open(path: &Path) -> Option<Self> {
        if !stamp::is_intact(path) {
            return None;
        }
        let index = Self {
            connection: open::for_reading(path).ok()?,
            path: path.to_owned(),
        };
        // The read lock is held from here, so an intact stamp stays valid.
        (index.begin_reading().is_ok() && stamp::is_intact(path)).then_some(index)
    }

    /// Creates an empty index in memory.
    ///
    /// # Errors
    /// When SQLite cannot allocate it.
    pub fn in_memory() -> Result<Self, IndexError> {
        let path = PathBuf::from("the index in memory");
        let made = open::in_memory().and_then(|connection| {
            connection.execute_batch(writer::SCHEMA)?;
            Ok(connection)
        });
        match made {
            Ok(connection) => Ok(Self { connection, path }),
            Err(error) => Err(IndexError::of_sql(&path, &error)),
        }
    }

    /// Inspects the file at the path of an index without changing it.
    #[must_use]
    pub fn state(path: &Path) -> IndexFileState {
        if std::fs::symlink_metadata(path).is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound) {
            return IndexFileState::Missing;
        }
        match belongs_to_another_tool(path, open::APPLICATION_ID) {
            Err(error) => IndexFileState::Unreadable(error.to_string()),
            Ok(true) => IndexFileState::Foreign,
            Ok(false) if stamp::is_intact(path) => IndexFileState::Intact,
            Ok(false) => IndexFileState::Outdated,
        }
    }

    /// Marks the index as outdated, so that the next writer rebuilds it.
    pub fn invalidate(path: &Path) {
        // If this fails, nothing else can be done here.
        drop(stamp::remove_stamp(path));
    }

    /// Takes the read lock.
    fn begin_reading(&self) -> Result<(), IndexError> {
        self.sql(
            self.connection
                .execute_batch("BEGIN; SELECT count(*) FROM kinds WHERE kind = 0"),
        )
    }

    fn sql<T>(&self, result: rusqlite::Result<T>) -> Result<T, IndexError> {
        result.map_err(|error| IndexError::of_sql(&self.path, &error))
    }

    fn damaged(&self, what: impl Into<String>) -> IndexError {
        IndexError::Unusable {
            path: self.path.clone(),
            reason: what.into(),
        }
    }
}
