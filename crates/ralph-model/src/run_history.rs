//! The history of a run as input of the extractor.

use crate::{ErrorCategory, Signature, TaskType};

/// A finished run.
#[derive(Debug, Clone, PartialEq)]
pub struct RunHistory {
    /// The run id, ours or another tool's.
    pub loop_id: String,
    pub objective: String,
    /// In order.
    pub iterations: Vec<PastIteration>,
}

/// An iteration of a finished run.
#[derive(Debug, Clone, PartialEq)]
pub struct PastIteration {
    /// Its number in the run, from 1.
    pub number: u32,
    /// Its journal entry; `None` if imported.
    pub journal: Option<i64>,
    /// The task id; `None` if the run had only one task.
    pub task: Option<String>,
    pub title: String,
    pub task_type: TaskType,
    pub end: PastEnd,
    /// Whether it improved anything.
    pub progress_made: bool,
    /// Duration in milliseconds.
    pub duration_ms: f64,
    /// The learnings reported by the agent.
    pub learned: Vec<String>,
    /// The agent's journal notes.
    pub notes: Option<String>,
    pub errors: Vec<PastError>,
    /// Changed files, relative to the project root.
    pub files: Vec<String>,
}

impl PastIteration {
    /// Whether it completed and made progress.
    #[must_use]
    pub fn is_success(&self) -> bool {
        self.end == PastEnd::Completed && self.progress_made
    }
}

/// How an iteration ended, for the extractor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PastEnd {
    Completed,
    /// The agent reported it done, but a gate failed before and after it. Its result is unknown and does not count.
    Unproven,
    Failed,
    /// Interrupted or unfinished.
    Other,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PastError {
    /// The error; the most informative text comes first.
    pub text: String,
    /// The category, if known.
    pub category: Option<ErrorCategory>,
    /// Identifies equal failures, if known.
    pub signature: Option<Signature>,
}
