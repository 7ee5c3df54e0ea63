//! Writes knowledge entries: those of agents that are in the outbox, and those that somebody hands in. An entry with the same
//! title, or a similar one, is updated instead of getting a second file; but an agent never replaces what a person wrote. Every
//! change is in the note log, with the whole text.

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

use super::notebook::{LogPlace, Surroundings};
use crate::catalogue::{CatalogueError, CataloguePlace};

pub use add::KnowledgeWritten;
pub use gate::{KnowledgeRefusal, accept_knowledge};
pub use history::{GoneKnowledge, PutBack};
pub use outbox::{Outboxed, Written};

/// The folder of long notes.
pub struct KnowledgeFolder<'a> {
    /// Where the folder is, and the index that tells what stands in it.
    pub catalogue: CataloguePlace<'a>,
    /// Where its log is kept; the file of it is the folder.
    pub log: LogPlace,
    /// Who changes entries here.
    pub author: Author,
    /// The project around it.
    pub surroundings: &'a dyn Surroundings,
    /// How long to wait for others who write.
    pub patience: Patience<'a>,
}

impl KnowledgeFolder<'_> {
    /// The folder itself, which need not exist.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.catalogue.knowledge
    }
}

/// How a note came to its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Placement {
    /// A file was made.
    Made(PathBuf),
    /// The entry with its title, or a similar one, was updated.
    Changed(PathBuf),
    /// The file that has its title, or nearly, says all of it already.
    Known(PathBuf),
    /// It had been put in its place before ralph was killed.
    Before,
}

/// Why a note could not be written. One of the outbox stays there.
#[derive(Debug, thiserror::Error)]
pub enum KnowledgeError {
    /// The file system said no.
    #[error(transparent)]
    File(#[from] FileError),
    /// The database said no.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// What stands in the folder cannot be told.
    #[error(transparent)]
    Catalogue(#[from] CatalogueError),
    /// The note that is to be brought up to date cannot be changed.
    #[error("{name} cannot be changed: {problem}")]
    Unchangeable {
        /// Its file.
        name: String,
        /// Why.
        problem: KnowledgeProblem,
    },
    /// There is no such version of an entry.
    #[error("{name} has no such version; there are {versions}")]
    NoVersion {
        /// The file.
        name: String,
        /// How many versions there are.
        versions: usize,
    },
    /// Somebody saves the file again and again, or every name is taken.
    #[error("no place was found for {title:?}: its file keeps changing, or too many have its name")]
    NoPlace {
        /// The title.
        title: String,
    },
}

#[cfg(test)]
mod tests;
