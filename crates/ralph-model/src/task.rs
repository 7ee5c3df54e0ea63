//! Tasks: units of work for an agent.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::word_enum::word_enum;
use crate::{Author, FeatureId, RunId, TaskId, Unverified, serialize_timestamp};

word_enum! {
    pub enum TaskStatus {
        /// Proposed by an agent; a person accepts or rejects it.
        Proposed = "proposed",
        Pending = "pending",
        /// Claimed by a run.
        InProgress = "in_progress",
        Done = "done",
        /// Only by dependencies.
        Blocked = "blocked",
        /// Its attempts are used up or it was given up; needs attention.
        Failed = "failed",
    }
}

word_enum! {
    /// How a task ends.
    pub enum TaskKind {
        /// When an agent reports it done.
        Once = "once",
        /// Repeated until an agent reports that everything is complete.
        PromptLoop = "prompt_loop",
    }
}

/// The priority of a task; lower numbers go first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Priority(pub u32);

impl Default for Priority {
    fn default() -> Self {
        Self(5)
    }
}

/// A task to be created.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewTask {
    /// One line.
    pub title: String,
    /// May be empty.
    pub description: String,
    pub parent: Option<TaskId>,
    pub feature: Option<FeatureId>,
    pub kind: TaskKind,
    pub priority: Priority,
    /// Its dependencies.
    pub after: Vec<TaskId>,
    /// Commands that must pass.
    pub checks: Vec<String>,
}

impl NewTask {
    /// A task with only a title.
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

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Task {
    pub id: TaskId,
    /// One line.
    pub title: String,
    /// May be empty.
    pub description: String,
    pub status: TaskStatus,
    /// Why a done task needs review.
    pub unverified: Option<Unverified>,
    pub kind: TaskKind,
    pub priority: Priority,
    pub parent: Option<TaskId>,
    pub feature: Option<FeatureId>,
    /// Its dependencies, in order of id.
    pub after: Vec<TaskId>,
    /// Commands that must pass, in addition to the project's gates.
    pub checks: Vec<String>,
    /// Counted attempts since the last reset.
    pub retries_used: u32,
    /// Overrides the configured number of retries.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_retries: Option<u32>,
    /// Attempts ever started; the number of the last one.
    pub attempts: u32,
    /// The run that has claimed it.
    pub claimed_by: Option<RunId>,
    /// Where an agent proposes to put it; only while it is proposed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proposal: Option<TaskProposal>,
    #[serde(serialize_with = "serialize_timestamp")]
    pub created_at: Timestamp,
    #[serde(serialize_with = "serialize_timestamp")]
    pub updated_at: Timestamp,
}

/// Where an agent proposes to put a task. Until it is accepted the task has no parent, feature or dependencies, so it
/// does not affect other tasks.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TaskProposal {
    /// The parent it would have.
    pub parent: Option<TaskId>,
    /// The feature it would belong to.
    pub feature: Option<FeatureId>,
    /// The dependencies it would have.
    pub after: Vec<TaskId>,
}

/// A line in a task's log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TaskLogLine {
    #[serde(serialize_with = "serialize_timestamp")]
    pub at: Timestamp,
    /// What happened, in one sentence.
    pub text: String,
    #[serde(flatten)]
    pub author: Author,
}
