//! What can be wrong with a request about features, in words for the person who made it.

use ralph_model::{FeatureId, FeatureName};

use super::task_error::{TaskError, Trouble};
use crate::StoreError;

/// Why a feature could not be found, made or deleted. Nothing has changed then.
#[derive(Debug, thiserror::Error)]
pub enum FeatureError {
    /// No feature has this name, or an id that begins so.
    #[error("there is no feature {}", if text.trim().is_empty() { "\"\"" } else { text })]
    Unknown {
        /// What was given for it.
        text: String,
    },
    /// Several features have ids that begin so.
    #[error("{text} is the beginning of several ids: {}", named(candidates, *more))]
    Ambiguous {
        /// What was given for the id.
        text: String,
        /// The first features that could be meant.
        candidates: Vec<(FeatureId, FeatureName)>,
        /// How many others there are.
        more: usize,
    },
    /// There is a feature of this name, maybe in other capitals.
    #[error("there is a feature {name} already: {id}")]
    Taken {
        /// Its name as it is written.
        name: FeatureName,
        /// Its id.
        id: FeatureId,
    },
    /// One of its tasks is in the way.
    #[error(transparent)]
    Task(#[from] TaskError),
    /// The database could not be used.
    #[error(transparent)]
    Store(#[from] StoreError),
}

fn named(candidates: &[(FeatureId, FeatureName)], more: usize) -> String {
    let names = candidates.iter().map(|(id, name)| format!("{id} ({name})"));
    let more = (more > 0).then(|| format!("and {more} more"));
    names.chain(more).collect::<Vec<_>>().join(", ")
}

/// An error before it is known which database it concerns.
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
