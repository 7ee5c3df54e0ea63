//! What another tool has on record, in our nouns but with its own ids: they are only matched with ours when it is imported.

use jiff::Timestamp;
use ralph_model::{Outcome, Priority, TaskLogLine, TaskStatus};
use serde::Serialize;

/// Everything that another tool has on record.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ForeignHistory {
    /// Who kept it, as a person says it.
    pub tool: String,
    /// Its features, the oldest first.
    pub features: Vec<ForeignFeature>,
    /// Its tasks, the oldest first.
    pub tasks: Vec<ForeignTask>,
    /// Its iterations, the oldest first.
    pub iterations: Vec<ForeignIteration>,
    /// What could not be taken as it stands there.
    pub remarks: Vec<Remark>,
}

/// A feature of another tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForeignFeature {
    /// Its id there.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Where it says what is wanted, as a path from the root of that project, if it says so.
    pub spec: Option<String>,
    /// The same for how it is built.
    pub plan: Option<String>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

/// A task of another tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForeignTask {
    /// Its id there.
    pub id: String,
    /// What is to be done, in one line.
    pub title: String,
    /// All that there is to say about it; may be empty.
    pub description: String,
    /// Whether it is done or has failed; everything else is pending, and what waits is found anew.
    pub status: TaskStatus,
    /// How that differs from what is said there.
    pub status_there: StatusThere,
    /// How urgent it is.
    pub priority: Priority,
    /// The task that it is a part of, by its id there.
    pub parent: Option<String>,
    /// The feature that it belongs to, by its id there.
    pub feature: Option<String>,
    /// The tasks that must be done before it, by their ids there.
    pub after: Vec<String>,
    /// How many attempts counted against it.
    pub retries_used: u32,
    /// How often it may be tried again, where it says so.
    pub max_retries: Option<u32>,
    /// When it was made. With the id it tells whether a task is this one.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// What its log says, the oldest first.
    pub log: Vec<TaskLogLine>,
}

/// What another tool says of a task's status, where it is pending here.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum StatusThere {
    /// The same.
    #[default]
    TheSame,
    /// It was being worked on.
    AtWork,
    /// A word that ralph does not know.
    Unknown(String),
}

/// An iteration of another tool.
#[derive(Debug, Clone, PartialEq)]
pub struct ForeignIteration {
    /// The number of its row there.
    pub number: i64,
    /// The run, by its id there.
    pub run: String,
    /// Which iteration of the run.
    pub iteration: u32,
    /// The task, by its id there.
    pub task: Option<String>,
    /// The feature of the task, by its id there.
    pub feature: Option<String>,
    /// How it ended.
    pub outcome: Outcome,
    /// The word for that there, where ralph does not know it and takes it for interrupted.
    pub unknown_outcome: Option<String>,
    /// The model that was used, if it says.
    pub model: Option<String>,
    /// How long it took.
    pub duration_ms: u64,
    /// What it cost, in US dollars.
    pub cost_usd: f64,
    /// The files that changed.
    pub files: Vec<String>,
    /// What the agent noted.
    pub notes: Option<String>,
    /// When it ended.
    pub created_at: Timestamp,
}

/// Something that could not be taken as it stands there, and what was done about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Remark {
    /// What it is about: a task, a line, a table.
    pub about: String,
    /// What is the matter, and what became of it, as a sentence without its full stop.
    pub text: String,
}

impl Remark {
    /// A remark about something.
    #[must_use]
    pub fn new(about: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            about: about.into(),
            text: text.into(),
        }
    }
}
