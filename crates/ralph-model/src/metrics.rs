//! How things go, in figures drawn from the journal.

use serde::{Deserialize, Serialize};

use crate::{Difficulty, TaskId};

/// How many of so many iterations were done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Rate {
    /// Those that were done.
    pub done: u32,
    /// All that count.
    pub of: u32,
}

impl Rate {
    /// Fewer iterations than so many tell nothing.
    pub const LEAST: u32 = 5;

    /// The part that was done, from 0 to 1; none while there are too few to tell.
    #[must_use]
    pub fn share(self) -> Option<f64> {
        (self.of >= Self::LEAST).then(|| f64::from(self.done) / f64::from(self.of))
    }
}

/// How it goes with a task, and with everything lately.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Course {
    /// How many attempts at the task failed since the last that was done. Those that were interrupted are passed over;
    /// those that were taken over from another tool count, as long as it was not done here since.
    pub consecutive_failures: u32,
    /// The last iterations of all tasks that count, at most [`Course::RECENT`].
    pub recent: Rate,
}

impl Course {
    /// How many of the last iterations are looked at.
    pub const RECENT: u32 = 20;
}

/// An attempt that failed and that its agent found hard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HardFailure {
    /// The row of the journal.
    pub journal: i64,
    /// How hard it was found.
    pub difficulty: Difficulty,
    /// What it was about.
    pub subject: Subject,
}

/// What an attempt was about: by it tasks are alike.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subject {
    /// The task.
    pub task: TaskId,
    /// What the task and its changes named.
    pub tags: Vec<String>,
    /// The files that changed, and those that its report is about.
    pub files: Vec<String>,
}
