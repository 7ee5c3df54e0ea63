//! The inputs of the state machine.

use std::time::Duration;

use jiff::Timestamp;
use ralph_model::Usage;
use ralph_store::{ClaimAnswer, EvidenceChange, ScopeCounts};

use super::{End, Examined, Leftover};
use crate::gates::{Baseline, GateResult};
use crate::guide::{GuidanceAnswer, RunRequest};
use crate::strategy::Past;
use crate::summary::{TurnSummary, Verification};

#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// The time since the run began, by a monotonic clock.
    pub at: Duration,
    /// The wall-clock time.
    pub now: Timestamp,
    /// How long the computer has slept since the run began; the monotonic clock does not count that.
    pub slept: Duration,
    pub what: Input,
}

/// Outcome of committing the work of a checkout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkCommit {
    /// The files are the same as in the base.
    Nothing,
    /// A commit whose parent is the tip of the base.
    Ready(String),
    /// The base has moved. The checkout now has the work on the new tip, and the gates must run again.
    Moved,
    /// The work cannot land, for this reason.
    Refused(String),
    Failed(String),
}

#[derive(Debug, Clone, PartialEq)]
pub enum Input {
    /// The leftovers of dead runs are known, and their processes killed.
    Recovered(Vec<Leftover>),
    Abandoned,
    /// All files of earlier settlements are written.
    OutboxFinished,
    Counted(ScopeCounts),
    ClaimAnswered {
        answer: ClaimAnswer,
        /// The history of the claimed task, as far as the choice of the model needs it.
        past: Past,
    },
    CheckedOut,
    /// The work has already landed: the earlier run was killed before it could record that.
    LandedBefore,
    BaselineRan {
        results: Vec<GateResult>,
        /// The baseline of the run that left work unfinished. Other failures may come from that work.
        left: Option<Baseline>,
    },
    Prepared {
        /// The state before the turn, as JSON of the driver.
        before: String,
        /// Whether an earlier prompt of this task was already too long.
        overflowed_before: bool,
        /// What earlier attempts at the task used.
        spent_before: Usage,
    },
    /// The agent or the verifier has started.
    Spawned,
    /// The agent showed activity.
    Activity,
    Used(Usage),
    /// The turn is over, and none of its processes is left.
    TurnEnded(Box<TurnSummary>),
    EndRecorded,
    Examined(Box<Examined>),
    /// The task to verify was deleted.
    TaskDeleted,
    /// The verifier cannot be started, for this reason.
    VerifierUnusable(String),
    /// The verifier did not pass the work, but the disk was full.
    VerifiedOnFullDisk(Box<Verification>),
    /// The verifier has finished, none of its processes is left, and what it changed is known.
    Verified(Box<Verification>),
    /// The commit, or why there is none; `None` when nothing had changed.
    Committed(Option<Result<String, String>>),
    WorkCommitted(WorkCommit),
    /// Whether the landing was recorded; false if another run owns the task by now.
    LandingRecorded(bool),
    /// The work landed on this reference.
    Landed(String),
    /// The base moved before the work could land.
    BaseMoved,
    /// No commit was made, because these hooks and filters changed without review.
    ProgramsChanged(Vec<EvidenceChange>),
    /// The gates, the verifier or the commit failed while the disk was full, so the failure does not count.
    DiskFull,
    Settled,
    Interrupt,
    /// Stop the run without asking.
    Stop,
    /// The user wants to give guidance on the current turn.
    GuidanceWanted,
    /// The user asks the run to end after this iteration, or takes that back.
    Requested(RunRequest),
    /// The user's answer about the turn they stopped.
    Guided(GuidanceAnswer),
    GuidanceRecorded,
    Tick,
    RunEnded(End),
    DiskSpaceFound,
    /// An effect failed, for this reason.
    Failed(String),
    /// The disk stayed full until the run was out of time.
    DiskFullTimeout(String),
}
