//! The events that a run reports. The watcher decides what the user sees.

use std::path::Path;
use std::time::Duration;

use ralph_agent::TurnEvent;
use ralph_memory::inject::prompt::AttemptNumber;
use ralph_memory::learn::Upkeep;
use ralph_model::{Extraction, RunId, TaskId, TaskStatus, Tokens};
use ralph_store::ScopeCounts;

use crate::gates::{Baseline, GateResult};
use crate::guide::{GuidanceAnswer, GuidanceQuestion};
use crate::state::{Current, Effect, End, Notice, PendingSettlement};
use crate::summary::Verification;

/// Something the user may want to know.
#[derive(Debug)]
pub enum RunEvent<'a> {
    Began {
        run: &'a RunId,
    },
    /// A dead run left an iteration that is settled now.
    FoundLeftover {
        run: &'a RunId,
        iteration: u32,
        /// How many of its processes were still alive and were killed.
        killed: usize,
    },
    /// These gates already failed before the run.
    AlreadyFailing(&'a Baseline),
    /// The task counts of the run, at its start and after every settlement, for watchers that follow them.
    Standing(&'a ScopeCounts),
    GateBegins(&'a str),
    GateRan(&'a GateResult),
    IterationBegan {
        current: &'a Current,
        /// The attempt at its task, among those that count.
        attempt: AttemptNumber,
        /// The size of its prompt.
        prompt: Tokens,
        /// How many notes and journal entries the prompt contains.
        shown: usize,
    },
    Agent(&'a TurnEvent),
    /// The user stopped the turn and is asked for guidance. The terminal is theirs until they answer.
    AskingGuidance(&'a GuidanceQuestion),
    /// The user has answered, or the question was cancelled.
    GuidanceAnswered(&'a GuidanceAnswer),
    /// The verifier starts on work that passed the gates.
    VerifierBegan {
        current: &'a Current,
        agent: &'a str,
        /// The size of its prompt.
        prompt: Tokens,
    },
    VerifierEvent(&'a TurnEvent),
    Verified(&'a Verification),
    Settled {
        draft: &'a PendingSettlement,
        /// The status of the task; `None` if another run owns it.
        task: Option<TaskStatus>,
        /// How many of its learnings are new.
        new_learnings: usize,
        duration: Duration,
    },
    /// The task was split into subtasks, which come first.
    WaitingForSubtasks {
        task: &'a TaskId,
        /// The number of open subtasks.
        parts: usize,
    },
    /// A split task is done because all its subtasks are.
    DoneWithSubtasks(&'a TaskId),
    Wrote(&'a Path),
    /// Folders of old iterations were removed.
    Pruned {
        folders: u64,
        bytes: u64,
    },
    /// Learnings were extracted from this run.
    Learned(&'a Extraction),
    /// Learnings were extracted from earlier runs that had not been processed yet.
    LearnedEarlier(&'a Extraction),
    /// Upkeep changed learnings or reports.
    UpkeepDone(&'a Upkeep),
    /// Everything is done, and the scratchpad is kept in this file.
    KeptScratchpad(&'a Path),
    /// Something worth knowing that is not a failure.
    Notice(&'a Notice),
    /// The disk is full: the run is paused until there is space.
    DiskFull(&'a str),
    /// There is disk space again, and the run continues.
    DiskSpaceFreed,
    /// Another process has locked the database: the run is paused until it is free.
    Locked(&'a str),
    /// The database is free again, and the run continues.
    Unlocked,
    /// Something went wrong that does not end the run.
    Warning(&'a str),
    Ended {
        end: &'a End,
        sentence: &'a str,
        iterations: u32,
    },
}

/// Receives the events of a run.
pub trait Watch {
    fn tell(&mut self, event: &RunEvent<'_>);

    /// Whether to report task counts, which requires reading all tasks.
    fn follows_tasks(&self) -> bool {
        false
    }

    /// Whether there is disk space for what an effect writes. Tests simulate a full disk.
    fn disk_space(&mut self, _effect: &Effect) -> DiskSpace {
        DiskSpace::Enough
    }

    /// Called when an effect is done but its result is not known to anyone else. Tests can let the run die here as if
    /// it were killed.
    fn survives(&mut self, _effect: &Effect) -> Survival {
        Survival::Lives
    }
}

/// Whether an effect can write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiskSpace {
    Enough,
    None,
    /// Another process has locked the database.
    Locked,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Survival {
    Lives,
    /// Stop here without cleaning up.
    Dies,
}
