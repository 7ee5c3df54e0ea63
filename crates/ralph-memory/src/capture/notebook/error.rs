//! Why a notebook could not be read or changed.

use std::path::PathBuf;

use ralph_model::Shelf;
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
    /// The gate refused a part of the note.
    #[error("{part}{refusal}")]
    Refused {
        /// Which part, for the beginning of the message; nothing for the text itself.
        part: String,
        /// Why.
        refusal: Refusal,
    },
    /// There is no such note.
    #[error("{} not found: {id}", shelf.words().title)]
    NotFound {
        /// Where it was looked for.
        shelf: Shelf,
        /// The id, or the beginning of one.
        id: String,
    },
    /// It is a Sign, which has to become an entry before it can be changed.
    #[error("{id} is a Sign, and Signs are only read")]
    IsSign {
        /// The id that it is shown under.
        id: String,
    },
    /// A guardrail became a memory that says something else by now.
    #[error("{id} became {memory} before, and the two say different things now")]
    PromotedDifferently {
        /// The guardrail.
        id: String,
        /// The memory.
        memory: String,
    },
    /// A guardrail cannot leave, because another one would count again or take its place.
    #[error("{id} cannot be promoted as long as {reason}")]
    HeldBack {
        /// The guardrail.
        id: String,
        /// Why.
        reason: String,
    },
    /// Several notes begin so.
    #[error("{prefix} is the beginning of {count} ids: {}{}", ids.join(", "), if *count > ids.len() { ", …" } else { "" })]
    Ambiguous {
        /// The beginning.
        prefix: String,
        /// The first of the ids.
        ids: Vec<String>,
        /// How many there are.
        count: usize,
    },
    /// A file is there already that was to be made.
    #[error("{} exists already, so it was left as it is", path.display())]
    Exists {
        /// The file.
        path: PathBuf,
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
    #[error("{reason}")]
    NothingToRestore {
        /// Where it was to be restored.
        shelf: Shelf,
        /// Why not.
        reason: String,
    },
}

/// How many ids a message names.
const IDS_NAMED: usize = 5;

impl NotebookError {
    /// The error for the beginning of several ids.
    pub(super) fn ambiguous(prefix: &str, ids: &[&str]) -> Self {
        Self::Ambiguous {
            prefix: prefix.to_owned(),
            ids: ids.iter().take(IDS_NAMED).map(|id| (*id).to_owned()).collect(),
            count: ids.len(),
        }
    }
}
