//! A whole run as lessons are drawn from it: what its iterations were about, how each ended, what was learned and met.

use crate::{Signature, TaskType};

/// A run that is over.
#[derive(Debug, Clone, PartialEq)]
pub struct RunHistory {
    /// Its id: one of ours, or what another tool calls it.
    pub loop_id: String,
    /// What was asked for.
    pub objective: String,
    /// Its iterations, in their order.
    pub iterations: Vec<PastIteration>,
}

/// An iteration of a run that is over.
#[derive(Debug, Clone, PartialEq)]
pub struct PastIteration {
    /// Its number in the run, from 1.
    pub number: u32,
    /// Its row of the journal; none where it comes from elsewhere.
    pub journal: Option<i64>,
    /// The task, by its id; none where the run had but one.
    pub task: Option<String>,
    /// The task's title.
    pub title: String,
    /// What kind of work the task is.
    pub task_type: TaskType,
    /// How it ended.
    pub end: PastEnd,
    /// Whether anything changed for the better.
    pub progress_made: bool,
    /// How long it took, in milliseconds.
    pub duration_ms: f64,
    /// What the agent said that it learned.
    pub learned: Vec<String>,
    /// What it noted of its work.
    pub notes: Option<String>,
    /// What went wrong.
    pub errors: Vec<PastError>,
    /// The files that it changed, from the project's root.
    pub files: Vec<String>,
}

impl PastIteration {
    /// Whether it is work that succeeded.
    #[must_use]
    pub fn is_success(&self) -> bool {
        self.end == PastEnd::Completed && self.progress_made
    }
}

/// How an iteration ended, as far as lessons are concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PastEnd {
    /// It was done.
    Completed,
    /// It was, as far as the agent says; but a gate was red before and after it, so nobody knows whether the work is good, and
    /// nothing is counted by it.
    Unproven,
    /// It was not done.
    Failed,
    /// It says nothing about the work: it was interrupted, or is not over.
    Other,
}

/// Something that went wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PastError {
    /// What was said of it; what says most stands first.
    pub text: String,
    /// What makes it the same as another one, where that is known.
    pub signature: Option<Signature>,
}
