//! The effects that the driver performs, and the notices for the user.

use ralph_memory::inject::prompt::BrokenGate;
use std::time::Duration;

use jiff::Timestamp;
use ralph_model::{RunId, TaskId};
use ralph_store::Pause;
use serde::Serialize;

use super::{Current, End, PendingSettlement, ToExamine};
use crate::gates::Baseline;
use crate::guide::GuidanceQuestion;
use crate::summary::TurnSummary;
use crate::watch::json;

#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Find what dead runs left behind, and kill their processes.
    Recover,
    /// Take back a claim whose agent was not started.
    Abandon(Box<Current>),
    /// Write the files of earlier settlements.
    FinishOutbox,
    /// Free the claims of dead runs and claim the next task.
    Claim {
        /// The number of the next iteration.
        iteration: u32,
        /// Which pauses of the agent block the claim.
        pauses: Pauses,
    },
    /// Count the tasks by status.
    Count,
    /// Create the checkout for the task, or reuse that of earlier attempts.
    CheckOut(Box<Current>),
    /// Run the gates before the first iteration, and the checks of a task before its first attempt.
    RunBaseline(Box<Current>, BaselineOf),
    SaveBaseline(Baseline),
    /// Take a snapshot, write the prompt and record both.
    Prepare {
        current: Box<Current>,
        /// The gates that failed before the run.
        red_gates: Vec<String>,
        /// The gates that an earlier attempt in the project itself broke.
        broken_gates: Vec<BrokenGate>,
    },
    Spawn,
    /// Start the verifier, a read-only second session.
    Verify(Box<PendingSettlement>),
    /// Stop the agent or the running verifier, gracefully first.
    StopAgent,
    KillAgent,
    /// Stop the gates, or the commit with its hooks.
    StopGates,
    RecordEnd(Box<TurnSummary>),
    /// Find out what the turn changed on disk, and run the gates.
    Examine(Box<ToExamine>),
    /// Ask the user for guidance.
    Ask(Box<GuidanceQuestion>),
    /// End the question; the answer so far counts.
    CancelQuestion,
    /// Record the guidance with the turn.
    RecordGuidance(Box<TurnSummary>),
    /// Forget the interrupt: the run goes on.
    Resume,
    Commit(Box<PendingSettlement>),
    /// Commit the work of a checkout on the tip of the base.
    CommitWork(Box<PendingSettlement>),
    /// Record that this commit is about to land.
    RecordLanding(Box<PendingSettlement>, String),
    /// Make the commit the tip of the base.
    Land(Box<PendingSettlement>, String),
    /// Wait for free disk space.
    WaitForDiskSpace,
    Settle(Box<PendingSettlement>),
    Notify(Notice),
    Warn(String),
    EndRun(End),
}

/// What runs before an agent works.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BaselineOf {
    All,
    Checks,
}

/// A wait for the end of an agent's pause.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PauseWait {
    pub pause: Box<Pause>,
    /// When the run continues unless something else ends the wait.
    pub until: Timestamp,
    pub left: Duration,
}

/// Which pauses of the agent keep a run from claiming a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pauses {
    Heeded,
    /// All but this one, which the run has waited for.
    HeededBut(Box<Pause>),
    Ignored,
}

/// Something the user should know that is not a failure.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Notice {
    /// No task is ready, but other runs have claimed some.
    #[serde(serialize_with = "json::held")]
    Busy(Vec<(TaskId, RunId)>),
    Waits(PauseWait),
    /// Repeated as often as the wait times of the plan say.
    StillWaits(PauseWait),
    /// An agent asked for a model that is not configured.
    #[serde(serialize_with = "json::model")]
    UnknownModel(String),
    /// The agent reported everything complete, but it is not.
    CompleteTooEarly,
    /// The turn is being stopped; the user will be asked about it.
    #[serde(skip)]
    WillAsk,
}
