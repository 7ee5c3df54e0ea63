//! The events of `ralph run --json`: one JSON object per line. Programs rely on the format: fields may be added, but
//! are never renamed or removed.

mod json_reporter;
mod page;

use jiff::Timestamp;
use ralph_loop::gates::GateEnd;
use ralph_model::Clock;
use ralph_model::{
    AuthorKind, Evidence, Extraction, Outcome, RunId, StopReason, TaskId, TaskKind, TaskStatus, Unverified, Usage,
    serialize_timestamp,
};
use ralph_store::AgentNote;
use serde::Serialize;

use crate::error::CommandError;
use crate::project_env::ProgramClock;
use crate::ui::Ui;

pub(super) use json_reporter::{Followed, JsonReporter};
pub(crate) use page::page;

#[derive(Debug, Serialize)]
pub(super) struct Line<'a> {
    #[serde(serialize_with = "serialize_timestamp")]
    at: Timestamp,
    /// The run; omitted before it has begun.
    #[serde(skip_serializing_if = "Option::is_none")]
    run: Option<&'a RunId>,
    #[serde(flatten)]
    event: Event<'a>,
}

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

#[derive(Debug, Clone, Serialize)]
pub(super) struct AgentNoted {
    id: String,
    /// The agent's last change.
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

/// The limits, in seconds and bytes; null means no limit.
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

#[derive(Debug, Serialize)]
pub(super) struct Wait<'a> {
    reason: &'static str,
    message: &'a str,
    #[serde(serialize_with = "serialize_timestamp")]
    until: Timestamp,
    seconds: f64,
}

/// A task claimed by another run.
#[derive(Debug, Serialize)]
pub(super) struct Held<'a> {
    task: &'a TaskId,
    run: &'a RunId,
}

/// Writes a line. A failed write is ignored, so that a run outlives its reader.
fn write(ui: &Ui, line: &Line<'_>) {
    // Every event can be serialized.
    if let Ok(json) = serde_json::to_string(line) {
        drop(ui.data(&format!("{json}\n")));
    }
}

/// Reports an error that occurred before the project was loaded.
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

/// The word for the end of a gate, and its status.
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
