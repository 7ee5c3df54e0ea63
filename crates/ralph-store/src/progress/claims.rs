//! Which task comes next, and whose it is: one run works on a task at a time, and a run that died holds none.

use std::collections::BTreeSet;
use std::time::Duration;

use jiff::Timestamp;
use ralph_model::{FeatureId, RunId, Task, TaskId};

/// Which tasks a run works on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scope {
    /// All of them.
    All,
    /// One task with everything below it.
    Task(TaskId),
    /// The tasks of a feature.
    Feature(FeatureId),
}

/// A run asks for its next task.
#[derive(Debug, Clone)]
pub struct ClaimRequest<'a> {
    /// The run.
    pub run: &'a RunId,
    /// Which iteration of the run it will be, from 1.
    pub iteration: u32,
    /// Which tasks it works on.
    pub scope: &'a Scope,
    /// The worktree's name; empty for the main one.
    pub worktree: &'a str,
    /// Commits of other worktrees' tasks that the checked-out commit holds; see [`Store::commits_of_other_worktrees`].
    pub commits_here: &'a BTreeSet<String>,
    /// The random word of this iteration.
    pub marker: &'a str,
    /// For how long the claim holds unless the run says more.
    pub lease: Duration,
    /// The present moment.
    pub now: Timestamp,
}

/// A task that is the run's own now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// The task.
    pub task: Task,
    /// Which attempt at it this is, from 1; never used again.
    pub attempt: u32,
    /// The number that the settlement must name.
    pub fence: u64,
}

/// What a run is answered that asks for its next task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClaimAnswer {
    /// This one.
    Claimed(Box<Claim>),
    /// None is ready, but live runs hold tasks, and what they do may make one ready.
    Busy {
        /// The tasks that are held, with their runs.
        held: Vec<(TaskId, RunId)>,
    },
    /// None is ready, and none will be without a person.
    Nothing(Standing),
}

/// How the tasks of a scope stand, those that have children left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Standing {
    /// Done.
    pub done: u32,
    /// Failed.
    pub failed: u32,
    /// Not done, and behind a failed one or one that is done in another worktree only.
    pub waiting: u32,
    /// Not done, and nothing is in their way.
    pub open: u32,
}

/// The process of a run, as its host knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunProcess {
    /// The host.
    pub host: String,
    /// The process.
    pub pid: u32,
    /// When it began, as the system counts.
    pub started: u64,
}
