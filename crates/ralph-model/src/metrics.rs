//! Figures computed from the journal.

use serde::{Deserialize, Serialize};

use crate::{Difficulty, TaskId};

/// How many of a number of iterations were done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Rate {
    pub done: u32,
    pub of: u32,
}

impl Rate {
    /// Minimum number of iterations for a meaningful rate.
    pub const MIN_COUNT: u32 = 5;

    /// The share from 0 to 1; `None` with too few iterations.
    #[must_use]
    pub fn share(self) -> Option<f64> {
        (self.of >= Self::MIN_COUNT).then(|| f64::from(self.done) / f64::from(self.of))
    }
}

/// Recent results of a task and of all tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct TrackRecord {
    /// Failed attempts at the task since it was last done. Interrupted attempts are skipped; imported ones count unless
    /// the task was done here since.
    pub consecutive_failures: u32,
    /// The last counted iterations of all tasks, at most [`TrackRecord::RECENT`].
    pub recent: Rate,
}

impl TrackRecord {
    /// The number of iterations in the recent rate.
    pub const RECENT: u32 = 20;
}

/// A failed attempt that its agent found hard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HardFailure {
    /// The journal entry.
    pub journal: i64,
    pub difficulty: Difficulty,
    pub subject: Subject,
}

/// What an attempt was about; used to find similar tasks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subject {
    pub task: TaskId,
    /// What the task and its changes named.
    pub tags: Vec<String>,
    /// The changed files and those named in the report.
    pub files: Vec<String>,
}
