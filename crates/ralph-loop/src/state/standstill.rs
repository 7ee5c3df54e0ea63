//! The breaker: a run that goes in circles, changing nothing and failing in the same way, ends before it has spent the night
//! and the money.

use std::collections::BTreeSet;

use ralph_model::{Outcome, count, first_line};

use super::{Draft, State};
use crate::gates::{Changed, GateResult, normalised};

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
    /// It in a sentence.
    #[must_use]
    pub fn sentence(&self) -> String {
        let times = count(self.times as usize, "iteration", "iterations in a row");
        let reason = self.reason.trim_end_matches(['.', ':']);
        format!(
            "There is no progress: {times} changed nothing on disk and ended in the same way. The last one: {reason}."
        )
    }
}

/// By what two failures are the same: how they ended, and what was wrong, without what differs from time to time.
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

impl State {
    /// Counts iterations that bring nothing. What is done, a change on disk or another failure begins anew; what was
    /// interrupted says nothing.
    pub(super) fn count_standstill(&mut self, draft: &Draft) {
        match draft.ruling.outcome.is_failure() {
            None => return,
            Some(true) if draft.changed == Changed::Nothing => {}
            Some(_) => {
                self.standstill = None;
                return;
            }
        }
        let signature = Signature::of(draft);
        let before = self.standstill.take().filter(|before| before.signature == signature);
        self.standstill = Some(Standstill {
            times: before.map_or(0, |before| before.times).saturating_add(1),
            reason: first_line(&draft.ruling.reason).to_owned(),
            signature,
        });
    }

    /// What has come back so often that the run has to end.
    pub(super) fn open_breaker(&self) -> Option<Standstill> {
        let most = self.plan.limits.no_progress?;
        self.standstill.clone().filter(|standstill| standstill.times >= most)
    }
}
