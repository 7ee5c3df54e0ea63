//! Another tool's history, in our types but with its own ids, which are matched with ours on import.

use jiff::Timestamp;
use ralph_model::{Outcome, Priority, TaskLogLine, TaskStatus};
use serde::Serialize;

/// The history of another tool.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ForeignHistory {
    /// The tool's name for the user.
    pub tool: String,
    /// Oldest first.
    pub features: Vec<ForeignFeature>,
    /// Oldest first.
    pub tasks: Vec<ForeignTask>,
    /// Oldest first.
    pub iterations: Vec<ForeignIteration>,
    /// What could not be imported unchanged.
    pub remarks: Vec<Remark>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForeignFeature {
    pub id: String,
    pub name: String,
    /// The path of its specification from the root of that project, if any.
    pub spec: Option<String>,
    /// The path of its plan, if any.
    pub plan: Option<String>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForeignTask {
    pub id: String,
    pub title: String,
    /// May be empty.
    pub description: String,
    /// Done or failed; everything else is pending, and blocked tasks are recomputed.
    pub status: TaskStatus,
    /// How that differs from the original status.
    pub foreign_status: ForeignStatus,
    pub priority: Priority,
    /// The parent's id in the other tool.
    pub parent: Option<String>,
    /// The feature's id in the other tool.
    pub feature: Option<String>,
    /// The ids of its dependencies in the other tool.
    pub after: Vec<String>,
    /// The number of counted attempts.
    pub retries_used: u32,
    /// Its retry limit, if it has its own.
    pub max_retries: Option<u32>,
    /// Together with the id, this identifies a task.
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    /// Its log, oldest line first.
    pub log: Vec<TaskLogLine>,
}

/// The original status of a task, where it is pending here.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum ForeignStatus {
    #[default]
    Same,
    InProgress,
    Unknown(String),
}

#[derive(Debug, Clone, PartialEq)]
pub struct ForeignIteration {
    /// The id of its row in the other tool.
    pub number: i64,
    /// The run's id in the other tool.
    pub run: String,
    pub iteration: u32,
    /// The task's id in the other tool.
    pub task: Option<String>,
    /// The id of the task's feature in the other tool.
    pub feature: Option<String>,
    pub outcome: Outcome,
    /// The original word, if ralph does not know it and treats it as interrupted.
    pub unknown_outcome: Option<String>,
    pub model: Option<String>,
    pub duration_ms: u64,
    pub cost_usd: f64,
    pub files: Vec<String>,
    pub notes: Option<String>,
    pub created_at: Timestamp,
}

/// Something that could not be imported unchanged, and what was done about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Remark {
    /// What it is about: a task, a line, a table.
    pub about: String,
    /// The problem and its resolution, as a sentence without a full stop.
    pub text: String,
}

impl Remark {
    #[must_use]
    pub fn new(about: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            about: about.into(),
            text: text.into(),
        }
    }
}
