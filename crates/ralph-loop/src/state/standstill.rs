//! The circuit breaker: gives up a task whose attempts change nothing and fail the same way. It ends the whole run for
//! a prompt loop, or if the agent never gets as far as the gates.

use std::collections::BTreeSet;

use ralph_memory::capture::normalised;
use ralph_model::{Outcome, TaskKind, count, first_line};

use super::{PendingSettlement, State};
use crate::gates::{Changed, GateResult};
use crate::settle::TaskTransition;

/// How many successful prompt-loop iterations may change nothing, whatever the limit: one that only reads, waits or
/// pushes is no standstill yet.
const QUIET_ROUNDS: u32 = 3;

/// Iterations that repeat without changing anything on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standstill {
    pub times: u32,
    /// The last reason, on one line.
    pub reason: String,
    signature: Signature,
}

impl Standstill {
    /// Counts one more repetition, or starts a new count.
    fn after(before: Option<Self>, draft: &PendingSettlement) -> Self {
        let signature = Signature::of(draft);
        let before = before.filter(|before| before.signature == signature);
        Self {
            times: before.map_or(0, |before| before.times).saturating_add(1),
            reason: first_line(&draft.decision.reason).to_owned(),
            signature,
        }
    }

    #[must_use]
    pub fn sentence(&self) -> String {
        let times = count(self.times as usize, "iteration", "iterations in a row");
        if self.signature.outcome == Outcome::Done {
            return format!(
                "No progress: {times} ended well but changed nothing on disk, and the agent did not report that \
                 everything is complete."
            );
        }
        let reason = self.reason.trim_end_matches(['.', ':']);
        format!("No progress: {times} changed nothing on disk and ended the same way. Last reason: {reason}.")
    }
}

/// What makes two iterations the same: how they ended and what failed, normalised.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Signature {
    outcome: Outcome,
    stop: &'static str,
    failures: BTreeSet<String>,
}

impl Signature {
    fn of(draft: &PendingSettlement) -> Self {
        let red = draft.gates.iter().filter(|gate| !gate.is_green());
        let mut failures: BTreeSet<String> = red.flat_map(gate_failures).collect();
        if failures.is_empty() {
            failures = draft.decision.reason.lines().map(normalised).collect();
        }
        Self {
            outcome: draft.decision.outcome,
            stop: draft.decision.stop.word(),
            failures,
        }
    }
}

/// The failures that a gate shows, with its name; a failing gate without output still counts.
fn gate_failures(gate: &GateResult) -> Vec<String> {
    let shown = gate.failures.iter().map(|line| format!("{}: {line}", gate.command));
    std::iter::once(gate.command.clone()).chain(shown).collect()
}

/// Consecutive failed attempts at a task.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Failing {
    attempts: u32,
    /// Those that changed nothing and failed the same way.
    standstill: Option<Standstill>,
}

impl State {
    /// Gives up a task whose attempts make no progress. Other tasks go on.
    pub(super) fn give_up_if_stuck(&mut self, draft: &mut PendingSettlement) {
        let is_own = draft.current.run == self.plan.run && draft.current.kind == TaskKind::Once;
        if !is_own || draft.decision.outcome.is_failure().is_none() {
            return;
        }
        let before = self.failing.remove(&draft.current.task).unwrap_or_default();
        if draft.decision.task != TaskTransition::Attempt {
            return;
        }
        if let Some(reached) = self.task_used_up(&draft.current, draft.usage()) {
            draft.decision.task = TaskTransition::GiveUp;
            draft.decision.also(&format!("Gave up. {reached}"));
            return;
        }
        let standstill = match draft.changed {
            Changed::Nothing => Some(Standstill::after(before.standstill, draft)),
            Changed::Something => None,
        };
        let attempts = before.attempts.saturating_add(1);
        let limits = &self.plan.limits;
        let is_stuck = |most: u32| standstill.as_ref().is_some_and(|standstill| standstill.times >= most);
        if limits.no_progress.is_some_and(is_stuck) {
            draft.decision.task = TaskTransition::GiveUp;
            draft.decision.also(&format!(
                "Gave up: {} changed nothing on disk and failed the same way.",
                count(attempts as usize, "attempt", "attempts in a row")
            ));
        } else if limits.consecutive_failures.is_some_and(|most| attempts >= most) {
            draft.decision.task = TaskTransition::GiveUp;
            draft.decision.also(&format!(
                "Gave up: {} failed.",
                count(attempts as usize, "attempt", "attempts in a row")
            ));
        }
        let failing = Failing { attempts, standstill };
        self.failing.insert(draft.current.task.clone(), failing);
    }

    /// Counts iterations without progress: failures, and prompt-loop iterations that end well. A finished task, a
    /// change on disk or a different end resets the count; interrupted iterations are ignored.
    pub(super) fn count_standstill(&mut self, draft: &PendingSettlement) {
        if draft.decision.outcome.is_failure().is_none() {
            return;
        }
        if draft.decision.task == TaskTransition::Done || draft.changed == Changed::Something {
            self.standstill = None;
            return;
        }
        if draft.current.kind == TaskKind::Once && !draft.gates.is_empty() {
            // Failed work says nothing about other tasks.
            return;
        }
        self.standstill = Some(Standstill::after(self.standstill.take(), draft));
    }

    /// The standstill that ends the run, if it has repeated too often.
    pub(super) fn open_breaker(&self) -> Option<Standstill> {
        let most = self.plan.limits.no_progress?;
        let standstill = self.standstill.as_ref()?;
        let most = match standstill.signature.outcome {
            Outcome::Done => most.max(QUIET_ROUNDS),
            _ => most,
        };
        (standstill.times >= most).then(|| standstill.clone())
    }
}
