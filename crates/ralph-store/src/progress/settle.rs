//! Settlement: what became of an iteration, all of it in one transaction.

use jiff::Timestamp;
use ralph_model::{CapturedKnowledge, CapturedLearning, FailureReport, LearningId, NewJournalRow, TaskStatus};

/// What becomes of the task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TaskChange {
    /// It is done, here, in this commit if there is one.
    Done {
        /// The commit that holds the work.
        commit: Option<String>,
    },
    /// It is pending again, and the attempt counts. With more than so many attempts it is failed.
    Attempt {
        /// How often a task may be tried again.
        max_retries: u32,
    },
    /// It is pending again, as if nothing had been tried.
    Again,
}

/// Everything that one iteration leaves.
#[derive(Debug, Clone, PartialEq)]
pub struct Settlement {
    /// The row of the journal; it names the run and the iteration.
    pub row: NewJournalRow,
    /// The number of the claim.
    pub fence: u64,
    /// The worktree's name; empty for the main one.
    pub worktree: String,
    /// What becomes of the task.
    pub task: TaskChange,
    /// How it failed, and what the next attempt should do.
    pub report: Option<FailureReport>,
    /// What the next attempt should do.
    pub suggestion: Option<String>,
    /// What the agent learned, with the ids to keep it under.
    pub learnings: Vec<(LearningId, CapturedLearning)>,
    /// The long notes that are to be written to files.
    pub knowledge: Vec<CapturedKnowledge>,
    /// The injected notes that the agent relied on.
    pub memory_used: Vec<String>,
    /// What the gates may still say, as the loop writes it; none leaves it as it is.
    pub baseline: Option<String>,
}

/// What a settlement did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settled {
    /// The row of the journal.
    pub journal: i64,
    /// Where the task stands now; none when the claim was no longer the run's, or the task is gone.
    pub task: Option<TaskStatus>,
}

/// A file that a settlement wants written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutboxFile {
    /// Its number; it names what is written for ever.
    pub id: i64,
    /// Whether its text stands ready beside its place; see [`Store::outbox_staged`].
    pub staged: bool,
    /// What is to be written.
    pub knowledge: CapturedKnowledge,
    /// When it was captured.
    pub created_at: Timestamp,
}
