//! Writes long notes: those of agents that wait in the outbox, and those that somebody hands in. A note that stands there
//! already, by its title or nearly so, is brought up to date instead of getting a second file.

mod add;
mod gate;
mod known;
mod open_folder;
mod outbox;
mod same_note;

use std::path::{Path, PathBuf};

use ralph_notes::{FileError, KnowledgeProblem, Patience};
use ralph_store::StoreError;

use super::notebook::Surroundings;
use crate::catalogue::{CatalogueError, CataloguePlace};

pub use add::Deleted;
pub use gate::{KnowledgeRefusal, accept_knowledge};
pub use outbox::{Outboxed, Written};

/// The folder of long notes.
pub struct KnowledgeFolder<'a> {
    /// Where the folder is, and the index that tells what stands in it.
    pub catalogue: CataloguePlace<'a>,
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
    /// The file that had its title, or nearly, has its text now.
    Changed {
        /// The file.
        path: PathBuf,
        /// Where the text is kept that it had, unless the new one only adds to what stands in front.
        replaced: Option<PathBuf>,
    },
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
    /// Somebody saves the file again and again, or every name is taken.
    #[error("no place was found for {title:?}: its file keeps changing, or too many have its name")]
    NoPlace {
        /// The title.
        title: String,
    },
}

#[cfg(test)]
mod tests;
