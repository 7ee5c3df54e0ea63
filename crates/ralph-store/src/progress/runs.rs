//! Runs, and the iteration that each is in.

use jiff::Timestamp;
use ralph_model::{FeatureId, Injection, RunId, TaskId};

use super::claims::RunProcess;

/// A run that begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewRun {
    /// Its id.
    pub id: RunId,
    /// The agent's name.
    pub agent: String,
    /// What was asked for, as a person reads it.
    pub goal: String,
    /// The worktree's name; empty for the main one.
    pub worktree: String,
    /// The branch that is checked out.
    pub branch: Option<String>,
    /// The commit that is checked out.
    pub commit: Option<String>,
    /// The process.
    pub process: RunProcess,
    /// When it begins.
    pub started_at: Timestamp,
}

/// A run on record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    /// How it began.
    pub begun: NewRun,
    /// When it last gave a sign.
    pub heartbeat: Timestamp,
    /// When and how it ended, as a sentence; none while it goes on, or when it was killed.
    pub ended: Option<(Timestamp, String)>,
}

/// How far an iteration came.
#[derive(Debug, Clone, PartialEq)]
pub enum Phase {
    /// The task is claimed; no agent was started.
    Claimed,
    /// The agent was started.
    Started {
        /// When.
        at: Timestamp,
    },
    /// The agent's turn is over.
    Ended {
        /// When the agent was started.
        at: Timestamp,
        /// How it ended, as the loop writes it.
        end: String,
    },
}

/// The record of the iteration that a run is in: what a killed run leaves.
#[derive(Debug, Clone, PartialEq)]
pub struct IterationRecord {
    /// The run.
    pub run: RunId,
    /// Which iteration, from 1.
    pub iteration: u32,
    /// The task.
    pub task: TaskId,
    /// The task's title.
    pub task_title: String,
    /// The task's feature.
    pub feature: Option<FeatureId>,
    /// Which attempt at the task.
    pub attempt: u32,
    /// The number that the settlement must name.
    pub fence: u64,
    /// How far it came.
    pub phase: Phase,
    /// The model that was asked for.
    pub model: Option<String>,
    /// Why that model.
    pub rationale: String,
    /// The random word in the environment of everything that the agent started.
    pub marker: String,
    /// The agent's process: its pid, and when it began as the system counts.
    pub agent: Option<(u32, u64)>,
    /// What the project's files were before, as the loop writes it.
    pub before: Option<String>,
    /// What the gates said before the first iteration, as the loop writes it.
    pub baseline: Option<String>,
    /// What stood in the prompt and what did not.
    pub injections: Vec<Injection>,
}

/// What is known before an agent is started.
#[derive(Debug, Clone)]
pub struct Start<'a> {
    /// The model that is asked for.
    pub model: Option<&'a str>,
    /// Why that model.
    pub rationale: &'a str,
    /// What the project's files are, as the loop writes it.
    pub before: &'a str,
    /// What stands in the prompt and what does not.
    pub injections: &'a [Injection],
    /// When.
    pub at: Timestamp,
}
