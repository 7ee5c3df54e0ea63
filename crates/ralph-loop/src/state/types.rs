//! The nouns of the state machine.

use std::collections::VecDeque;
use std::time::Duration;

use jiff::Timestamp;
use ralph_model::config::{Commit, Limits, StrategyName};
use ralph_model::{FeatureId, RunId, SplitMix64, TaskId, TaskKind, Usage};
use ralph_store::{Claim, ClaimAnswer, Pause, PauseChange, Standing};

use super::standstill::Standstill;
use super::{End, Reached};
use crate::gates::{Baseline, Changed, GateResult};
use crate::guide::{Asked, Asking, Guided, Wish};
use crate::settle::{Judgement, Ruling};
use crate::strategy::{Chosen, Past};
use crate::summary::{StopCause, TurnSummary, Verification};

/// What does not change in a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// The run.
    pub run: RunId,
    /// The models from the weakest to the strongest.
    pub models: Vec<String>,
    /// The model that the person asked for.
    pub model: Option<String>,
    /// How a model is chosen.
    pub strategy: StrategyName,
    /// From how many failures in a row cost-optimized takes the strongest model.
    pub escalate_after: Option<u32>,
    /// The limits.
    pub limits: Limits,
    /// What is committed.
    pub commit: Commit,
    /// Whether there are gates.
    pub has_gates: bool,
    /// Who looks at work that the gates let pass.
    pub verifier: WhoVerifies,
    /// How long waits are.
    pub pace: Pace,
    /// Whether the first iteration heeds a pause of the agent.
    pub first_try: FirstTry,
    /// Whether the person can be asked.
    pub asking: Asking,
    /// Where the chance in waits comes from.
    pub seed: u64,
}

/// Who looks at work that the gates let pass, before it is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WhoVerifies {
    /// Nobody.
    #[default]
    Nobody,
    /// A session of the agent that did it.
    SameAgent,
    /// A session of another agent.
    Another,
}

/// When the first agent of a run is started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FirstTry {
    /// When a pause that an earlier run has met is over.
    #[default]
    AfterThePause,
    /// At once. A pause that this run meets itself is heeded.
    AtOnce,
}

/// How long a run waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    /// For another run that holds a task.
    pub busy: Duration,
    /// After the first failure of the service; then twice as long each time, up to sixty times.
    pub transient: Duration,
    /// For a usage limit whose end nobody tells; then twice as long each time, up to twelve times.
    pub usage: Duration,
    /// How far runs that wait for the same usage limit start apart, at most.
    pub spread: Duration,
    /// How often a wait looks at the clock: that of the wall may have jumped, and somebody may watch it.
    pub look: Duration,
    /// How often to try again what could not be written because the disk was full.
    pub room: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            busy: Duration::from_secs(2),
            transient: Duration::from_secs(5),
            usage: Duration::from_mins(5),
            spread: Duration::from_secs(30),
            look: Duration::from_secs(30),
            room: Duration::from_secs(2),
        }
    }
}

impl Pace {
    pub(super) fn back_off(&self, doublings: u32) -> Duration {
        self.transient
            .saturating_mul(1 << doublings.min(20))
            .min(self.transient * 60)
    }

    pub(super) fn usage_wait(&self, doublings: u32) -> Duration {
        self.usage.saturating_mul(1 << doublings.min(20)).min(self.usage * 12)
    }
}

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
    /// Failures in a row.
    pub(super) streak: u32,
    pub(super) chance: SplitMix64,
    /// The pause that this run has waited for long enough.
    pub(super) waited: Option<Box<Pause>>,
    /// The wait that goes on unless the pause has been lifted, while that is asked for.
    pub(super) paused: Option<Box<Waiting>>,
    /// The limit for which the last agent was stopped.
    pub(super) reached: Option<Reached>,
    /// What came back again and again without a change on disk.
    pub(super) standstill: Option<Standstill>,
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
    Baselining(Box<Current>),
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

/// The iteration that a run is in, or that a dead run was in.
#[derive(Debug, Clone, PartialEq)]
pub struct Current {
    /// The run; another than this one where a dead run's is finished.
    pub run: RunId,
    /// Which iteration of it.
    pub iteration: u32,
    /// The task.
    pub task: TaskId,
    /// The task's title.
    pub task_title: String,
    /// The task's feature.
    pub feature: Option<FeatureId>,
    /// How the task comes to its end.
    pub kind: TaskKind,
    /// Which attempt at it.
    pub attempt: u32,
    /// The number of the claim.
    pub fence: u64,
    /// The random word in the environment of everything that the agent and its gates start.
    pub marker: String,
    /// The model.
    pub model: Option<String>,
    /// Why that model.
    pub rationale: String,
    /// Whether an earlier prompt of this task was too long already; known once it is prepared.
    pub overflowed_before: bool,
    /// What the gates of a dead run could already say, if that is on record; none in a run of our own.
    pub baseline: Option<Baseline>,
    /// What the files were before, as the driver keeps it; known once it is prepared.
    pub before: Option<String>,
    /// The last pause of the agent, when it was claimed.
    pub pause: Option<Pause>,
    /// The same of the verifier, where that is another agent; of what a dead run has left, of whoever looks at it now.
    pub verifier_pause: Option<Pause>,
}

impl Current {
    pub(super) fn of(run: &RunId, iteration: u32, claim: &Claim, chosen: Chosen) -> Self {
        Self {
            run: run.clone(),
            iteration,
            task: claim.task.id.clone(),
            task_title: claim.task.title.clone(),
            feature: claim.task.feature.clone(),
            kind: claim.task.kind,
            attempt: claim.attempt,
            fence: claim.fence,
            marker: claim.marker.clone(),
            model: chosen.model,
            rationale: chosen.rationale,
            overflowed_before: false,
            baseline: None,
            before: None,
            pause: claim.pause.clone(),
            verifier_pause: claim.verifier_pause.clone(),
        }
    }
}

/// What a dead run has left.
#[derive(Debug, Clone, PartialEq)]
pub enum Left {
    /// A claim; no agent was started.
    Claimed(Box<Current>),
    /// A turn that is over, or whose end nobody saw.
    Ended(Box<Current>, Box<TurnSummary>),
}

/// Whether the gates are run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gates {
    /// They are.
    Run,
    /// They are not asked.
    Skip,
}

/// What has to be known to see what a turn has left on disk.
#[derive(Debug, Clone, PartialEq)]
pub struct ToExamine {
    /// The iteration.
    pub current: Box<Current>,
    /// The files that the agent's write calls named.
    pub writes: Vec<String>,
    /// Whether the gates are asked.
    pub gates: Gates,
    /// What they said before.
    pub baseline: Baseline,
}

/// What a turn has left on disk, and what the gates say.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Examined {
    /// The files that changed, in order.
    pub files: Vec<String>,
    /// Whether anything changed that counts as work.
    pub changed_something: bool,
    /// Why there may be more files.
    pub unseen: Option<String>,
    /// What the gates say; empty when they were not asked.
    pub gates: Vec<GateResult>,
}

/// A settlement, drawn up.
#[derive(Debug, Clone, PartialEq)]
pub struct Draft {
    /// The iteration.
    pub current: Box<Current>,
    /// How the turn ended.
    pub turn: Box<TurnSummary>,
    /// What becomes of it.
    pub ruling: Ruling,
    /// The files that changed.
    pub files: Vec<String>,
    /// Why there may be more.
    pub unseen: Option<String>,
    /// Whether the agent claimed something and nothing had changed.
    pub changed_nothing: bool,
    /// Whether anything changed that counts as work.
    pub changed: Changed,
    /// What the gates say.
    pub gates: Vec<GateResult>,
    /// What the gates may still say from now on.
    pub baseline: Option<Baseline>,
    /// The commit that was made, or why there is none; none when none was wanted or needed.
    pub commit: Option<Result<String, String>>,
    /// What a second session said of the work; none when none was asked.
    pub verification: Option<Verification>,
    /// What was ruled before that session, where it was broken off and another one may look.
    pub unlooked: Option<Ruling>,
    /// What sessions before it used, whose look came to nothing.
    pub lost_looks: LostLooks,
    /// What becomes of the agent's pause.
    pub pause: PauseChange,
    /// What becomes of the verifier's, where that is another agent.
    pub verifier_pause: PauseChange,
}

/// What looks at finished work used that were broken off, or ended on a full disk, and were done again.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct LostLooks {
    /// What they used.
    pub usage: Usage,
    /// How long they took.
    pub duration_ms: u64,
}

impl Draft {
    /// What the iteration used, the looks at its work included.
    #[must_use]
    pub fn usage(&self) -> Usage {
        self.turn.usage.and(self.usage_of_looks())
    }

    /// What the looks at its work used.
    #[must_use]
    pub fn usage_of_looks(&self) -> Usage {
        let looking = self.verification.as_ref().map(|found| found.usage);
        self.lost_looks.usage.and(looking.unwrap_or_default())
    }

    /// How long the looks at its work took.
    #[must_use]
    pub fn looking_ms(&self) -> u64 {
        let looking = self.verification.as_ref().map_or(0, |found| found.duration_ms);
        self.lost_looks.duration_ms.saturating_add(looking)
    }

    /// A look came to nothing; what it used counts all the same.
    pub(super) fn looked_in_vain(&mut self, found: &Verification) {
        let lost = &mut self.lost_looks;
        lost.usage = lost.usage.and(found.usage);
        lost.duration_ms = lost.duration_ms.saturating_add(found.duration_ms);
    }
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

/// Something that happened, and when.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// When, counted from the run's beginning by a clock that never jumps.
    pub at: Duration,
    /// When, by the clock on the wall.
    pub now: Timestamp,
    /// For how long the computer has slept since the run began, which the first clock does not count.
    pub slept: Duration,
    /// What.
    pub what: Happening,
}

/// What can happen.
#[derive(Debug, Clone, PartialEq)]
pub enum Happening {
    /// What dead runs have left is known, and their processes are gone.
    Recovered(Vec<Left>),
    /// A claim was taken back.
    Abandoned,
    /// All files of earlier settlements are written.
    OutboxFinished,
    /// How the tasks stand.
    Counted(Standing),
    /// What the claim was answered.
    Answered {
        /// The answer.
        answer: ClaimAnswer,
        /// What came before, of the task that was claimed, as far as the choice of its model asks for it.
        past: Past,
    },
    /// What the gates say before the first iteration.
    BaselineRan {
        /// What they say.
        results: Vec<GateResult>,
        /// What they could say in the run that left work unfinished. What else is red now may be of that work.
        left: Option<Baseline>,
    },
    /// The prompt is written and on record.
    Prepared {
        /// What the files were before, as the driver keeps it.
        before: String,
        /// Whether an earlier prompt of this task was too long already.
        overflowed_before: bool,
    },
    /// The agent, or the verifier, is started.
    Spawned,
    /// The agent gave a sign of life.
    Sign,
    /// What the agent has used so far.
    Used(Usage),
    /// The agent's turn is over, and no process of it is left.
    TurnEnded(Box<TurnSummary>),
    /// That is on record.
    EndRecorded,
    /// What the turn has left on disk is known.
    Examined(Box<Examined>),
    /// The task whose work was to be looked at is no more: a person has deleted it.
    TaskGone,
    /// The verifier cannot be started, for this reason.
    VerifierUnusable(String),
    /// The verifier's session is over without letting the work pass, and there is no room on the disk.
    LookedWithoutRoom(Box<Verification>),
    /// The verifier's session is over, no process of it is left, and what it changed is known.
    Verified(Box<Verification>),
    /// The commit that was made, or why there is none; none when nothing had changed.
    Committed(Option<Result<String, String>>),
    /// The gates, the verifier or the commit failed, and the disk is full: that is no answer.
    NoRoom,
    /// It is settled.
    Settled,
    /// Ctrl+C.
    Interrupt,
    /// The run is to stop, and nobody is to be asked.
    Stop,
    /// The person wants to say something about the turn that goes on.
    GuidanceWanted,
    /// What the person wishes of the run as a whole.
    Wished(Wish),
    /// What the person said about the turn that they have stopped.
    Guided(Guided),
    /// That is on record.
    GuidanceRecorded,
    /// Time has passed.
    Tick,
    /// The end of the run is on record.
    RunEnded,
    /// There is room again.
    RoomFound,
    /// An effect could not be done, for this reason.
    Failed(String),
    /// An effect found no room, for this reason, until the time of the run was up.
    NoRoomInTime(String),
}

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
    /// Run the gates before the first iteration, for which this task is claimed.
    RunBaseline(Box<Current>),
    /// Keep what they said.
    KeepBaseline(Baseline),
    /// Look at the files, write the prompt, put both on record.
    Prepare {
        /// The iteration.
        current: Box<Current>,
        /// The gates that are red already.
        red_gates: Vec<String>,
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
    /// Wait until there is room on the disk.
    FindRoom,
    /// Settle the iteration.
    Settle(Box<Draft>),
    /// Tell the person something.
    Tell(Notice),
    /// Put the end of the run on record.
    EndRun(End),
}
