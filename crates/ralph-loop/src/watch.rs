//! What a run tells while it goes on. Who watches decides what of it a person sees.

use std::path::Path;
use std::time::Duration;

use ralph_agent::TurnEvent;
use ralph_memory::inject::prompt::AttemptNumber;
use ralph_memory::learn::Upkeep;
use ralph_model::{Extraction, RunId, TaskId, TaskStatus, Tokens};
use ralph_store::Standing;

use crate::gates::{Baseline, GateResult};
use crate::guide::{Asked, Guided};
use crate::state::{Current, Draft, Effect, End, Notice};
use crate::summary::Verification;

/// Something that a person may want to know.
#[derive(Debug)]
pub enum News<'a> {
    /// A run begins.
    Began {
        /// The run.
        run: &'a RunId,
    },
    /// A dead run left an iteration, which is settled now.
    FoundLeft {
        /// The dead run.
        run: &'a RunId,
        /// Which iteration.
        iteration: u32,
        /// How many processes of it were still alive, and are not any more.
        killed: usize,
    },
    /// These gates are red before anything was done.
    RedFromTheStart(&'a Baseline),
    /// How the tasks that the run works on stand: at its beginning and after every settlement, told to whoever follows them.
    Standing(&'a Standing),
    /// A gate is asked.
    GateBegins(&'a str),
    /// A gate has spoken.
    GateRan(&'a GateResult),
    /// An agent is started.
    IterationBegan {
        /// The iteration.
        current: &'a Current,
        /// Which attempt at its task, of those that count.
        attempt: AttemptNumber,
        /// How large its prompt is.
        prompt: Tokens,
        /// How many notes and rows stand in it.
        shown: usize,
    },
    /// The agent did something.
    Agent(&'a TurnEvent),
    /// The person has stopped the turn, and is about to be asked: the terminal is theirs until they have answered.
    Asks(&'a Asked),
    /// They have answered, or the asking was given up.
    Answered(&'a Guided),
    /// A session is started that looks at work which the gates let pass.
    VerifierBegan {
        /// The iteration.
        current: &'a Current,
        /// Who looks.
        agent: &'a str,
        /// How large its prompt is.
        prompt: Tokens,
    },
    /// That session did something.
    VerifierDid(&'a TurnEvent),
    /// It is over.
    Verified(&'a Verification),
    /// An iteration is settled.
    Settled {
        /// What became of it.
        draft: &'a Draft,
        /// Where the task stands now; none when it is no longer ours.
        task: Option<TaskStatus>,
        /// How many lessons of it were not known before.
        new_lessons: usize,
        /// How long it took.
        duration: Duration,
    },
    /// The task of that iteration was split: its parts are what is to be done now.
    WaitsForParts {
        /// The task.
        task: &'a TaskId,
        /// How many of its parts are not done.
        parts: usize,
    },
    /// A task that was split is done, as all its parts are.
    DoneWithParts(&'a TaskId),
    /// The file of a knowledge entry was written.
    Wrote(&'a Path),
    /// Folders of old iterations were removed.
    Pruned {
        /// How many.
        folders: u64,
        /// How large they were.
        bytes: u64,
    },
    /// Lessons were drawn from the run.
    Learned(&'a Extraction),
    /// Lessons were drawn from earlier runs that nothing had been drawn from yet.
    LearnedEarlier(&'a Extraction),
    /// Lessons and reports were brought in order.
    KeptUp(&'a Upkeep),
    /// Everything is done, and the working notes are kept in this file.
    KeptScratchpad(&'a Path),
    /// Something to know that is no failure.
    Notice(&'a Notice),
    /// There is no room on the disk, for this reason: the run is paused until there is.
    NoRoom(&'a str),
    /// There is room again, and the run goes on.
    RoomAgain,
    /// Another process keeps the database locked: the run is paused until it is free.
    Locked(&'a str),
    /// The database is free again, and the run goes on.
    Unlocked,
    /// Something went wrong that does not end the run.
    Warning(&'a str),
    /// The run is over.
    Ended {
        /// How.
        end: &'a End,
        /// The same in a sentence.
        sentence: &'a str,
        /// How many iterations it had.
        iterations: u32,
    },
}

/// Somebody who watches a run.
pub trait Watch {
    /// Something happened.
    fn tell(&mut self, news: &News<'_>);

    /// Whether it is to be told how the tasks stand, which takes a look at all of them.
    fn follows_tasks(&self) -> bool {
        false
    }

    /// Whether there is room on the disk for what an effect writes: tests fill it up.
    fn room(&mut self, _effect: &Effect) -> Room {
        Room::Enough
    }

    /// An effect is done and its result not yet known to anybody else. The run dies here if this says so, without tidying
    /// up, as if it were killed: for tests.
    fn survives(&mut self, _effect: &Effect) -> Survival {
        Survival::Lives
    }
}

/// Whether an effect has room for what it writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Room {
    /// As far as anybody knows.
    Enough,
    /// The disk is full.
    None,
    /// Another process keeps the database locked.
    Locked,
}

/// Whether a run goes on after an effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Survival {
    /// It does.
    Lives,
    /// It stops where it is.
    Dies,
}
