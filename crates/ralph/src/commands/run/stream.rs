//! The events of `ralph run --json`: one JSON object a line, for programs that follow a run. What stands here is a promise
//! to them: fields are added, and none is renamed or taken away.

mod page;
mod teller;

use jiff::Timestamp;
use ralph_loop::gates::GateEnd;
use ralph_model::Clock;
use ralph_model::{
    AuthorKind, Evidence, Extraction, Outcome, RunId, StopReason, TaskId, TaskKind, TaskStatus, Unverified, Usage,
    serialize_moment,
};
use ralph_store::AgentNote;
use serde::Serialize;

use crate::error::CommandError;
use crate::surroundings::ProgramClock;
use crate::ui::Ui;

pub(crate) use page::page;
pub(super) use teller::{Followed, Teller};

/// A line.
#[derive(Debug, Serialize)]
pub(super) struct Line<'a> {
    /// When.
    #[serde(serialize_with = "serialize_moment")]
    at: Timestamp,
    /// The run; not there before it has begun.
    #[serde(skip_serializing_if = "Option::is_none")]
    run: Option<&'a RunId>,
    #[serde(flatten)]
    event: Event<'a>,
}

/// What happened.
#[derive(Debug, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub(super) enum Event<'a> {
    RunBegan(&'a RunBegan),
    FoundLeft {
        left_run: &'a RunId,
        iteration: u32,
        processes_ended: usize,
    },
    RedFromTheStart {
        gates: Vec<String>,
    },
    GateRan {
        command: &'a str,
        result: &'static str,
        status: Option<&'a str>,
        output: &'a str,
        duration_ms: u64,
    },
    IterationBegan(IterationBegan<'a>),
    Text {
        text: &'a str,
        left_out_bytes: usize,
    },
    Tool {
        name: &'a str,
        about: &'a str,
    },
    Usage(Usage),
    VerifierBegan {
        agent: &'a str,
        iteration: u32,
        task: &'a TaskId,
        prompt_tokens: u32,
        folder: String,
    },
    VerifierText {
        text: &'a str,
        left_out_bytes: usize,
    },
    VerifierTool {
        name: &'a str,
        about: &'a str,
    },
    VerifierUsage(Usage),
    Verified(Verified<'a>),
    Settled(Box<Settled<'a>>),
    WaitsForParts {
        task: &'a TaskId,
        parts: usize,
    },
    DoneWithParts {
        task: &'a TaskId,
    },
    WroteNote {
        path: String,
    },
    KeptScratchpad {
        path: String,
    },
    Pruned {
        folders: u64,
        bytes: u64,
    },
    Learned(Extraction),
    LearnedEarlier(Extraction),
    KeptUp {
        merged: usize,
        into: usize,
        pruned: usize,
        reports_shortened: usize,
    },
    Busy {
        held: Vec<Held<'a>>,
    },
    Waits(Wait<'a>),
    StillWaits(Wait<'a>),
    UnknownModel {
        model: &'a str,
    },
    CompleteTooEarly,
    PausedForRoom {
        message: &'a str,
    },
    PausedForLock {
        message: &'a str,
    },
    GoesOn,
    Warning {
        message: &'a str,
    },
    RunEnded {
        end: &'static str,
        sentence: &'a str,
        exit_code: u8,
        iterations: u32,
        limit: Option<&'static str>,
        again: Option<&'a str>,
        agent_notes: Vec<AgentNoted>,
    },
    NothingBegan {
        sentence: &'a str,
        hint: &'a str,
        exit_code: u8,
    },
    Error {
        message: &'a str,
        hint: Option<&'a str>,
        exit_code: u8,
    },
}

/// A note that the agent stored or changed with a command.
#[derive(Debug, Clone, Serialize)]
pub(super) struct AgentNoted {
    id: String,
    /// What the agent did last.
    action: &'static str,
    author: AuthorKind,
    iteration: Option<u32>,
}

impl From<AgentNote> for AgentNoted {
    fn from(note: AgentNote) -> Self {
        Self {
            id: note.id,
            action: note.action.word(),
            author: note.author,
            iteration: note.iteration,
        }
    }
}

/// Who works on what, and within which limits.
#[derive(Debug, Clone, Serialize)]
pub(super) struct RunBegan {
    agent: String,
    goal: String,
    permissions: Option<String>,
    gates: Vec<String>,
    verifier: Option<String>,
    limits: LimitsSet,
    worktree: String,
    branch: Option<String>,
    commit: Option<String>,
    pid: u32,
}

/// The limits, in seconds and bytes; null is none.
#[derive(Debug, Clone, Copy, Serialize)]
pub(super) struct LimitsSet {
    iterations: Option<u32>,
    wall_clock_seconds: Option<f64>,
    cost_usd: Option<f64>,
    tokens: Option<u64>,
    iteration_seconds: Option<f64>,
    idle_seconds: Option<f64>,
    consecutive_failures: Option<u32>,
    no_progress: Option<u32>,
    output_bytes: Option<u64>,
}

/// An agent that is started.
#[derive(Debug, Serialize)]
pub(super) struct IterationBegan<'a> {
    iteration: u32,
    task: &'a TaskId,
    title: &'a str,
    kind: TaskKind,
    attempt: u32,
    attempts: u32,
    model: Option<&'a str>,
    rationale: &'a str,
    prompt_tokens: u32,
    notes_shown: usize,
    folder: String,
}

/// What a verifier found.
#[derive(Debug, Serialize)]
pub(super) struct Verified<'a> {
    agent: &'a str,
    passes: bool,
    verdict: Option<&'static str>,
    reason: Option<&'a str>,
    changed_files: &'a [String],
    #[serde(flatten)]
    spent: Usage,
    duration_ms: u64,
}

/// What became of an iteration.
#[derive(Debug, Serialize)]
pub(super) struct Settled<'a> {
    iteration_run: &'a RunId,
    iteration: u32,
    task: &'a TaskId,
    title: &'a str,
    outcome: Outcome,
    stop_reason: StopReason,
    reason: &'a str,
    guidance: Option<&'a str>,
    task_status: Option<TaskStatus>,
    files: &'a [String],
    changed_nothing: bool,
    evidence: Evidence,
    unverified: Option<&'a Unverified>,
    #[serde(flatten)]
    spent: Usage,
    duration_ms: u128,
    commit: Option<&'a str>,
    commit_error: Option<&'a str>,
    denied: Vec<Denied<'a>>,
    folder: String,
}

/// A tool that the agent was not allowed to use.
#[derive(Debug, Serialize)]
pub(super) struct Denied<'a> {
    tool: &'a str,
    about: &'a str,
    permit: Option<&'a str>,
}

/// A wait for the end of an agent's pause.
#[derive(Debug, Serialize)]
pub(super) struct Wait<'a> {
    reason: &'static str,
    message: &'a str,
    #[serde(serialize_with = "serialize_moment")]
    until: Timestamp,
    seconds: f64,
}

/// A task that another run holds.
#[derive(Debug, Serialize)]
pub(super) struct Held<'a> {
    task: &'a TaskId,
    run: &'a RunId,
}

/// Writes a line. A run is worth more than whoever follows it: when nobody reads any more, it goes on.
fn write(ui: &Ui, line: &Line<'_>) {
    // No event holds anything that is no JSON.
    if let Ok(json) = serde_json::to_string(line) {
        drop(ui.data(&format!("{json}\n")));
    }
}

/// Tells why not even the project could be read.
pub(super) fn failed_early(ui: &Ui, error: &CommandError) {
    if let (Ok(clock), Some((message, hint))) = (ProgramClock::from_environment(), error.lines()) {
        let exit_code = error.code();
        let event = Event::Error {
            message,
            hint,
            exit_code,
        };
        let at = clock.now();
        write(ui, &Line { at, run: None, event });
    }
}

/// How a gate ended, in a word, and what it said about that.
fn gate_result(end: &GateEnd) -> (&'static str, Option<&str>) {
    match end {
        GateEnd::Passed => ("passed", None),
        GateEnd::Failed(status) => ("failed", Some(status)),
        GateEnd::Broken(status) => ("broken", Some(status)),
        GateEnd::NotStarted(status) => ("not_started", Some(status)),
        GateEnd::TimedOut => ("timed_out", None),
        GateEnd::Stopped => ("stopped", None),
    }
}
