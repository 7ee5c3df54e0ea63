//! The settlement table: what becomes of the journal, the task and the run, for every way in which a turn can end.
//! One function before the gates, one after them, one for the word of the verifier, one for the evidence, and nothing about it
//! elsewhere.

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

/// What a settlement is decided from.
#[derive(Debug, Clone, Copy)]
pub struct Facts<'a> {
    /// The task that was assigned.
    pub assigned: &'a TaskId,
    /// How that task comes to its end.
    pub kind: TaskKind,
    /// How the turn ended, and what was said.
    pub turn: &'a TurnSummary,
    /// Whether an earlier prompt of this task was too long already.
    pub overflowed_before: bool,
    /// Whether the run is about this task alone, so that COMPLETE means that it is done.
    pub complete_is_done: bool,
    /// What the turn was allowed.
    pub limits: Limits,
}

/// What is decided before the gates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Judgement {
    /// The agent says that the work is done, or has done a part of it: the gates decide.
    AskGates(Claimed),
    /// The gates are not asked.
    Settled(Ruling),
}

/// What an agent claims when the gates are asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Claimed {
    /// The task is done.
    Done,
    /// A part of a prompt loop is done, and it goes on.
    Part,
}

/// What the gates say of the work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// They do not refuse it.
    Passes {
        /// The gates that fail all the same, as they did before the run.
        still_failing: Vec<String>,
    },
    /// They do not, for this reason.
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

/// What becomes of an iteration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ruling {
    /// How the journal calls it.
    pub outcome: Outcome,
    /// What made the turn end.
    pub stop: StopReason,
    /// What becomes of the task.
    pub task: Fate,
    /// What the run does next.
    pub then: Then,
    /// What was the matter, in a sentence; empty when all went well. Where it is done, what is still not as it should be.
    pub reason: String,
}

impl Ruling {
    /// Adds a sentence to the reason.
    pub(crate) fn also(&mut self, sentence: &str) {
        if !self.reason.is_empty() {
            self.reason.push('\n');
        }
        self.reason.push_str(sentence);
    }
}

/// What becomes of the task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It is done.
    Done,
    /// It is pending again, and the attempt counts.
    Attempt,
    /// It has failed: no further attempt is worth it.
    GiveUp,
    /// It is pending again, the attempt does not count.
    Again,
    /// It is pending again, and all is well: what was counted before is forgotten.
    Progress,
}

/// What the run does after a settlement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Then {
    /// The next task.
    GoOn,
    /// Wait until what the user may use is filled up again.
    WaitForUsage {
        /// When that is, where the agent says so.
        resets_at: Option<Timestamp>,
    },
    /// Wait a little, longer each time.
    BackOff,
    /// It is over.
    Stop(StopRun),
}

/// Why a run is over before its tasks are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopRun {
    /// The person said so.
    Interrupt,
    /// The agent said so.
    FailurePromise,
    /// The agent cannot work: not logged in, no money.
    AgentUnusable,
    /// A gate cannot be started.
    GateNotStarted,
    /// A limit of the run was reached.
    Limit,
}

/// Decides what the end of a turn means.
#[must_use]
pub fn judge(facts: &Facts<'_>) -> Judgement {
    match of_the_end(facts) {
        Judgement::Settled(ruling) if facts.turn.no_room && ruling.task == Fate::Attempt => {
            Judgement::Settled(without_room(ruling))
        }
        judgement => judgement,
    }
}

/// What an agent could not do because the disk was full is not held against it, and its task is begun again.
fn without_room(ruling: Ruling) -> Ruling {
    let mut ruling = Ruling {
        outcome: Outcome::Interrupted,
        task: Fate::Again,
        ..ruling
    };
    ruling.also("The disk was full, so the attempt does not count.");
    ruling
}

fn of_the_end(facts: &Facts<'_>) -> Judgement {
    if let Some(cause) = facts.turn.cause {
        return Judgement::Settled(stopped(cause, facts));
    }
    match &facts.turn.end {
        TurnEnd::Finished => finished(facts),
        other => Judgement::Settled(broken_off(other, facts)),
    }
}

/// Decides what the gates mean for what the agent claims.
#[must_use]
pub fn judge_gates(facts: &Facts<'_>, claimed: Claimed, verdict: &Verdict) -> Ruling {
    let stop = match claimed {
        Claimed::Done => StopReason::TaskDone,
        Claimed::Part => StopReason::NoSigil,
    };
    let then = match facts.turn.control.promise {
        Some(Promise::Failure) => Then::Stop(StopRun::FailurePromise),
        Some(Promise::Complete) | None => Then::GoOn,
    };
    let (outcome, task) = match (claimed, verdict) {
        (Claimed::Done, Verdict::Passes { .. }) => (Outcome::Done, Fate::Done),
        (Claimed::Part, Verdict::Passes { .. }) => (Outcome::Done, Fate::Progress),
        (Claimed::Done, Verdict::Refused(_)) if facts.kind == TaskKind::Once => (Outcome::Retried, Fate::Attempt),
        (Claimed::Done | Claimed::Part, Verdict::Refused(_)) => (Outcome::Retried, Fate::Again),
    };
    Ruling {
        outcome,
        stop,
        task,
        then,
        reason: verdict.reason(),
    }
}

/// What becomes of a turn whose gates were broken off by the person.
#[must_use]
pub fn gates_interrupted() -> Ruling {
    interrupted(StopReason::Cancelled, Then::Stop(StopRun::Interrupt), "It was stopped.")
}

/// What becomes of a turn whose work had landed before the run was killed.
pub(crate) fn landed_before() -> Ruling {
    Ruling {
        outcome: Outcome::Done,
        stop: StopReason::TaskDone,
        task: Fate::Done,
        then: Then::GoOn,
        reason: String::new(),
    }
}

/// What becomes of a turn whose work cannot land, for this reason.
pub(crate) fn not_landed(stop: StopReason, why: &str) -> Ruling {
    Ruling {
        outcome: Outcome::Retried,
        ..failed(stop, why)
    }
}

/// What becomes of a turn whose work cannot be judged because a gate could not be started.
#[must_use]
pub fn gate_not_started(why: &str) -> Ruling {
    interrupted(StopReason::GateNotStarted, Then::Stop(StopRun::GateNotStarted), why)
}

/// What becomes of a task whose attempts have used what a task may use.
fn over_the_task_limit(said: &str) -> Ruling {
    Ruling {
        task: Fate::GiveUp,
        ..failed(StopReason::TaskLimit, said)
    }
}

/// It was stopped by ralph, whatever it said.
fn stopped(cause: StopCause, facts: &Facts<'_>) -> Ruling {
    let limits = &facts.limits;
    match cause {
        StopCause::Interrupt if facts.turn.guidance.is_some() => interrupted(
            StopReason::Cancelled,
            Then::Stop(StopRun::Interrupt),
            "It was stopped, with guidance.",
        ),
        StopCause::Interrupt => gates_interrupted(),
        StopCause::RalphDied => interrupted(
            StopReason::RalphDied,
            Then::GoOn,
            "ralph was killed while the agent worked.",
        ),
        StopCause::RunLimit => interrupted(
            StopReason::RunLimit,
            Then::Stop(StopRun::Limit),
            facts
                .turn
                .limit
                .as_deref()
                .unwrap_or("A limit of the run was reached while the agent worked."),
        ),
        StopCause::TaskLimit => {
            let said = facts.turn.limit.as_deref();
            over_the_task_limit(said.unwrap_or("The attempts at the task have used what a task may use."))
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

/// It came to its end.
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
            "" => "The agent said that it cannot be done.".to_owned(),
            reason => format!("The agent said that it cannot be done: {reason}"),
        };
        let mut ruling = failed(StopReason::TaskFailed, why);
        if control.promise == Some(Promise::Failure) {
            ruling.then = Then::Stop(StopRun::FailurePromise);
        }
        return Judgement::Settled(ruling);
    }
    Judgement::Settled(without_word_on_the_task(facts))
}

fn prompt_loop_finished(facts: &Facts<'_>) -> Judgement {
    let turn = facts.turn;
    match turn.control.promise {
        Some(Promise::Complete) => Judgement::AskGates(Claimed::Done),
        Some(Promise::Failure) => Judgement::Settled(without_word_on_the_task(facts)),
        None if !turn.spoke => Judgement::Settled(without_word_on_the_task(facts)),
        None => Judgement::AskGates(Claimed::Part),
    }
}

/// A normal end that says nothing of the assigned task.
fn without_word_on_the_task(facts: &Facts<'_>) -> Ruling {
    let turn = facts.turn;
    if turn.control.promise == Some(Promise::Failure) {
        return Ruling {
            then: Then::Stop(StopRun::FailurePromise),
            ..blocked(StopReason::FailurePromise, "The agent said that the run has to stop.")
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
        let why = format!("The agent spoke of {}, which was not its task.", others.join(", "));
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

/// It did not come to its end.
fn broken_off(end: &TurnEnd, facts: &Facts<'_>) -> Ruling {
    match end {
        TurnEnd::Refusal(why) => failed(StopReason::Refusal, told("The model refused", why)),
        TurnEnd::Crash(why) => failed(StopReason::Crash, told("The agent broke down", why)),
        TurnEnd::Garbage(why) => failed(
            StopReason::Garbage,
            told("What the agent printed cannot be understood", why),
        ),
        TurnEnd::OutputLimit => {
            let most = set("output_bytes", facts.limits.output_bytes.map(|bytes| bytes.to_string()));
            failed(
                StopReason::OutputLimit,
                format!("The agent printed more than {most} allows."),
            )
        }
        TurnEnd::ContextOverflow(_) if facts.overflowed_before => failed(
            StopReason::ContextOverflow,
            "The prompt was too long for the model, also with half the memory.",
        ),
        TurnEnd::ContextOverflow(_) => interrupted(
            StopReason::ContextOverflow,
            Then::GoOn,
            "The prompt was too long for the model; the next one has half the memory.",
        ),
        TurnEnd::TokenLimit => blocked(StopReason::TokenLimit, "The agent's answer was cut at its longest."),
        TurnEnd::TurnLimit => blocked(StopReason::TurnLimit, "The agent used up its steps."),
        TurnEnd::UsageLimit { resets_at, message } => interrupted(
            StopReason::UsageLimit,
            Then::WaitForUsage { resets_at: *resets_at },
            &told("The usage limit is reached", message),
        ),
        TurnEnd::Transient(why) => interrupted(
            StopReason::Transient,
            Then::BackOff,
            &told("The service failed for a moment", why),
        ),
        TurnEnd::Auth(why) => interrupted(
            StopReason::Auth,
            Then::Stop(StopRun::AgentUnusable),
            &told("The agent is not logged in, or its key is wrong", why),
        ),
        TurnEnd::Billing(why) => interrupted(
            StopReason::Billing,
            Then::Stop(StopRun::AgentUnusable),
            &told("The agent's account cannot pay", why),
        ),
        // Nobody here stopped it, so somebody else did.
        TurnEnd::Stopped | TurnEnd::Finished => failed(StopReason::Crash, "The agent was stopped from outside."),
    }
}

/// A limit as it is set; its key alone where it is not set any more.
fn set(key: &str, value: Option<String>) -> String {
    match value {
        Some(value) => format!("`[limits] {key} = {value}`"),
        None => format!("`[limits] {key}`"),
    }
}

fn interrupted(stop: StopReason, then: Then, reason: &str) -> Ruling {
    Ruling {
        outcome: Outcome::Interrupted,
        stop,
        task: Fate::Again,
        then,
        reason: reason.to_owned(),
    }
}

fn failed(stop: StopReason, reason: impl Into<String>) -> Ruling {
    Ruling {
        outcome: Outcome::Failed,
        stop,
        task: Fate::Attempt,
        then: Then::GoOn,
        reason: reason.into(),
    }
}

fn blocked(stop: StopReason, reason: impl Into<String>) -> Ruling {
    Ruling {
        outcome: Outcome::Blocked,
        ..failed(stop, reason)
    }
}

fn told(what: &str, why: &str) -> String {
    match why.trim().trim_end_matches('.') {
        "" => format!("{what}."),
        why => format!("{what}: {why}."),
    }
}

#[cfg(test)]
#[path = "settle_tests.rs"]
mod tests;
