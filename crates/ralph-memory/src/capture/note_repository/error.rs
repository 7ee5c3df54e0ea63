//! Errors of reading and changing note files.

use std::path::PathBuf;

use ralph_model::NoteFileKind;
use ralph_notes::FileError;
use ralph_store::StoreError;

use crate::capture::Refusal;

/// Why a note file could not be read or changed.
#[derive(Debug, thiserror::Error)]
pub enum NoteRepositoryError {
    #[error(transparent)]
    File(#[from] FileError),
    #[error(transparent)]
    Log(#[from] StoreError),
    /// A part of the note was refused.
    #[error("{part}{refusal}")]
    Refused {
        /// The part as prefix of the message; empty for the text itself.
        part: String,
        refusal: Refusal,
    },
    #[error("{} not found: {id}", file_kind.words().title)]
    NotFound {
        file_kind: NoteFileKind,
        /// The id or a prefix of one.
        id: String,
    },
    /// A Sign must be converted to an entry before it can be changed.
    #[error("{id} is a legacy Sign and cannot be changed")]
    IsSign { id: String },
    /// A guardrail was promoted before, and the memory has changed since.
    #[error("{id} was already promoted to {memory}, and they differ now")]
    PromotedDifferently { id: String, memory: String },
    /// A guardrail that supersedes another or is superseded cannot be moved alone.
    #[error("cannot promote {id}: {reason}")]
    CannotPromote { id: String, reason: String },
    #[error("{prefix} matches {count} ids: {}{}", ids.join(", "), if *count > ids.len() { ", …" } else { "" })]
    Ambiguous {
        prefix: String,
        /// The first ids.
        ids: Vec<String>,
        count: usize,
    },
    #[error("{} already exists", path.display())]
    Exists { path: PathBuf },
    #[error("{id} is in the file more than once, on lines {}", lines.join(" and "))]
    Twice { id: String, lines: Vec<String> },
    #[error("{id} was changed in the meantime")]
    ChangedMeanwhile { id: String },
    #[error("{reason}")]
    NothingToRestore { file_kind: NoteFileKind, reason: String },
}

/// The number of ids in a message.
const IDS_NAMED: usize = 5;

impl NoteRepositoryError {
    /// An ambiguous id prefix.
    pub(super) fn ambiguous(prefix: &str, ids: &[&str]) -> Self {
        Self::Ambiguous {
            prefix: prefix.to_owned(),
            ids: ids.iter().take(IDS_NAMED).map(|id| (*id).to_owned()).collect(),
            count: ids.len(),
        }
    }
}
