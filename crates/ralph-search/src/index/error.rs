//! Errors of the index. Callers fall back to working without it.

use std::path::{Path, PathBuf};

use ralph_store::StoreError;
use rusqlite::ErrorCode;

#[derive(Debug, thiserror::Error)]
pub enum IndexError {
    /// Another process holds the write lock for too long.
    #[error("{} is being written by another process", path.display())]
    Busy { path: PathBuf },
    #[error("{} belongs to another tool, so it is left alone", path.display())]
    Foreign { path: PathBuf },
    #[error("cannot use {}: {reason}", path.display())]
    Unusable {
        path: PathBuf,
        /// The message of the system or SQLite.
        reason: String,
    },
    /// The facts to index cannot be read.
    #[error(transparent)]
    Facts(StoreError),
}

impl IndexError {
    /// A lock held by another process is not reported as damage.
    pub(super) fn of_sql(path: &Path, error: &rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Busy { path: path.to_owned() },
            _ => Self::unusable(path, error),
        }
    }

    pub(super) fn unusable(path: &Path, reason: &impl ToString) -> Self {
        Self::Unusable {
            path: path.to_owned(),
            reason: reason.to_string(),
        }
    }
}
