//! What can go wrong with a database, in words for the person who owns it.

use std::path::PathBuf;

use crate::UnreadableLearning;

/// Why a database could not be used.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The file belongs to another tool; it is never written.
    #[error("{} belongs to another tool, so it is left alone", path.display())]
    Foreign {
        /// The database.
        path: PathBuf,
    },
    /// A later version of ralph wrote the file.
    #[error("{} was written by a newer ralph (its format is {found}, this one knows up to {known}); update ralph", path.display())]
    Newer {
        /// The database.
        path: PathBuf,
        /// Its format.
        found: i64,
        /// The newest format known here.
        known: i64,
    },
    /// The file is not a database at all.
    #[error("{} is not an SQLite database", path.display())]
    NotADatabase {
        /// The file.
        path: PathBuf,
    },
    /// The file system said no.
    #[error("cannot open {}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// There is no room to write it.
    #[error("cannot write {}: the disk is full", path.display())]
    Full {
        /// The database.
        path: PathBuf,
    },
    /// SQLite said no.
    #[error("cannot use {}: {reason}", path.display())]
    Sql {
        /// The database.
        path: PathBuf,
        /// What SQLite says.
        reason: String,
    },
    /// Lessons came in or went after those that were to be kept had been compared with them.
    #[error("the lessons have changed meanwhile; try it again")]
    LessonsChanged,
    /// A row holds what no version of ralph writes.
    #[error("{} holds what cannot be read: {what}", path.display())]
    Damaged {
        /// The database.
        path: PathBuf,
        /// What it is.
        what: String,
    },
    /// A lesson that cannot be read stands in the way.
    #[error("{}: {learning}; `ralph learnings verify` tells what mends it", path.display())]
    UnreadableLearning {
        /// The database.
        path: PathBuf,
        /// The lesson.
        learning: UnreadableLearning,
    },
}

/// An error that may say that lessons came in meanwhile, so that those which were to be kept have to be compared anew.
pub trait Outdated {
    /// Whether it says so; nothing was kept then.
    fn is_outdated(&self) -> bool;
}

impl Outdated for StoreError {
    fn is_outdated(&self) -> bool {
        matches!(self, Self::LessonsChanged)
    }
}
