//! Tasks: what an agent is to do, one at a time.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::word_enum::word_enum;
use crate::{FeatureId, RunId, TaskId, serialize_moment};

word_enum! {
    /// Where a task stands.
    pub enum TaskStatus {
        /// Nobody works on it.
        Pending = "pending",
        /// A run has claimed it.
        InProgress = "in_progress",
        /// It is done.
        Done = "done",
        /// It waits for another task, and for nothing else.
        Blocked = "blocked",
        /// Its attempts are used up, or somebody gave it up; it waits for a person.
        Failed = "failed",
    }
}

word_enum! {
    /// How a task comes to its end.
    pub enum TaskKind {
        /// An agent says that it is done.
        Once = "once",
        /// It is repeated until an agent says that everything is complete.
        PromptLoop = "prompt_loop",
    }
}

/// How urgent a task is: lower numbers go first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Priority(pub u32);

impl Default for Priority {
    fn default() -> Self {
        Self(5)
    }
}

/// A task to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewTask {
    /// What is to be done, in one line.
    pub title: String,
    /// All that there is to say about it; may be empty.
    pub description: String,
    /// The task that it is a part of.
    pub parent: Option<TaskId>,
    /// The feature that it belongs to.
    pub feature: Option<FeatureId>,
    /// How it comes to its end.
    pub kind: TaskKind,
    /// How urgent it is.
    pub priority: Priority,
    /// The tasks that must be done before it.
    pub after: Vec<TaskId>,
}

impl NewTask {
    /// A task of this title and nothing else.
    #[must_use]
    pub fn titled(title: impl Into<String>) -> Self {
        Self {
            title: title.into(),
            description: String::new(),
            parent: None,
            feature: None,
            kind: TaskKind::Once,
            priority: Priority::default(),
            after: Vec::new(),
        }
    }
}

/// A task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Task {
    /// Its id.
    pub id: TaskId,
    /// What is to be done, in one line.
    pub title: String,
    /// All that there is to say about it; may be empty.
    pub description: String,
    /// Where it stands.
    pub status: TaskStatus,
    /// How it comes to its end.
    pub kind: TaskKind,
    /// How urgent it is.
    pub priority: Priority,
    /// The task that it is a part of.
    pub parent: Option<TaskId>,
    /// The feature that it belongs to.
    pub feature: Option<FeatureId>,
    /// The tasks that must be done before it, in the order of their ids.
    pub after: Vec<TaskId>,
    /// How many attempts counted against it since it was last reset.
    pub retries_used: u32,
    /// How many attempts were begun, ever; the number of the last one.
    pub attempts: u32,
    /// The run that works on it.
    pub claimed_by: Option<RunId>,
    /// When it was made.
    #[serde(serialize_with = "serialize_moment")]
    pub created_at: Timestamp,
    /// When it last changed.
    #[serde(serialize_with = "serialize_moment")]
    pub updated_at: Timestamp,
}

/// A line in the log of a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TaskLogLine {
    /// When.
    #[serde(serialize_with = "serialize_moment")]
    pub at: Timestamp,
    /// What happened, as a sentence.
    pub text: String,
}
