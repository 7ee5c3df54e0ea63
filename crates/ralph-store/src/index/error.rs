//! Why an index could not be used; whoever asked goes on without it.

use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;

/// Why an index could not be used.
#[derive(Debug, thiserror::Error)]
pub enum IndexError {
    /// Another process writes it, and does not come to an end.
    #[error("{} is being written by another process", path.display())]
    Busy {
        /// The index.
        path: PathBuf,
    },
    /// The file belongs to another tool; it is never written.
    #[error("{} belongs to another tool, so it is left alone", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// It cannot be read or written.
    #[error("cannot use {}: {reason}", path.display())]
    Unusable {
        /// The index.
        path: PathBuf,
        /// What the system or SQLite says.
        reason: String,
    },
}

impl IndexError {
    /// What SQLite says; that another process holds the index is no fault of it.
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
