//! Why a run, or something that it had to do, came to nothing.

use std::path::Path;

use ralph_agent::StartError;
use ralph_memory::catalogue::CatalogueError;
use ralph_store::StoreError;

use crate::room::is_full;

/// Why an effect could not be done.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The database.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The notes.
    #[error(transparent)]
    Notes(#[from] CatalogueError),
    /// The folder of the run, or a file in it.
    #[error("cannot write the folder of the run: {0}")]
    Folder(#[from] std::io::Error),
    /// The agent.
    #[error(transparent)]
    Agent(#[from] StartError),
    /// What is on record cannot be written or read as JSON.
    #[error("the record of the iteration: {0}")]
    Record(#[from] serde_json::Error),
    /// The disk was full until the time of the run was up.
    #[error("{0}")]
    NoRoomInTime(String),
    /// Anything else, in words.
    #[error("{0}")]
    Other(String),
}

impl RunError {
    /// There is no room to write.
    pub(super) fn no_room() -> Self {
        Self::Folder(std::io::ErrorKind::StorageFull.into())
    }

    /// Another process keeps the database locked.
    pub(super) fn locked(database: &Path) -> Self {
        Self::Store(StoreError::Busy {
            path: database.to_owned(),
        })
    }

    /// Whether another process had the database locked; then it can be tried again.
    pub(super) fn is_locked(&self) -> bool {
        matches!(self, Self::Store(StoreError::Busy { .. }))
    }

    /// Whether there was no room to write; then it can be tried again.
    pub(super) fn is_full(&self) -> bool {
        match self {
            Self::Store(error) => matches!(error, StoreError::Full { .. }),
            Self::Folder(error) => is_full(error),
            Self::Notes(_) | Self::Agent(_) | Self::Record(_) | Self::NoRoomInTime(_) | Self::Other(_) => false,
        }
    }

    /// Whether it may come from a full disk without saying so. Whoever has not found its agent has given its task back.
    pub(super) fn may_be_of_room(&self) -> bool {
        !matches!(self, Self::Agent(_) | Self::Store(StoreError::Replaced { .. }))
    }

    /// The error of the database that nothing but the user can put right; none where it passes by itself, or is another's.
    pub(super) fn of_broken_store(self) -> Option<Self> {
        let passes = self.is_full() || self.is_locked();
        Some(self).filter(|error| matches!(error, Self::Store(_)) && !passes)
    }
}
