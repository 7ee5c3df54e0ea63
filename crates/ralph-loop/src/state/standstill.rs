//! The breaker: a task that goes in circles, changing nothing and failing in the same way, is given up before it has spent the
//! night and the money. So is the whole run where it is a prompt loop, or where the agent does not get as far as the gates,
//! whatever the task is.

use std::collections::BTreeSet;

use ralph_memory::capture::normalised;
use ralph_model::{Outcome, TaskKind, count, first_line};

use super::{Draft, State};
use crate::gates::{Changed, GateResult};
use crate::settle::Fate;

/// How many rounds of a prompt that ended well may change nothing, whatever the limit is: one that only looks, waits for
/// something or pushes what is there is no standstill yet.
const QUIET_ROUNDS: u32 = 3;

/// What comes back again and again while nothing changes on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standstill {
    /// How often in a row.
    pub times: u32,
    /// What was the matter the last time, in a line.
    pub reason: String,
    signature: Signature,
}

impl Standstill {
    /// What has come back once more, or for the first time.
    fn after(before: Option<Self>, draft: &Draft) -> Self {
        let signature = Signature::of(draft);
        let before = before.filter(|before| before.signature == signature);
        Self {
            times: before.map_or(0, |before| before.times).saturating_add(1),
            reason: first_line(&draft.ruling.reason).to_owned(),
            signature,
        }
    }

    /// It in a sentence.
    #[must_use]
    pub fn sentence(&self) -> String {
        let times = count(self.times as usize, "iteration", "iterations in a row");
        if self.signature.outcome == Outcome::Done {
            return format!(
                "There is no progress: {times} ended well, but changed nothing on disk, and the agent did not say that \
                 everything is complete."
            );
        }
        let reason = self.reason.trim_end_matches(['.', ':']);
        format!(
            "There is no progress: {times} changed nothing on disk and ended in the same way. The last one: {reason}."
        )
    }
}

/// By what two iterations are the same: how they ended, and what was wrong, without what differs from time to time.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Signature {
    outcome: Outcome,
    stop: &'static str,
    failures: BTreeSet<String>,
}

impl Signature {
    fn of(draft: &Draft) -> Self {
        let red = draft.gates.iter().filter(|gate| !gate.is_green());
        let mut failures: BTreeSet<String> = red.flat_map(gate_failures).collect();
        if failures.is_empty() {
            failures = draft.ruling.reason.lines().map(normalised).collect();
        }
        Self {
            outcome: draft.ruling.outcome,
            stop: draft.ruling.stop.word(),
            failures,
        }
    }
}

/// What a gate shows, each with the gate's name; one that shows nothing still is red.
fn gate_failures(gate: &GateResult) -> Vec<String> {
    let shown = gate.failures.iter().map(|line| format!("{}: {line}", gate.command));
    std::iter::once(gate.command.clone()).chain(shown).collect()
}

/// What failed in a row in the attempts at a task.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Failing {
    attempts: u32,
    /// Those of them that changed nothing and failed in the same way.
    standstill: Option<Standstill>,
}

impl State {
    /// Gives a task up whose attempts bring nothing. Other tasks go on.
    pub(super) fn give_up_if_stuck(&mut self, draft: &mut Draft) {
        let is_own = draft.current.run == self.plan.run && draft.current.kind == TaskKind::Once;
        if !is_own || draft.ruling.outcome.is_failure().is_none() {
            return;
        }
        let before = self.failing.remove(&draft.current.task).unwrap_or_default();
        if draft.ruling.task != Fate::Attempt {
            return;
        }
        if let Some(said) = self.task_used_up(&draft.current, draft.usage()) {
            draft.ruling.task = Fate::GiveUp;
            draft.ruling.also(&format!("Gave up. {said}"));
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
            draft.ruling.task = Fate::GiveUp;
            draft.ruling.also(&format!(
                "Gave up: {} changed nothing on disk and failed in the same way.",
                count(attempts as usize, "attempt", "attempts in a row")
            ));
        } else if limits.consecutive_failures.is_some_and(|most| attempts >= most) {
            draft.ruling.task = Fate::GiveUp;
            draft.ruling.also(&format!(
                "Gave up: {} failed.",
                count(attempts as usize, "attempt", "attempts in a row")
            ));
        }
        let failing = Failing { attempts, standstill };
        self.failing.insert(draft.current.task.clone(), failing);
    }

    /// Counts iterations that bring nothing: failures, and rounds of a prompt that end well. A task that is done, a change
    /// on disk or another end begins anew; what was interrupted says nothing.
    pub(super) fn count_standstill(&mut self, draft: &Draft) {
        if draft.ruling.outcome.is_failure().is_none() {
            return;
        }
        if draft.ruling.task == Fate::Done || draft.changed == Changed::Something {
            self.standstill = None;
            return;
        }
        if draft.current.kind == TaskKind::Once && !draft.gates.is_empty() {
            // The work did not pass, which says nothing about other tasks.
            return;
        }
        self.standstill = Some(Standstill::after(self.standstill.take(), draft));
    }

    /// What has come back so often that the run has to end.
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
