//! What can go wrong with a database, in words for the person who owns it.

use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;

use crate::UnreadableLearning;
use crate::guard::{Change, Changed, Part};

/// Why a database could not be used.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The file belongs to another tool; it is never written.
    #[error("{} belongs to another tool, so it is left alone", path.display())]
    Foreign {
        /// The database.
        path: PathBuf,
    },
    /// A version of ralph wrote the file that was never released.
    #[error(
        "{} has schema {found} of an unreleased ralph, which this one cannot read; export what you need with the ralph \
         that wrote it (`ralph learnings export`, `ralph journal export`), then move the file away",
        path.display()
    )]
    Older {
        /// The database.
        path: PathBuf,
        /// Its schema version.
        found: i64,
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
    /// The file is missing or empty although there is a backup of it.
    #[error("{} is {}, but there is a backup of it: {}", path.display(), missing_or_empty(path), backup.display())]
    Lost {
        /// The database.
        path: PathBuf,
        /// Its newest backup.
        backup: PathBuf,
    },
    /// The schema has to change, and there is nowhere to put the backup that is made before.
    #[error("{} needs a newer schema, and there is no folder to back it up to first", path.display())]
    NoBackupFolder {
        /// The database.
        path: PathBuf,
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
    /// Another process held a lock for longer than it is waited for.
    #[error("{} is locked by another process", path.display())]
    Busy {
        /// The database.
        path: PathBuf,
    },
    /// The database, or a file that belongs to it, was deleted or replaced while it was open.
    #[error("{} was {change} while ralph was using it{}", file.display(), part.consequence())]
    Replaced {
        /// The file.
        file: PathBuf,
        /// Which part of the database it is.
        part: Part,
        /// What happened to it.
        change: Change,
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

impl StoreError {
    /// What SQLite says about a database.
    pub(crate) fn of_sql(path: PathBuf, error: rusqlite::Error) -> Self {
        match error {
            rusqlite::Error::FromSqlConversionFailure(_, _, what) => match what.downcast::<UnreadableLearning>() {
                Ok(learning) => Self::UnreadableLearning {
                    path,
                    learning: *learning,
                },
                Err(what) => Self::Damaged {
                    path,
                    what: what.to_string(),
                },
            },
            rusqlite::Error::ToSqlConversionFailure(what) => match what.downcast::<Changed>() {
                Ok(changed) => (*changed).into(),
                Err(what) => Self::Sql {
                    path,
                    reason: what.to_string(),
                },
            },
            error if is_full(&error) => Self::Full { path },
            error if is_busy(&error) => Self::Busy { path },
            error => Self::Sql {
                path,
                reason: error.to_string(),
            },
        }
    }
}

fn missing_or_empty(path: &Path) -> &'static str {
    if path.exists() { "empty" } else { "missing" }
}

/// Whether SQLite had no room to write. A log whose index cannot grow it tells in other words. A quota that is used up it
/// tells as it tells a broken disk, for which nobody should wait: whoever wants to know it has to try to write.
pub(crate) fn is_full(error: &rusqlite::Error) -> bool {
    let Some(error) = error.sqlite_error() else {
        return false;
    };
    error.code == ErrorCode::DiskFull || error.extended_code == rusqlite::ffi::SQLITE_IOERR_SHMSIZE
}

/// Whether another connection had a lock that was needed.
pub(crate) fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked | ErrorCode::FileLockingProtocolFailed)
    )
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
