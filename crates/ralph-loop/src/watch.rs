//! The events that a run reports. The watcher decides what the user sees.

pub(crate) mod json;

use std::borrow::Cow;
use std::time::Duration;

use ralph_agent::{Agent, TurnEvent};
use ralph_memory::learn::Upkeep;
use ralph_memory::secrets::mask;
use ralph_model::config::{Limits, Permissions};
use ralph_model::{Extraction, RunId, TaskId, TaskKind, TaskStatus, Tokens};
use ralph_store::{AgentNote, ScopeCounts};
use serde::Serialize;

use crate::gates::GateResult;
use crate::guide::{GuidanceAnswer, GuidanceQuestion};
use crate::site::{Order, Site};
use crate::state::{End, Notice, PendingSettlement};
use crate::summary::Verification;

/// Something the user may want to know. The JSON of these events is described in docs/events.md: fields may be added, but
/// are never renamed or removed. Events without JSON are only for people at the terminal.
#[derive(Debug, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum RunEvent<'a> {
    #[serde(rename = "run_began")]
    Began(RunBegan<'a>),
    /// A dead run left an iteration that is settled now.
    #[serde(rename = "found_left")]
    FoundLeftover {
        #[serde(rename = "left_run")]
        run: &'a RunId,
        iteration: u32,
        /// How many of its processes were still alive and were killed.
        #[serde(rename = "processes_ended")]
        killed: usize,
    },
    /// These gates already failed before the run.
    #[serde(rename = "red_from_the_start")]
    AlreadyFailing {
        gates: Vec<String>,
    },
    /// The task counts of the run, at its start and after every settlement, for watchers that follow them.
    #[serde(skip)]
    TaskCounts(&'a ScopeCounts),
    #[serde(skip)]
    GateBegan(&'a str),
    #[serde(serialize_with = "json::gate")]
    GateRan(&'a GateResult),
    IterationBegan(IterationBegan<'a>),
    /// The user stopped the turn and is asked for guidance. The terminal is theirs until they answer.
    #[serde(skip)]
    AskingGuidance(&'a GuidanceQuestion),
    /// The user has answered, or the question was cancelled.
    #[serde(skip)]
    GuidanceAnswered(&'a GuidanceAnswer),
    /// The verifier starts on work that passed the gates.
    VerifierBegan {
        agent: &'a str,
        iteration: u32,
        task: &'a TaskId,
        /// The size of its prompt.
        prompt_tokens: Tokens,
        folder: String,
    },
    #[serde(serialize_with = "json::verification")]
    Verified(&'a Verification),
    Settled(Settled<'a>),
    /// The task was split into subtasks, which come first.
    #[serde(rename = "waits_for_parts")]
    WaitingForSubtasks {
        task: &'a TaskId,
        /// The number of open subtasks.
        parts: usize,
    },
    /// A split task is done because all its subtasks are.
    #[serde(rename = "done_with_parts")]
    DoneWithSubtasks {
        task: &'a TaskId,
    },
    #[serde(rename = "wrote_note")]
    Wrote {
        path: String,
    },
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
    #[serde(rename = "kept_up")]
    UpkeepDone(&'a Upkeep),
    /// Everything is done, and the scratchpad is kept in this file.
    KeptScratchpad {
        path: String,
    },
    /// The disk is full: the run is paused until there is space.
    #[serde(rename = "paused_for_room", serialize_with = "json::message")]
    DiskFull(&'a str),
    /// There is disk space again, and the run continues.
    #[serde(rename = "goes_on")]
    DiskSpaceFreed,
    /// Another process has locked the database: the run is paused until it is free.
    #[serde(rename = "paused_for_lock", serialize_with = "json::message")]
    Locked(&'a str),
    /// The database is free again, and the run continues.
    #[serde(rename = "goes_on")]
    Unlocked,
    /// Something went wrong that does not end the run.
    #[serde(serialize_with = "json::message")]
    Warning(&'a str),
    #[serde(rename = "run_ended")]
    Ended(RunEnded<'a>),
    /// Something worth knowing that is not a failure.
    #[serde(untagged)]
    Notice(&'a Notice),
    #[serde(untagged, serialize_with = "json::agent")]
    Agent(&'a TurnEvent),
    #[serde(untagged, serialize_with = "json::verifier")]
    VerifierEvent(&'a TurnEvent),
}

#[derive(Debug, Serialize)]
pub struct RunBegan<'a> {
    #[serde(skip)]
    pub run: &'a RunId,
    pub agent: &'a str,
    pub goal: &'a str,
    /// What the agent may do without asking; `None` if its command decides.
    #[serde(serialize_with = "json::word")]
    pub permissions: Option<Permissions>,
    pub gates: Vec<Cow<'a, str>>,
    pub verifier: Option<&'a str>,
    #[serde(serialize_with = "json::limits")]
    pub limits: &'a Limits,
    pub worktree: &'a str,
    pub branch: Option<&'a str>,
    pub commit: Option<&'a str>,
    pub pid: u32,
}

impl<'a> RunBegan<'a> {
    pub(crate) fn new(run: &'a RunId, order: &'a Order, site: &'a Site<'_>) -> Self {
        Self {
            run,
            agent: order.agent.name(),
            goal: &order.goal,
            permissions: order.agent.permissions(site.config.agent.permissions),
            gates: site.config.verify.commands.iter().map(|gate| mask(gate)).collect(),
            verifier: order.verifying_agent().map(Agent::name),
            limits: &site.config.limits,
            worktree: &site.worktree,
            branch: site.branch.as_deref(),
            commit: site.commit.as_deref(),
            pid: site.process.pid,
        }
    }
}

#[derive(Debug, Serialize)]
pub struct IterationBegan<'a> {
    #[serde(skip)]
    pub run: &'a RunId,
    pub iteration: u32,
    pub task: &'a TaskId,
    pub title: &'a str,
    pub kind: TaskKind,
    /// The attempt at the task, among those that count.
    pub attempt: u32,
    /// The maximum number of attempts.
    pub attempts: u32,
    pub model: Option<&'a str>,
    pub rationale: &'a str,
    /// The size of the prompt.
    pub prompt_tokens: Tokens,
    /// How many notes and journal entries the prompt contains.
    pub notes_shown: usize,
    pub folder: String,
}

#[derive(Debug)]
pub struct Settled<'a> {
    pub draft: &'a PendingSettlement,
    /// The status of the task; `None` if another run owns it.
    pub task: Option<TaskStatus>,
    /// How many of its learnings are new.
    pub new_learnings: usize,
    pub duration: Duration,
    pub folder: String,
}

#[derive(Debug, Serialize)]
pub struct RunEnded<'a> {
    #[serde(serialize_with = "json::end")]
    pub end: &'a End,
    pub sentence: &'a str,
    pub exit_code: u8,
    pub iterations: u32,
    /// The key in `[limits]` that ended it.
    pub limit: Option<&'static str>,
    /// The command that continues with what is left.
    pub again: Option<&'a str>,
    /// The notes that agents stored or changed with commands.
    pub agent_notes: &'a [AgentNote],
}

/// Receives the events of a run.
pub trait Watch {
    fn tell(&mut self, event: &RunEvent<'_>);

    /// Whether to report task counts, which requires reading all tasks.
    fn follows_tasks(&self) -> bool {
        false
    }
}
