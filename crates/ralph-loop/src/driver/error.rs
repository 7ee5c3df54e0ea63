//! The errors of a run and its effects.

use ralph_agent::StartError;
use ralph_search::{IndexError, SourceError};
use ralph_store::StoreError;

use crate::disk_space::is_full;

/// Why an effect failed.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Notes(SourceError),
    #[error("cannot write the run folder: {0}")]
    Folder(#[from] std::io::Error),
    #[error(transparent)]
    Agent(#[from] StartError),
    #[error("cannot read or write the iteration record: {0}")]
    Record(#[from] serde_json::Error),
    /// The disk stayed full until the run was out of time.
    #[error("{0}")]
    DiskFullTimeout(String),
    #[error("{0}")]
    Other(String),
}

impl From<SourceError> for RunError {
    fn from(error: SourceError) -> Self {
        match error {
            SourceError::Index(IndexError::Facts(error)) => Self::Store(error),
            error => Self::Notes(error),
        }
    }
}

impl RunError {
    pub(super) fn disk_full() -> Self {
        Self::Folder(std::io::ErrorKind::StorageFull.into())
    }

    /// Whether another process locked the database, so that a retry may help.
    pub(super) fn is_locked(&self) -> bool {
        matches!(self, Self::Store(StoreError::Busy { .. }))
    }

    /// Whether the disk was full, so that a retry may help.
    pub(super) fn is_full(&self) -> bool {
        match self {
            Self::Store(error) => matches!(error, StoreError::Full { .. }),
            Self::Folder(error) => is_full(error),
            Self::Notes(_) | Self::Agent(_) | Self::Record(_) | Self::DiskFullTimeout(_) | Self::Other(_) => false,
        }
    }

    /// Whether a full disk may be the hidden cause. An agent that did not start has already given its task back.
    pub(super) fn may_be_caused_by_full_disk(&self) -> bool {
        !matches!(self, Self::Agent(_) | Self::Store(StoreError::Replaced { .. }))
    }

    /// The database error that only the user can fix; `None` for transient errors and those of other parts.
    pub(super) fn store_error(self) -> Option<Self> {
        let passes = self.is_full() || self.is_locked();
        Some(self).filter(|error| matches!(error, Self::Store(_)) && !passes)
    }
}
