//! Where a run stands, and what it is at.

use ralph_memory::inject::prompt::BrokenGate;
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use jiff::Timestamp;
use ralph_model::{SplitMix64, TaskId, Usage};
use ralph_store::Pause;

use super::standstill::{Failing, Standstill};
use super::{BaselineOf, Current, Draft, End, Gates, Left, Plan, Reached};
use crate::gates::Baseline;
use crate::guide::Wish;
use crate::settle::Judgement;
use crate::summary::{StopCause, TurnSummary};

/// Where a run stands.
#[derive(Debug, Clone, PartialEq)]
pub struct State {
    pub(super) plan: Plan,
    pub(super) phase: Phase,
    /// What dead runs have left and is not settled yet.
    pub(super) left: VecDeque<Left>,
    pub(super) iterations: u32,
    /// How many iterations were settled, those of dead runs among them.
    pub(super) settled: u32,
    pub(super) spent: Usage,
    /// Failures in a row of a prompt loop.
    pub(super) streak: u32,
    /// Of each task, what failed in a row.
    pub(super) failing: BTreeMap<TaskId, Failing>,
    pub(super) chance: SplitMix64,
    /// The pause that this run has waited for long enough.
    pub(super) waited: Option<Box<Pause>>,
    /// The wait that goes on unless the pause has been lifted, while that is asked for.
    pub(super) paused: Option<Box<Waiting>>,
    /// The limit for which the last agent was stopped.
    pub(super) reached: Option<Reached>,
    /// What came back again and again without a change on disk.
    pub(super) standstill: Option<Standstill>,
    /// The gates that an attempt in the project itself has broken.
    pub(super) broken_gates: Vec<BrokenGate>,
    /// The model that the last iteration asked for.
    pub(super) hint: Option<String>,
    /// What the gates may say; none before they ran.
    pub(super) baseline: Option<Baseline>,
    /// How often the person has pressed Ctrl+C, or the run was told to stop, since it began or went on.
    pub(super) interrupts: u32,
    /// What the first of these means.
    pub(super) first: FirstInterrupt,
    /// What the person wishes of the run as a whole.
    pub(super) wish: Wish,
    /// For how long the computer has slept since the run began.
    pub(super) slept: Duration,
}

/// What the first Ctrl+C means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FirstInterrupt {
    /// The run is to stop.
    Stops,
    /// The turn is to stop, and the person is asked what the agent should do differently.
    Asks,
}

/// Why no further task is claimed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum NoFurther {
    /// A limit is reached.
    Limit(Reached),
    /// The person wishes so.
    AsWished,
}

/// What a run is at. But for the last, each waits for one event.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Phase {
    Recovering,
    Abandoning,
    Tidying,
    Counting(NoFurther),
    Claiming,
    CheckingOut(Box<Current>),
    Baselining(Box<Current>, BaselineOf),
    Preparing(Box<Current>),
    Starting(Box<Current>),
    Working(Working),
    Recording(Box<Current>, Box<TurnSummary>),
    Examining(Box<Examining>),
    /// The verifier is being started.
    Consulting(Box<Draft>),
    Verifying(Box<Verifying>),
    /// The person is asked about a turn that they have stopped.
    Guiding(Box<Draft>),
    /// What they said is put on record.
    Noting(Box<Draft>),
    Committing(Box<Draft>),
    /// The work of a checkout is committed on the tip of the base.
    CommittingWork(Box<Draft>),
    /// The base has moved, and the gates are asked about the work on its new tip.
    Rechecking(Box<Draft>),
    RecordingLanding(Box<Draft>, String),
    Landing(Box<Draft>, String),
    Settling(Box<Draft>),
    Waiting(Box<Waiting>),
    Closing(End),
    Ending(End),
    Over(End),
}

/// A moment, as a clock counts that never jumps, and as the one on the wall does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Moment {
    /// Counted from the run's beginning.
    pub(super) at: Duration,
    pub(super) now: Timestamp,
}

impl Moment {
    pub(super) fn after(self, time: Duration) -> Self {
        Self {
            at: self.at.saturating_add(time),
            // What is longer than time itself never ends.
            now: self.now.checked_add(time).unwrap_or(Timestamp::MAX),
        }
    }

    /// Whether it is over. Either clock will do: the first stands still while a computer sleeps, the second may be set back.
    pub(super) fn is_over(self, present: Self) -> bool {
        present.at >= self.at || present.now >= self.now
    }
}

/// A wait.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Waiting {
    pub(super) until: Moment,
    /// The pause that is waited for; none where other runs hold all tasks.
    pub(super) pause: Option<Box<Pause>>,
    /// When the clock was looked at last.
    pub(super) looked: Duration,
    /// When was asked last whether the pause still holds.
    pub(super) asked: Duration,
}

/// An agent at work.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Working {
    pub(super) current: Box<Current>,
    /// Why it is being stopped.
    pub(super) stop: Option<StopCause>,
    pub(super) began: Duration,
    pub(super) last_sign: Duration,
    pub(super) used: Usage,
}

/// A turn that is over and whose work is being looked at.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Examining {
    pub(super) current: Box<Current>,
    pub(super) turn: Box<TurnSummary>,
    pub(super) judgement: Judgement,
    pub(super) gates: Gates,
}

/// Work that the gates let pass, and a second session that looks at it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Verifying {
    pub(super) draft: Box<Draft>,
    /// The session. What it has used holds what the turn used before it.
    pub(super) session: Working,
}
