//! What can be wrong with a request about tasks, in words for the person who made it.

use ralph_model::{FeatureId, RunId, TaskId};

use crate::StoreError;

/// Why a task could not be found or changed. Nothing has changed then.
#[derive(Debug, thiserror::Error)]
pub enum TaskError {
    /// No task has an id that begins so.
    #[error("there is no task {}", if text.trim().is_empty() { "\"\"" } else { text })]
    Unknown {
        /// What was given for its id.
        text: String,
    },
    /// No deleted task has an id that begins so.
    #[error("there is no deleted task {}", if text.trim().is_empty() { "\"\"" } else { text })]
    NotDeleted {
        /// What was given for its id.
        text: String,
    },
    /// The task that a deleted one was a part of is not there.
    #[error("{task} was a part of {parent}, which is deleted too")]
    ParentDeleted {
        /// The task.
        task: TaskId,
        /// What it was a part of.
        parent: TaskId,
    },
    /// Several tasks have ids that begin so.
    #[error("{text} is the beginning of several ids: {}", named(candidates, *more))]
    Ambiguous {
        /// What was given for the id.
        text: String,
        /// The first tasks that could be meant, with their titles.
        candidates: Vec<(TaskId, String)>,
        /// How many others there are.
        more: usize,
    },
    /// Tasks would wait for one another for ever.
    #[error("tasks would wait for one another for ever: {}", steps.join(", "))]
    Ring {
        /// The ring, a step a sentence.
        steps: Vec<String>,
    },
    /// A run works on the task.
    #[error("{task} is claimed by {run}, which works on it")]
    Claimed {
        /// The task.
        task: TaskId,
        /// The run.
        run: RunId,
    },
    /// The task has children, which decide about it.
    #[error("{task} has parts that are not done: {}", open.iter().map(TaskId::as_str).collect::<Vec<_>>().join(", "))]
    HasOpenParts {
        /// The task.
        task: TaskId,
        /// Its parts that are open.
        open: Vec<TaskId>,
    },
    /// The task has children, which decide about it.
    #[error("{task} has parts, and how they stand decides how it stands")]
    HasParts {
        /// The task.
        task: TaskId,
    },
    /// The task is only proposed.
    #[error("{task} is only proposed; accept it first")]
    Proposed {
        /// The task.
        task: TaskId,
    },
    /// The task is not proposed.
    #[error("{task} is not proposed")]
    NotProposed {
        /// The task.
        task: TaskId,
    },
    /// The feature that a task was to belong to was deleted in the meantime.
    #[error("there is no feature {feature} any more")]
    NoFeature {
        /// The feature.
        feature: FeatureId,
    },
    /// A part would belong to another feature than its parent.
    #[error("a part of {parent} belongs to the feature {other}, as {parent} does, and not to {feature}")]
    TwoFeatures {
        /// The parent.
        parent: TaskId,
        /// The feature that its part was to belong to.
        feature: String,
        /// The one that the parent belongs to.
        other: String,
    },
    /// The database could not be used.
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

/// An error before it is known which database it concerns.
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
