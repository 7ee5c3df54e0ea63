//! Writes knowledge entries, from agents (through the outbox) and from commands. An entry with the same or a similar
//! title is updated instead of duplicated, but an agent never replaces what a person wrote. Every change is in the note
//! log with the full text.

mod add;
mod gate;
mod history;
mod known;
mod open_folder;
mod outbox;
mod same_note;

use std::path::{Path, PathBuf};

use ralph_model::Author;
use ralph_notes::{FileError, KnowledgeProblem, Patience};
use ralph_store::StoreError;

use super::ProjectEnv;
use super::note_repository::LogPlace;
use ralph_search::{IndexPlace, SourceError};

pub use add::KnowledgeWritten;
pub use gate::{KnowledgeRefusal, accept_knowledge};
pub use history::{MissingKnowledge, RestoreOutcome};
pub use outbox::{Outboxed, Written};

/// The folder of knowledge entries.
pub struct KnowledgeFolder<'a> {
    /// The folder and its index.
    pub index: IndexPlace<'a>,
    /// The location of its log; the logged file is the folder.
    pub log: LogPlace,
    pub author: Author,
    pub project_env: ProjectEnv,
    /// How long to wait for other writers.
    pub patience: Patience<'a>,
}

impl KnowledgeFolder<'_> {
    /// The folder, which may not exist.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.index.knowledge
    }
}

/// Where an entry was put.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Placement {
    Created(PathBuf),
    /// An entry with the same or a similar title was updated.
    Updated(PathBuf),
    /// An existing file with the same or a similar title already says it.
    Unchanged(PathBuf),
    /// It was already in place when ralph was killed.
    AlreadyPlaced,
}

/// Why a knowledge entry could not be written. An entry in the outbox stays there.
#[derive(Debug, thiserror::Error)]
pub enum KnowledgeError {
    #[error(transparent)]
    File(#[from] FileError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    SearchIndex(#[from] SourceError),
    #[error("cannot change {name}: {problem}")]
    Unchangeable { name: String, problem: KnowledgeProblem },
    #[error("{name} has no such version; it has {versions}")]
    NoVersion {
        name: String,
        /// The number of versions.
        versions: usize,
    },
    /// The file keeps changing, or every name is taken.
    #[error("cannot write {title:?}: its file keeps changing, or too many files have its name")]
    NoPlace { title: String },
}

#[cfg(test)]
mod tests;
