//! The settlement table: what happens to the journal, the task and the run for every way a turn can end. All of these
//! decisions are made here: before the gates, after them, on the verifier's verdict and on the evidence.

mod evidence;
mod verifier;

use jiff::Timestamp;
use ralph_agent::TurnEnd;
use ralph_model::config::{Limits, duration_text};
use ralph_model::{Outcome, Promise, StopReason, TaskId, TaskKind};

use crate::summary::{StopCause, TurnSummary};

pub(crate) use evidence::judge_evidence;
pub use verifier::judge_verifier;
pub(crate) use verifier::{no_verifier, over_the_limit};

/// The input of a settlement.
#[derive(Debug, Clone, Copy)]
pub struct Facts<'a> {
    pub assigned: &'a TaskId,
    pub kind: TaskKind,
    pub turn: &'a TurnSummary,
    /// Whether an earlier prompt of this task was already too long.
    pub overflowed_before: bool,
    /// Whether the run is about this task alone, so that COMPLETE means it is done.
    pub complete_is_done: bool,
    pub limits: Limits,
}

/// The decision before the gates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Judgement {
    /// The agent reports the work, or a part of it, done: the gates decide.
    AskGates(Claimed),
    Settled(SettlementDecision),
}

/// What the agent claims when the gates run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Claimed {
    Done,
    /// A part of a prompt loop is done, and the loop continues.
    Part,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    Passes {
        /// The gates that still fail as they did before the run.
        still_failing: Vec<String>,
    },
    Refused(String),
}

impl Verdict {
    fn reason(&self) -> String {
        match self {
            Self::Refused(why) => why.clone(),
            Self::Passes { still_failing } => {
                let sentence = |gate: &String| format!("The gate `{gate}` still fails, as before the run.");
                let sentences: Vec<String> = still_failing.iter().map(sentence).collect();
                sentences.join("\n")
            }
        }
    }
}

/// The decision about an iteration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettlementDecision {
    pub outcome: Outcome,
    /// Why the turn ended.
    pub stop: StopReason,
    pub task: TaskTransition,
    pub then: Then,
    /// What went wrong, in a sentence; empty if nothing did. For a finished task, what still fails.
    pub reason: String,
    /// The words of an agent or a program that the reason quotes.
    pub quoted: String,
}

impl SettlementDecision {
    fn quoting(self, words: &str) -> Self {
        Self {
            quoted: words.trim().to_owned(),
            ..self
        }
    }

    pub(crate) fn also(&mut self, sentence: &str) {
        if !self.reason.is_empty() {
            self.reason.push('\n');
        }
        self.reason.push_str(sentence);
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskTransition {
    Done,
    /// Pending again; the attempt counts.
    Attempt,
    /// Failed; no further attempts.
    GiveUp,
    /// Pending again; the attempt does not count.
    Again,
    /// Pending again after progress; earlier failures no longer count.
    Progress,
}

/// What the run does after a settlement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Then {
    GoOn,
    /// Wait until the usage limit resets.
    WaitForUsage {
        /// The reset time, if the agent reports it.
        resets_at: Option<Timestamp>,
    },
    /// Wait with exponential backoff.
    BackOff,
    Stop(StopRun),
}

/// Why a run ends before its tasks are done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopRun {
    Interrupt,
    FailurePromise,
    /// The agent cannot work: not logged in, no money.
    AgentUnusable,
    GateNotStarted,
    Limit,
}

/// Decides from the end of a turn.
#[must_use]
pub fn judge(facts: &Facts<'_>) -> Judgement {
    match judge_end(facts) {
        Judgement::Settled(decision) if facts.turn.no_room && decision.task == TaskTransition::Attempt => {
            Judgement::Settled(on_full_disk(decision))
        }
        judgement => judgement,
    }
}

/// A failure caused by a full disk does not count, and the task starts again.
fn on_full_disk(decision: SettlementDecision) -> SettlementDecision {
    let mut decision = SettlementDecision {
        outcome: Outcome::Interrupted,
        task: TaskTransition::Again,
        ..decision
    };
    decision.also("The disk was full, so the attempt does not count.");
    decision
}

fn judge_end(facts: &Facts<'_>) -> Judgement {
    if let Some(cause) = facts.turn.cause {
        return Judgement::Settled(stopped(cause, facts));
    }
    match &facts.turn.end {
        TurnEnd::Finished => finished(facts),
        other => Judgement::Settled(broken_off(other, facts)),
    }
}

/// Decides from the gates' verdict on the agent's claim.
#[must_use]
pub fn judge_gates(facts: &Facts<'_>, claimed: Claimed, verdict: &Verdict) -> SettlementDecision {
    let stop = match claimed {
        Claimed::Done => StopReason::TaskDone,
        Claimed::Part => StopReason::NoSigil,
    };
    let then = match facts.turn.control.promise {
        Some(Promise::Failure) => Then::Stop(StopRun::FailurePromise),
        Some(Promise::Complete) | None => Then::GoOn,
    };
    let (outcome, task) = match (claimed, verdict) {
        (Claimed::Done, Verdict::Passes { .. }) => (Outcome::Done, TaskTransition::Done),
        (Claimed::Part, Verdict::Passes { .. }) => (Outcome::Done, TaskTransition::Progress),
        (Claimed::Done, Verdict::Refused(_)) if facts.kind == TaskKind::Once => {
            (Outcome::Retried, TaskTransition::Attempt)
        }
        (Claimed::Done | Claimed::Part, Verdict::Refused(_)) => (Outcome::Retried, TaskTransition::Again),
    };
    SettlementDecision {
        outcome,
        stop,
        task,
        then,
        reason: verdict.reason(),
        quoted: String::new(),
    }
}

/// The decision if the user stopped the gates.
#[must_use]
pub fn gates_interrupted() -> SettlementDecision {
    interrupted(
        StopReason::Cancelled,
        Then::Stop(StopRun::Interrupt),
        "Stopped on request.",
    )
}

/// The decision if the work landed before the run was killed.
pub(crate) fn landed_before() -> SettlementDecision {
    SettlementDecision {
        outcome: Outcome::Done,
        stop: StopReason::TaskDone,
        task: TaskTransition::Done,
        then: Then::GoOn,
        reason: String::new(),
        quoted: String::new(),
    }
}

/// The decision if the work cannot land.
pub(crate) fn not_landed(stop: StopReason, why: &str) -> SettlementDecision {
    SettlementDecision {
        outcome: Outcome::Retried,
        ..failed(stop, why)
    }
}

/// The decision if a gate could not be started.
#[must_use]
pub fn gate_not_started(why: &str) -> SettlementDecision {
    interrupted(StopReason::GateNotStarted, Then::Stop(StopRun::GateNotStarted), why)
}

/// The decision if the task has used up its limit.
fn over_the_task_limit(said: &str) -> SettlementDecision {
    SettlementDecision {
        task: TaskTransition::GiveUp,
        ..failed(StopReason::TaskLimit, said)
    }
}

/// The decision if ralph stopped the turn.
fn stopped(cause: StopCause, facts: &Facts<'_>) -> SettlementDecision {
    let limits = &facts.limits;
    match cause {
        StopCause::Interrupt if facts.turn.guidance.is_some() => interrupted(
            StopReason::Cancelled,
            Then::Stop(StopRun::Interrupt),
            "Stopped on request, with guidance.",
        ),
        StopCause::Interrupt => gates_interrupted(),
        StopCause::RalphDied => interrupted(
            StopReason::RalphDied,
            Then::GoOn,
            "ralph was killed while the agent was working.",
        ),
        StopCause::RunLimit => interrupted(
            StopReason::RunLimit,
            Then::Stop(StopRun::Limit),
            facts
                .turn
                .limit
                .as_deref()
                .unwrap_or("A limit of the run was reached while the agent was working."),
        ),
        StopCause::TaskLimit => {
            let said = facts.turn.limit.as_deref();
            over_the_task_limit(said.unwrap_or("The attempts at the task have used up its limit."))
        }
        StopCause::Timeout => {
            let most = set("iteration_time", limits.iteration_time.map(duration_text));
            failed(
                StopReason::Timeout,
                format!("The iteration took longer than {most} allows."),
            )
        }
        StopCause::Idle => {
            let most = set("idle_time", limits.idle_time.map(duration_text));
            failed(
                StopReason::Idle,
                format!("The agent was silent for longer than {most} allows."),
            )
        }
    }
}

/// The decision if the turn finished normally.
fn finished(facts: &Facts<'_>) -> Judgement {
    let (turn, assigned) = (facts.turn, facts.assigned.as_str());
    let control = &turn.control;
    if facts.kind == TaskKind::PromptLoop {
        return prompt_loop_finished(facts);
    }
    if control.done.iter().any(|id| id == assigned) {
        return Judgement::AskGates(Claimed::Done);
    }
    let has_failed = control.failed.iter().any(|(id, _)| id == assigned);
    if facts.complete_is_done && !has_failed && control.promise == Some(Promise::Complete) {
        return Judgement::AskGates(Claimed::Done);
    }
    if let Some((_, reason)) = control.failed.iter().find(|(id, _)| id == assigned) {
        let why = match reason.trim() {
            "" => "The agent reported that the task cannot be done.".to_owned(),
            reason => format!("The agent reported that the task cannot be done: {reason}"),
        };
        let mut decision = failed(StopReason::TaskFailed, why).quoting(reason);
        if control.promise == Some(Promise::Failure) {
            decision.then = Then::Stop(StopRun::FailurePromise);
        }
        return Judgement::Settled(decision);
    }
    Judgement::Settled(no_task_report(facts))
}

fn prompt_loop_finished(facts: &Facts<'_>) -> Judgement {
    let turn = facts.turn;
    match turn.control.promise {
        Some(Promise::Complete) => Judgement::AskGates(Claimed::Done),
        Some(Promise::Failure) => Judgement::Settled(no_task_report(facts)),
        None if !turn.spoke => Judgement::Settled(no_task_report(facts)),
        None => Judgement::AskGates(Claimed::Part),
    }
}

/// The decision for a normal end that does not mention the assigned task.
fn no_task_report(facts: &Facts<'_>) -> SettlementDecision {
    let turn = facts.turn;
    if turn.control.promise == Some(Promise::Failure) {
        return SettlementDecision {
            then: Then::Stop(StopRun::FailurePromise),
            ..blocked(StopReason::FailurePromise, "The agent asked to stop the run.")
        };
    }
    if let Some(denial) = turn.denials.first() {
        let permit = denial
            .permit
            .as_ref()
            .map(|line| format!(" This line permits it: {line}"));
        let (tool, about) = (&denial.tool, &denial.about);
        let what = if about.is_empty() {
            tool.clone()
        } else {
            format!("{tool} ({about})")
        };
        let why = format!("The agent was not allowed to use {what}.{}", permit.unwrap_or_default());
        return blocked(StopReason::PermissionDenied, why);
    }
    let named = turn
        .control
        .done
        .iter()
        .chain(turn.control.failed.iter().map(|(id, _)| id));
    let others: Vec<&str> = named.map(String::as_str).collect();
    if !others.is_empty() {
        let why = format!("The agent reported on {} instead of its own task.", others.join(", "));
        return blocked(StopReason::WrongTask, why);
    }
    if turn.spoke {
        blocked(
            StopReason::NoSigil,
            "The agent ended without saying whether the task is done.",
        )
    } else {
        let hint = turn.hint.as_ref().map(|hint| format!(" {hint}"));
        let why = format!("The agent said nothing.{}", hint.unwrap_or_default());
        blocked(StopReason::EmptyAnswer, why)
    }
}

/// The decision if the turn ended abnormally.
fn broken_off(end: &TurnEnd, facts: &Facts<'_>) -> SettlementDecision {
    match end {
        TurnEnd::Refusal(why) => failed(StopReason::Refusal, with_reason("The model refused", why)).quoting(why),
        TurnEnd::Crash(why) => failed(StopReason::Crash, with_reason("The agent crashed", why)).quoting(why),
        TurnEnd::Garbage(why) => failed(
            StopReason::Garbage,
            with_reason("The agent's output could not be parsed", why),
        )
        .quoting(why),
        TurnEnd::OutputLimit => {
            let most = set("output_bytes", facts.limits.output_bytes.map(|bytes| bytes.to_string()));
            failed(
                StopReason::OutputLimit,
                format!("The agent printed more than {most} allows."),
            )
        }
        TurnEnd::ContextOverflow(_) if facts.overflowed_before => failed(
            StopReason::ContextOverflow,
            "The prompt was too long for the model, even with half the memory.",
        ),
        TurnEnd::ContextOverflow(_) => interrupted(
            StopReason::ContextOverflow,
            Then::GoOn,
            "The prompt was too long for the model; the next one will have half the memory.",
        ),
        TurnEnd::TokenLimit => blocked(
            StopReason::TokenLimit,
            "The agent's answer was cut off at its token limit.",
        ),
        TurnEnd::TurnLimit => blocked(StopReason::TurnLimit, "The agent used up its turns."),
        TurnEnd::UsageLimit { resets_at, message } => interrupted(
            StopReason::UsageLimit,
            Then::WaitForUsage { resets_at: *resets_at },
            &with_reason("The usage limit is reached", message),
        )
        .quoting(message),
        TurnEnd::Transient(why) => interrupted(
            StopReason::Transient,
            Then::BackOff,
            &with_reason("The service failed temporarily", why),
        )
        .quoting(why),
        TurnEnd::Auth(why) => interrupted(
            StopReason::Auth,
            Then::Stop(StopRun::AgentUnusable),
            &with_reason("The agent is not logged in, or its key is invalid", why),
        )
        .quoting(why),
        TurnEnd::Billing(why) => interrupted(
            StopReason::Billing,
            Then::Stop(StopRun::AgentUnusable),
            &with_reason("The agent's account has a billing problem", why),
        )
        .quoting(why),
        // ralph did not stop it, so something else did.
        TurnEnd::Stopped | TurnEnd::Finished => {
            failed(StopReason::Crash, "Something other than ralph stopped the agent.")
        }
    }
}

/// A limit as configured; only its key if it is no longer set.
fn set(key: &str, value: Option<String>) -> String {
    match value {
        Some(value) => format!("`[limits] {key} = {value}`"),
        None => format!("`[limits] {key}`"),
    }
}

fn interrupted(stop: StopReason, then: Then, reason: &str) -> SettlementDecision {
    SettlementDecision {
        outcome: Outcome::Interrupted,
        stop,
        task: TaskTransition::Again,
        then,
        reason: reason.to_owned(),
        quoted: String::new(),
    }
}

fn failed(stop: StopReason, reason: impl Into<String>) -> SettlementDecision {
    SettlementDecision {
        outcome: Outcome::Failed,
        stop,
        task: TaskTransition::Attempt,
        then: Then::GoOn,
        reason: reason.into(),
        quoted: String::new(),
    }
}

fn blocked(stop: StopReason, reason: impl Into<String>) -> SettlementDecision {
    SettlementDecision {
        outcome: Outcome::Blocked,
        ..failed(stop, reason)
    }
}

fn with_reason(what: &str, why: &str) -> String {
    match why.trim().trim_end_matches('.') {
        "" => format!("{what}."),
        why => format!("{what}: {why}."),
    }
}

#[cfg(test)]
#[path = "settle_tests.rs"]
mod tests;
