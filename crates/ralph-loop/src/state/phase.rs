//! The data of the state machine: the state and its phases.

use ralph_memory::inject::prompt::BrokenGate;
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use jiff::Timestamp;
use ralph_model::{SplitMix64, TaskId, Usage};
use ralph_store::Pause;

use super::standstill::{Failing, Standstill};
use super::{BaselineOf, Current, End, Gates, Leftover, LimitReached, PendingSettlement, Plan};
use crate::gates::Baseline;
use crate::guide::RunRequest;
use crate::settle::Judgement;
use crate::summary::{StopCause, TurnSummary};

#[derive(Debug, Clone, PartialEq)]
pub struct State {
    pub(super) plan: Plan,
    pub(super) phase: Phase,
    /// Leftovers of dead runs that are not settled yet.
    pub(super) left: VecDeque<Leftover>,
    pub(super) iterations: u32,
    /// How many iterations were settled, including those of dead runs.
    pub(super) settled: u32,
    pub(super) spent: Usage,
    /// Consecutive failures of a prompt loop.
    pub(super) streak: u32,
    /// Consecutive failures of each task.
    pub(super) failing: BTreeMap<TaskId, Failing>,
    pub(super) rng: SplitMix64,
    /// The pause that this run has waited out.
    pub(super) waited: Option<Box<Pause>>,
    /// The wait to continue if a claim finds the pause still active.
    pub(super) paused: Option<Box<Waiting>>,
    /// The limit that stopped the last agent.
    pub(super) reached: Option<LimitReached>,
    /// Repeated iterations without a change on disk.
    pub(super) standstill: Option<Standstill>,
    /// The gates that an attempt in the project itself broke.
    pub(super) broken_gates: Vec<BrokenGate>,
    /// The model the last iteration asked for.
    pub(super) hint: Option<String>,
    /// `None` before the gates ran.
    pub(super) baseline: Option<Baseline>,
    /// The number of interrupts and stop requests since the run began or continued.
    pub(super) interrupts: u32,
    pub(super) first: FirstInterrupt,
    pub(super) request: RunRequest,
    /// How long the computer has slept since the run began.
    pub(super) slept: Duration,
}

/// What the first Ctrl+C means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FirstInterrupt {
    /// Stop the run.
    Stops,
    /// Stop the turn and ask the user for guidance.
    Asks,
}

/// Why the run claims no further task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum StopClaiming {
    Limit(LimitReached),
    Requested,
}

/// The current step of a run. Every phase but the last waits for one event.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Phase {
    Recovering,
    Abandoning,
    Tidying,
    Counting(StopClaiming),
    Claiming,
    CheckingOut(Box<Current>),
    Baselining(Box<Current>, BaselineOf),
    Preparing(Box<Current>),
    Starting(Box<Current>),
    Working(Working),
    Recording(Box<Current>, Box<TurnSummary>),
    Examining(Box<Examining>),
    /// Starting the verifier.
    StartingVerifier(Box<PendingSettlement>),
    Verifying(Box<Verifying>),
    /// Asking the user about a turn they stopped.
    AskingGuidance(Box<PendingSettlement>),
    /// Recording the guidance.
    RecordingGuidance(Box<PendingSettlement>),
    Committing(Box<PendingSettlement>),
    /// Committing the work of a checkout on the tip of the base.
    CommittingWork(Box<PendingSettlement>),
    /// The base has moved, and the gates run on its new tip.
    Rechecking(Box<PendingSettlement>),
    RecordingLanding(Box<PendingSettlement>, String),
    Landing(Box<PendingSettlement>, String),
    Settling(Box<PendingSettlement>),
    Waiting(Box<Waiting>),
    Closing(End),
    Ending(End),
    Over(End),
}

/// A point in time by the monotonic clock and by the wall clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TimePoint {
    /// The time since the run began.
    pub(super) at: Duration,
    pub(super) now: Timestamp,
}

impl TimePoint {
    pub(super) fn after(self, time: Duration) -> Self {
        Self {
            at: self.at.saturating_add(time),
            // A wait past the maximum timestamp never ends.
            now: self.now.checked_add(time).unwrap_or(Timestamp::MAX),
        }
    }

    /// Whether it has passed. Either clock suffices: the first stops while the computer sleeps, the second may be set
    /// back.
    pub(super) fn is_over(self, present: Self) -> bool {
        present.at >= self.at || present.now >= self.now
    }
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Waiting {
    pub(super) until: TimePoint,
    /// The pause, or `None` if other runs hold all tasks.
    pub(super) pause: Option<Box<Pause>>,
    /// When the clock was last checked.
    pub(super) checked: Duration,
    /// When the pause was last checked.
    pub(super) asked: Duration,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Working {
    pub(super) current: Box<Current>,
    /// Why the session is being stopped.
    pub(super) stop: Option<StopCause>,
    pub(super) began: Duration,
    pub(super) last_activity: Duration,
    pub(super) used: Usage,
}

/// A finished turn whose work is being examined.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Examining {
    pub(super) current: Box<Current>,
    pub(super) turn: Box<TurnSummary>,
    pub(super) judgement: Judgement,
    pub(super) gates: Gates,
}

/// Work that passed the gates and is being verified.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Verifying {
    pub(super) draft: Box<PendingSettlement>,
    /// The verifier's session. Its usage includes that of the turn before it.
    pub(super) session: Working,
}
