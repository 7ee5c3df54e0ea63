//! The JSON of events whose form differs from their type.

use std::fmt::Display;
use std::time::Duration;

use ralph_agent::TurnEvent;
use ralph_model::config::{Bytes, Limits};
use ralph_model::{
    Denial, Evidence, Outcome, RunId, StopReason, TaskId, TaskStatus, Unverified, Usage, Verdict, format_timestamp,
};
use serde::ser::{Error, SerializeMap};
use serde::{Serialize, Serializer};

use super::Settled;
use crate::gates::{Changed, GateEnd, GateResult};
use crate::state::{End, PauseWait};
use crate::summary::Verification;

/// The maximum length of a text in one event, in bytes. The transcript has all of it.
const MAX_TEXT: usize = 16 << 10;

#[derive(Serialize)]
struct SettledFields<'a> {
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
    denied: &'a [Denial],
    folder: &'a str,
}

impl Serialize for Settled<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let draft = self.draft;
        let commit = draft.commit.as_ref();
        SettledFields {
            iteration_run: &draft.current.run,
            iteration: draft.current.iteration,
            task: &draft.current.task,
            title: &draft.current.task_title,
            outcome: draft.decision.outcome,
            stop_reason: draft.decision.stop,
            reason: &draft.decision.reason,
            guidance: draft.turn.guidance.as_deref(),
            task_status: self.task,
            files: &draft.files,
            changed_nothing: draft.changed == Changed::Nothing,
            evidence: draft.evidence(),
            unverified: draft.unverified.as_ref(),
            spent: draft.usage(),
            duration_ms: self.duration.as_millis(),
            commit: commit.and_then(|made| made.as_deref().ok()),
            commit_error: commit.and_then(|made| made.as_deref().err()).map(String::as_str),
            denied: &draft.turn.denials,
            folder: &self.folder,
        }
        .serialize(serializer)
    }
}

#[derive(Serialize)]
struct VerifiedFields<'a> {
    agent: &'a str,
    passes: bool,
    verdict: Option<&'static str>,
    reason: Option<&'a str>,
    changed_files: &'a [String],
    #[serde(flatten)]
    spent: Usage,
    duration_ms: u64,
}

pub(super) fn verification<S: Serializer>(found: &&Verification, serializer: S) -> Result<S::Ok, S::Error> {
    let (verdict, reason) = match &found.verdict {
        Some(Verdict::Pass) => (Some("pass"), None),
        Some(Verdict::Fail(why)) => (Some("fail"), Some(why.as_str())),
        None => (None, None),
    };
    VerifiedFields {
        agent: &found.agent,
        passes: found.passes(),
        verdict,
        reason,
        changed_files: &found.changed,
        spent: found.usage,
        duration_ms: found.duration_ms,
    }
    .serialize(serializer)
}

pub(super) fn gate<S: Serializer>(gate: &&GateResult, serializer: S) -> Result<S::Ok, S::Error> {
    let (result, status) = match &gate.end {
        GateEnd::Passed => ("passed", None),
        GateEnd::Failed(status) => ("failed", Some(status)),
        GateEnd::Broken(status) => ("broken", Some(status)),
        GateEnd::NotStarted(status) => ("not_started", Some(status)),
        GateEnd::TimedOut => ("timed_out", None),
        GateEnd::Stopped => ("stopped", None),
    };
    let mut map = serializer.serialize_map(None)?;
    map.serialize_entry("command", &gate.command)?;
    map.serialize_entry("result", result)?;
    map.serialize_entry("status", &status)?;
    map.serialize_entry("output", &gate.output)?;
    map.serialize_entry("duration_ms", &gate.duration_ms)?;
    map.end()
}

#[derive(Serialize)]
struct AgentFields<'a> {
    event: &'static str,
    #[serde(flatten)]
    what: AgentAction<'a>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum AgentAction<'a> {
    Text { text: &'a str, left_out_bytes: usize },
    Tool { name: &'a str, about: &'a str },
    Usage(Usage),
}

pub(super) fn agent<S: Serializer>(event: &&TurnEvent, serializer: S) -> Result<S::Ok, S::Error> {
    turn_event(["text", "tool", "usage"], event, serializer)
}

pub(super) fn verifier<S: Serializer>(event: &&TurnEvent, serializer: S) -> Result<S::Ok, S::Error> {
    turn_event(["verifier_text", "verifier_tool", "verifier_usage"], event, serializer)
}

fn turn_event<S: Serializer>(
    [text_event, tool_event, usage_event]: [&'static str; 3],
    event: &TurnEvent,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let (event, what) = match event {
        TurnEvent::Text(whole) => {
            let text = whole.get(..whole.floor_char_boundary(MAX_TEXT)).unwrap_or_default();
            let left_out_bytes = whole.len() - text.len();
            (text_event, AgentAction::Text { text, left_out_bytes })
        }
        TurnEvent::Tool { name, about } => (tool_event, AgentAction::Tool { name, about }),
        TurnEvent::Used(usage) => (usage_event, AgentAction::Usage(*usage)),
        // The transcript has the lines, and the settlement has the end.
        TurnEvent::Line(_) | TurnEvent::MessageBegins | TurnEvent::Alive | TurnEvent::Ended(_) => {
            return Err(S::Error::custom("the event has no JSON"));
        }
    };
    AgentFields { event, what }.serialize(serializer)
}

/// The limits, in seconds and bytes; null means no limit.
pub(super) fn limits<S: Serializer>(limits: &&Limits, serializer: S) -> Result<S::Ok, S::Error> {
    let seconds = |time: Option<Duration>| time.map(|time| time.as_secs_f64());
    let mut map = serializer.serialize_map(None)?;
    map.serialize_entry("iterations", &limits.iterations)?;
    map.serialize_entry("wall_clock_seconds", &seconds(limits.wall_clock))?;
    map.serialize_entry("cost_usd", &limits.cost_usd)?;
    map.serialize_entry("tokens", &limits.tokens)?;
    map.serialize_entry("iteration_seconds", &seconds(limits.iteration_time))?;
    map.serialize_entry("idle_seconds", &seconds(limits.idle_time))?;
    map.serialize_entry("consecutive_failures", &limits.consecutive_failures)?;
    map.serialize_entry("no_progress", &limits.no_progress)?;
    map.serialize_entry("output_bytes", &limits.output_bytes.map(|Bytes(bytes)| bytes))?;
    map.end()
}

pub(super) fn word<S: Serializer>(word: &Option<impl Display>, serializer: S) -> Result<S::Ok, S::Error> {
    word.as_ref().map(ToString::to_string).serialize(serializer)
}

pub(super) fn message<S: Serializer>(message: &&str, serializer: S) -> Result<S::Ok, S::Error> {
    entry("message", message, serializer)
}

pub(crate) fn model<S: Serializer>(model: &str, serializer: S) -> Result<S::Ok, S::Error> {
    entry("model", &model, serializer)
}

fn entry<S: Serializer>(key: &str, value: &impl Serialize, serializer: S) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(Some(1))?;
    map.serialize_entry(key, value)?;
    map.end()
}

pub(super) fn end<S: Serializer>(end: &&End, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(match end {
        End::Complete => "complete",
        End::NothingToDo => "nothing_to_do",
        End::NeedsAttention(_) => "left_for_person",
        End::Limit(_) => "limit",
        End::NoProgress(_) => "no_progress",
        End::FailurePromise => "failure_promise",
        End::StoppedAsRequested(_) => "as_wished",
        End::Interrupted => "interrupted",
        End::Error(_) => "error",
    })
}

pub(crate) fn held<S: Serializer>(held: &[(TaskId, RunId)], serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Held<'a> {
        task: &'a TaskId,
        run: &'a RunId,
    }
    let held: Vec<Held<'_>> = held.iter().map(|(task, run)| Held { task, run }).collect();
    entry("held", &held, serializer)
}

impl Serialize for PauseWait {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let pause = &self.pause.what;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("reason", pause.reason.word())?;
        map.serialize_entry("message", &pause.said)?;
        map.serialize_entry("until", &format_timestamp(self.until))?;
        map.serialize_entry("seconds", &self.left.as_secs_f64())?;
        map.end()
    }
}
