//! Tasks: what an agent is to do, one at a time.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::word_enum::word_enum;
use crate::{Author, FeatureId, RunId, TaskId, Unverified, serialize_moment};

word_enum! {
    /// Where a task stands.
    pub enum TaskStatus {
        /// An agent proposed it; a person accepts or rejects it, and until then it is no work.
        Proposed = "proposed",
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
    /// The commands that must pass for it.
    pub checks: Vec<String>,
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
            checks: Vec::new(),
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
    /// Why a done task needs a person's review; none when it does not.
    pub unverified: Option<Unverified>,
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
    /// The commands that must pass for it, beside the gates of the project.
    pub checks: Vec<String>,
    /// How many attempts counted against it since it was last reset.
    pub retries_used: u32,
    /// How often it may be tried again; none leaves that to the configuration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_retries: Option<u32>,
    /// How many attempts were begun, ever; the number of the last one.
    pub attempts: u32,
    /// The run that works on it.
    pub claimed_by: Option<RunId>,
    /// Where an agent wants it to be; only while it is proposed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proposal: Option<TaskProposal>,
    /// When it was made.
    #[serde(serialize_with = "serialize_moment")]
    pub created_at: Timestamp,
    /// When it last changed.
    #[serde(serialize_with = "serialize_moment")]
    pub updated_at: Timestamp,
}

/// Where an agent wants a proposed task to be. A proposed task has no parent, feature or dependencies of its own, so that it
/// changes nothing for other tasks.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TaskProposal {
    /// The task that it would be a subtask of.
    pub parent: Option<TaskId>,
    /// The feature that it would belong to.
    pub feature: Option<FeatureId>,
    /// The tasks that would have to be done before it.
    pub after: Vec<TaskId>,
}

/// A line in the log of a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TaskLogLine {
    /// When.
    #[serde(serialize_with = "serialize_moment")]
    pub at: Timestamp,
    /// What happened, as a sentence.
    pub text: String,
    /// Who did it.
    #[serde(flatten)]
    pub author: Author,
}
