//! Errors of requests about features, in words for the user.

use ralph_model::{FeatureId, FeatureName};

use super::task_error::{TaskError, Trouble};
use crate::StoreError;

/// Why a feature could not be found, created or deleted. Nothing has changed.
#[derive(Debug, thiserror::Error)]
pub enum FeatureError {
    /// No feature has this name or id prefix.
    #[error("there is no feature {}", if text.trim().is_empty() { "\"\"" } else { text })]
    Unknown { text: String },
    /// Several features have this id prefix.
    #[error("{text} matches several ids: {}", named(candidates, *more))]
    Ambiguous {
        text: String,
        /// The first candidates.
        candidates: Vec<(FeatureId, FeatureName)>,
        /// Number of further candidates.
        more: usize,
    },
    /// The name is taken; names ignore case.
    #[error("feature {name} already exists: {id}")]
    Taken { name: FeatureName, id: FeatureId },
    #[error(transparent)]
    Task(#[from] TaskError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

fn named(candidates: &[(FeatureId, FeatureName)], more: usize) -> String {
    let names = candidates.iter().map(|(id, name)| format!("{id} ({name})"));
    let more = (more > 0).then(|| format!("and {more} more"));
    names.chain(more).collect::<Vec<_>>().join(", ")
}

/// An error before the database it concerns is known.
#[derive(Debug)]
pub(super) enum FeatureTrouble {
    Feature(FeatureError),
    Sql(rusqlite::Error),
}

impl From<rusqlite::Error> for FeatureTrouble {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sql(error)
    }
}

impl From<FeatureError> for FeatureTrouble {
    fn from(error: FeatureError) -> Self {
        Self::Feature(error)
    }
}

impl From<Trouble> for FeatureTrouble {
    fn from(trouble: Trouble) -> Self {
        match trouble {
            Trouble::Task(error) => Self::Feature(error.into()),
            Trouble::Sql(error) => Self::Sql(error),
        }
    }
}
