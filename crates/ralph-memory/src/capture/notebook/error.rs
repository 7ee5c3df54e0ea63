//! Why a notebook could not be read or changed.

use ralph_notes::FileError;
use ralph_store::StoreError;

use crate::capture::Refusal;

/// Why a notebook could not be read or changed.
#[derive(Debug, thiserror::Error)]
pub enum NotebookError {
    /// The file system said no.
    #[error(transparent)]
    File(#[from] FileError),
    /// The log said no, where it was needed.
    #[error(transparent)]
    Log(#[from] StoreError),
    /// The gate refused the text.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// There is no such note.
    #[error("{noun} not found: {id}")]
    NotFound {
        /// What kind of note was looked for.
        noun: &'static str,
        /// The id, or the beginning of one.
        id: String,
    },
    /// Several notes begin so.
    #[error("{prefix} is the beginning of {} ids: {}", ids.len(), ids.join(", "))]
    Ambiguous {
        /// The beginning.
        prefix: String,
        /// The ids.
        ids: Vec<String>,
    },
    /// The file has two entries with this id.
    #[error("{id} stands more than once in the file, on lines {}", lines.join(" and "))]
    Twice {
        /// The id.
        id: String,
        /// The lines.
        lines: Vec<String>,
    },
    /// A note was changed by somebody else since it was shown.
    #[error("{id} was changed by somebody else in the meantime")]
    ChangedMeanwhile {
        /// The id.
        id: String,
    },
    /// There is nothing to restore.
    #[error("{0}")]
    NothingToRestore(String),
}
