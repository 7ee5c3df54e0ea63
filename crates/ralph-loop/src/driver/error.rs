//! Why a run, or something that it had to do, came to nothing.

use ralph_agent::StartError;
use ralph_memory::catalogue::CatalogueError;
use ralph_store::StoreError;

use super::full_disk::places;
use crate::room::is_full;
use crate::site::Site;

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
        !matches!(self, Self::Agent(_))
    }
}

/// Why a run could not begin. SQLite says strange things of a disk that is full before it has opened its files, and goes on
/// to say them when there is room; so nobody waits for that.
pub(super) fn at_the_beginning(site: &Site<'_>, error: RunError) -> RunError {
    if !error.is_full() && places(site).are_full() {
        return RunError::Other(format!("the disk is full ({error})"));
    }
    error
}
