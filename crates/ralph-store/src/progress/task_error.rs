//! Errors of requests about tasks, in words for the user.

use ralph_model::{FeatureId, RunId, TaskId};

use crate::StoreError;

/// Why a task could not be found or changed. Nothing has changed.
#[derive(Debug, thiserror::Error)]
pub enum TaskError {
    /// No task has this id prefix.
    #[error("there is no task {}", if text.trim().is_empty() { "\"\"" } else { text })]
    Unknown { text: String },
    /// No deleted task has this id prefix.
    #[error("there is no deleted task {}", if text.trim().is_empty() { "\"\"" } else { text })]
    NotDeleted { text: String },
    /// The parent of a deleted task is deleted too.
    #[error("{task} was a subtask of {parent}, which is also deleted")]
    ParentDeleted { task: TaskId, parent: TaskId },
    /// Several tasks have this id prefix.
    #[error("{text} matches several ids: {}", named(candidates, *more))]
    Ambiguous {
        text: String,
        /// The first candidates with their titles.
        candidates: Vec<(TaskId, String)>,
        /// Number of further candidates.
        more: usize,
    },
    #[error("dependency cycle: {}", steps.join(", "))]
    DependencyCycle {
        /// The cycle, one step per sentence.
        steps: Vec<String>,
    },
    #[error("{task} is claimed by {run}, which is working on it")]
    Claimed { task: TaskId, run: RunId },
    #[error("{task} has unfinished subtasks: {}", open.iter().map(TaskId::as_str).collect::<Vec<_>>().join(", "))]
    HasOpenSubtasks { task: TaskId, open: Vec<TaskId> },
    #[error("{task} has subtasks, which determine its status")]
    HasSubtasks { task: TaskId },
    #[error("{task} is only proposed; accept it first")]
    Proposed { task: TaskId },
    #[error("{task} is not proposed")]
    NotProposed { task: TaskId },
    /// The feature was deleted in the meantime.
    #[error("feature {feature} no longer exists")]
    NoFeature { feature: FeatureId },
    /// A subtask must belong to its parent's feature.
    #[error("a subtask of {parent} must belong to the feature {other}, like {parent}, and not to {feature}")]
    TwoFeatures {
        parent: TaskId,
        /// The requested feature.
        feature: String,
        /// The parent's feature.
        other: String,
    },
    #[error(transparent)]
    Store(#[from] StoreError),
}

fn named(candidates: &[(TaskId, String)], more: usize) -> String {
    let mut names: Vec<String> = candidates
        .iter()
        .map(|(id, title)| format!("{id} ({})", ralph_model::preview(title, 40)))
        .collect();
    if more > 0 {
        names.push(format!("and {more} more"));
    }
    names.join(", ")
}

/// An error before the database it concerns is known.
#[derive(Debug)]
pub(super) enum Trouble {
    Task(TaskError),
    Sql(rusqlite::Error),
}

impl From<rusqlite::Error> for Trouble {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sql(error)
    }
}

impl From<TaskError> for Trouble {
    fn from(error: TaskError) -> Self {
        Self::Task(error)
    }
}
