//! What can happen to a run.

use std::time::Duration;

use jiff::Timestamp;
use ralph_model::Usage;
use ralph_store::{ClaimAnswer, EvidenceChange, Standing};

use super::{End, Examined, Left};
use crate::gates::{Baseline, GateResult};
use crate::guide::{Guided, Wish};
use crate::strategy::Past;
use crate::summary::{TurnSummary, Verification};

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

/// What comes of the work of a checkout as a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkCommit {
    /// The files are as in the base.
    Nothing,
    /// This commit, whose parent is the tip of the base.
    Ready(String),
    /// The base has moved. The checkout has the work on its tip now, which the gates have not seen.
    Moved,
    /// The work cannot land, for this reason.
    Refused(String),
    /// Git failed, for this reason.
    Failed(String),
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
    /// The checkout of the task is there.
    CheckedOut,
    /// The work of the task has landed already: the run that did it was killed before it could say so.
    LandedBefore,
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
        /// What earlier attempts at the task have used.
        spent_before: Usage,
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
    /// What came of the work of a checkout as a commit.
    WorkCommitted(WorkCommit),
    /// The commit that is about to land is on record; false where the task belongs to another run by now.
    LandingRecorded(bool),
    /// The work has landed on this reference.
    Landed(String),
    /// It has not: the base has moved meanwhile.
    BaseMoved,
    /// There is no commit, because these of git's hooks and filters were changed without review.
    ProgramsChanged(Vec<EvidenceChange>),
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
    /// This end of the run is on record.
    RunEnded(End),
    /// There is room again.
    RoomFound,
    /// An effect could not be done, for this reason.
    Failed(String),
    /// An effect found no room, for this reason, until the time of the run was up.
    NoRoomInTime(String),
}
