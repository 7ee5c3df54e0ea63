//! The search index of a worktree's notes. It is derived entirely from their files: if in doubt, it is deleted and
//! rebuilt; if it cannot be written, it is built in memory.
//!
//! It knows only the names and stamps of note files. The code that reads the files keeps the index up to date.

mod entries;
mod error;
mod features;
mod index_dump;
mod knowledge;
mod knowledge_dump;
mod knowledge_reading;
mod phrase;
mod places;
mod seal;
mod sources;
mod stem;
mod stop_words;
mod terms;
mod vocabulary;
mod words;
mod writer;

use std::path::{Path, PathBuf};

use rusqlite::Connection;

use crate::open;
use crate::owner::belongs_to_another_tool;

pub use error::IndexError;
pub use features::{Age, DocFeatures, Totals};
pub use knowledge::{KnowledgeContent, KnowledgeEntry, KnowledgeFile};
pub use knowledge_reading::{KNOWLEDGE_SOURCE, KnowledgeAge, KnowledgeMetadata};
pub use phrase::{Phrase, Phrases};
use sources::Source;
pub use sources::{Change, Neighbours, SourceState};
pub use terms::{KnownTerm, TermScope};
pub use words::{is_name, places_of, terms_of};
pub use writer::IndexWriter;

/// State of the file at the path of an index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IndexState {
    Missing,
    /// It is as its last writer left it.
    Sealed,
    /// It cannot be trusted and will be rebuilt by the next writer.
    Unsealed,
    Foreign,
    Unreadable(String),
}

/// A readable index. Its content does not change while it is open.
#[derive(Debug)]
pub struct Index {
    connection: Connection,
    path: PathBuf,
    /// Cached list of sources, which cannot change while reading.
    sources: Option<Vec<Source>>,
}

impl Index {
    /// Opens the index for reading. Returns `None` if it is missing or cannot be trusted.
    #[must_use]
    pub fn open(path: &Path) -> Option<Self> {
        if !seal::is_intact(path) {
            return None;
        }
        let mut index = Self {
            connection: open::index_for_reading(path).ok()?,
            path: path.to_owned(),
            sources: None,
        };
        // The read lock is held from here, so an intact seal stays valid.
        (index.begin_reading().is_ok() && seal::is_intact(path)).then_some(index)
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
            Ok(connection) => Ok(Self {
                connection,
                path,
                sources: None,
            }),
            Err(error) => Err(IndexError::of_sql(&path, &error)),
        }
    }

    /// Inspects the file at the path of an index without changing it.
    #[must_use]
    pub fn state(path: &Path) -> IndexState {
        if std::fs::symlink_metadata(path).is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound) {
            return IndexState::Missing;
        }
        match belongs_to_another_tool(path, open::INDEX_APPLICATION_ID) {
            Err(error) => IndexState::Unreadable(error.to_string()),
            Ok(true) => IndexState::Foreign,
            Ok(false) if seal::is_intact(path) => IndexState::Sealed,
            Ok(false) => IndexState::Unsealed,
        }
    }

    /// Marks the index as stale so that the next writer rebuilds it.
    pub fn invalidate(path: &Path) {
        // If this fails, nothing else can be done here.
        drop(seal::remove_seal(path));
    }

    fn begin_reading(&mut self) -> Result<(), IndexError> {
        self.sql(self.connection.execute_batch("BEGIN"))?;
        self.sources = Some(self.read_sources()?);
        Ok(())
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
