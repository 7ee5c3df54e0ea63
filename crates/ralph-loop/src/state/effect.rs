//! What is to be done, and what a person is told on the way.

use ralph_memory::inject::prompt::BrokenGate;
use std::time::Duration;

use jiff::Timestamp;
use ralph_model::{RunId, TaskId};
use ralph_store::Pause;

use super::{Current, Draft, End, ToExamine};
use crate::gates::Baseline;
use crate::guide::Asked;
use crate::summary::TurnSummary;

/// What is to be done.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Find what dead runs have left, and end their processes.
    Recover,
    /// Take back a claim whose agent was not started.
    Abandon(Box<Current>),
    /// Write the files of earlier settlements.
    FinishOutbox,
    /// Free the claims of dead runs and claim the next task.
    Claim {
        /// Which iteration it will be.
        iteration: u32,
        /// Which pauses of the agent keep it from that.
        pauses: Pauses,
    },
    /// Count how the tasks stand.
    Count,
    /// Make the checkout in which the task is worked on, or find the one that earlier attempts have left.
    CheckOut(Box<Current>),
    /// Run the gates before the first iteration, and the checks of a task before its first attempt.
    RunBaseline(Box<Current>, BaselineOf),
    /// Keep what they said.
    KeepBaseline(Baseline),
    /// Look at the files, write the prompt, put both on record.
    Prepare {
        /// The iteration.
        current: Box<Current>,
        /// The gates that are red already.
        red_gates: Vec<String>,
        /// The gates that an earlier attempt in the project itself has broken.
        broken_gates: Vec<BrokenGate>,
    },
    /// Start the agent.
    Spawn,
    /// Start a session that looks at the work, and changes nothing.
    Verify(Box<Draft>),
    /// Ask the agent to end, and make it; the verifier, where that is at work.
    StopAgent,
    /// Make the agent end at once.
    KillAgent,
    /// Break the gates off, or the commit with its hooks.
    StopGates,
    /// Put the end of the turn on record.
    RecordEnd(Box<TurnSummary>),
    /// See what the turn has left on disk, and ask the gates.
    Examine(Box<ToExamine>),
    /// Ask the person what should be done differently.
    Ask(Box<Asked>),
    /// They shall answer at once.
    GiveUpAsking,
    /// Put what they said on record, with the turn.
    RecordGuidance(Box<TurnSummary>),
    /// Forget that the person has interrupted: the run goes on.
    GoOn,
    /// Commit the files of the task.
    Commit(Box<Draft>),
    /// Commit the work of a checkout, on the tip of the base.
    CommitWork(Box<Draft>),
    /// Put on record that this commit is about to land.
    RecordLanding(Box<Draft>, String),
    /// Make it the tip of the base.
    Land(Box<Draft>, String),
    /// Wait until there is room on the disk.
    FindRoom,
    /// Settle the iteration.
    Settle(Box<Draft>),
    /// Tell the person something.
    Tell(Notice),
    /// Warn the person.
    Warn(String),
    /// Put the end of the run on record.
    EndRun(End),
}

/// What is run before an agent works.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BaselineOf {
    /// The gates, and the checks of the task.
    All,
    /// The checks of the task.
    Checks,
}

/// A wait for the end of an agent's pause.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PauseWait {
    /// The pause.
    pub pause: Box<Pause>,
    /// When the run goes on, if nothing comes in between.
    pub until: Timestamp,
    /// How long that is.
    pub left: Duration,
}

/// Which pauses of the agent keep a run from claiming.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pauses {
    /// Every one.
    Heeded,
    /// Every one but this, which the run has waited for.
    HeededBut(Box<Pause>),
    /// None.
    Ignored,
}

/// What a person should know that is no failure.
#[derive(Debug, Clone, PartialEq)]
pub enum Notice {
    /// No task is ready, but other runs hold some.
    Busy(Vec<(TaskId, RunId)>),
    /// It waits, from now on.
    Waits(PauseWait),
    /// It still waits: told again and again, as often as the plan's pace says.
    StillWaits(PauseWait),
    /// An agent asked for a model that is not configured.
    UnknownModel(String),
    /// An agent said that everything is complete, and it is not.
    CompleteTooEarly,
    /// The turn is being stopped; when it is, the person is asked about it.
    WillAsk,
}
