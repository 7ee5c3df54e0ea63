//! Errors of the database, in words for the user.

use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;

use crate::guard::{Change, Changed, Part};

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The file belongs to another tool; ralph never writes it.
    #[error("{} belongs to another tool, so it is left alone", path.display())]
    Foreign { path: PathBuf },
    /// An unreleased version of ralph wrote the file.
    #[error(
        "{} has schema {found} of an unreleased ralph, which this one cannot read; export what you need with the ralph \
         that wrote it (`ralph learnings export`, `ralph journal export`), then move the file away",
        path.display()
    )]
    Older { path: PathBuf, found: i64 },
    #[error("{} was written by a newer ralph (its format is {found}, this one knows up to {known}); update ralph", path.display())]
    Newer { path: PathBuf, found: i64, known: i64 },
    /// The file is missing or empty, and there is a backup.
    #[error("{} is {}, but there is a backup: {}", path.display(), missing_or_empty(path), backup.display())]
    Lost { path: PathBuf, backup: PathBuf },
    /// The schema has to change, and there is no folder for the backup that must be made first.
    #[error("{} needs a newer schema, but there is no folder for the backup", path.display())]
    NoBackupFolder { path: PathBuf },
    #[error("{} is not an SQLite database", path.display())]
    NotADatabase { path: PathBuf },
    #[error("cannot open {}: {source}", path.display())]
    Io { path: PathBuf, source: std::io::Error },
    #[error("cannot write {}: the disk is full", path.display())]
    Full { path: PathBuf },
    /// Another process held a lock for longer than the timeout.
    #[error("{} is locked by another process", path.display())]
    Busy { path: PathBuf },
    /// The database, or a file that belongs to it, was deleted or replaced while it was open.
    #[error("{} was {change} while ralph was using it{}", file.display(), part.consequence())]
    Replaced { file: PathBuf, part: Part, change: Change },
    #[error("cannot use {}: {reason}", path.display())]
    Sql { path: PathBuf, reason: String },
    /// A row holds a value that no version of ralph writes.
    #[error("{} has an unreadable value: {what}", path.display())]
    Damaged { path: PathBuf, what: String },
}

impl StoreError {
    pub(crate) fn of_sql(path: PathBuf, error: rusqlite::Error) -> Self {
        match error {
            rusqlite::Error::FromSqlConversionFailure(_, _, what) => Self::Damaged {
                path,
                what: what.to_string(),
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

/// Whether the disk is full. SQLite reports a log index that cannot grow with a different code. It reports an exceeded
/// quota like a broken disk, which callers must not wait for, so that case can only be detected by trying to write.
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
