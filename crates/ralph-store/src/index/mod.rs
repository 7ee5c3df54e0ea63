//! The search index of a worktree's notes. All of it is derived from their files: in doubt it is thrown away and made
//! anew, and where it cannot be written the same index is made in memory.
//!
//! It knows nothing of files of notes but their names and stamps; whoever reads them keeps it in step.

mod entries;
mod error;
mod knowledge;
mod knowledge_portrait;
mod knowledge_reading;
mod outline;
mod phrase;
mod places;
mod portrait;
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
pub use knowledge::{KnowledgeContent, KnowledgeFile, LongNote};
pub use knowledge_reading::{KNOWLEDGE_SOURCE, KnowledgeAge, KnowledgeOutline};
pub use outline::{Age, Outline, Totals};
pub use phrase::{Phrase, Phrases};
use sources::Source;
pub use sources::{Change, Neighbours, SourceState};
pub use terms::{Holders, KnownTerm};
pub use words::{is_name, places_of, terms_of};
pub use writer::IndexWriter;

/// How a file stands that is to be an index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// There is none.
    Missing,
    /// It is as its last writer left it.
    Sealed,
    /// It is ours, or nobody's, and not to be trusted: whoever needs one next makes it anew.
    Unsealed,
    /// It belongs to another tool.
    Foreign,
    /// It cannot be read, for this reason.
    Unreadable(String),
}

/// An index that can be asked. While it is open its content does not change.
#[derive(Debug)]
pub struct Index {
    connection: Connection,
    path: PathBuf,
    /// The files it was made from, as long as they cannot change.
    sources: Option<Vec<Source>>,
}

impl Index {
    /// Opens the index for reading; `None` when there is none, or none that can be trusted.
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
        // From the first read on nobody can write, so a seal that is intact now stays true.
        (index.begin_reading().is_ok() && seal::is_intact(path)).then_some(index)
    }

    /// An empty index that is kept in memory alone.
    ///
    /// # Errors
    /// When there is no memory for it.
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

    /// How the file at the path of an index stands. Nothing is changed.
    #[must_use]
    pub fn standing(path: &Path) -> Standing {
        if std::fs::symlink_metadata(path).is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound) {
            return Standing::Missing;
        }
        match belongs_to_another_tool(path, open::INDEX_APPLICATION_ID) {
            Err(error) => Standing::Unreadable(error.to_string()),
            Ok(true) => Standing::Foreign,
            Ok(false) if seal::is_intact(path) => Standing::Sealed,
            Ok(false) => Standing::Unsealed,
        }
    }

    /// Lets whoever comes next make the index anew: it holds what it should not.
    pub fn distrust(path: &Path) {
        // Where even that is not possible, nobody can mend it here.
        drop(seal::break_seal(path));
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
