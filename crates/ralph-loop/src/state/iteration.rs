//! The data of an iteration, from the claim to the settlement.

use ralph_model::{Evidence, FeatureId, Outcome, RunId, TaskId, TaskKind, Unverified, UnverifiedReason, Usage};
use ralph_store::{Claim, EvidenceChange, Pause, PauseChange};

use crate::basis::names;
use crate::gates::{Baseline, Changed, GateResult};
use crate::settle::SettlementDecision;
use crate::strategy::Chosen;
use crate::summary::{TurnSummary, Verification};
use serde::{Deserialize, Serialize};

/// The current iteration of a run, or that of a dead run.
#[derive(Debug, Clone, PartialEq)]
pub struct Current {
    /// Not the current run when a dead run's iteration is finished.
    pub run: RunId,
    pub iteration: u32,
    pub task: TaskId,
    pub task_title: String,
    pub feature: Option<FeatureId>,
    pub kind: TaskKind,
    /// The commands that must pass for the task, in addition to the gates.
    pub checks: Vec<String>,
    pub attempt: u32,
    /// The fencing token of the claim.
    pub fence: u64,
    /// A random value in the environment of every process that the agent and its gates start.
    pub marker: String,
    pub model: Option<String>,
    pub rationale: String,
    /// Whether an earlier prompt of this task was too long; set by the preparation.
    pub overflowed_before: bool,
    /// What earlier attempts used since the task was last reset; set by the preparation.
    pub spent_before: Usage,
    /// The recorded baseline of a dead run; `None` in a run of our own.
    pub baseline: Option<Baseline>,
    /// The state before the turn, as JSON of the driver; set by the preparation.
    pub before: Option<String>,
    pub place: Place,
    /// The commit of this work that a run landed before it was killed.
    pub landed: Option<LandedWork>,
    /// The agent's last pause at the time of the claim.
    pub pause: Option<Pause>,
    /// The verifier's last pause, if it is another agent; for a leftover of a dead run, that of the current verifier.
    pub verifier_pause: Option<Pause>,
}

impl Current {
    pub(super) fn is_first_of_checks(&self) -> bool {
        self.attempt == 1 && !self.checks.is_empty()
    }

    pub(super) fn of(run: &RunId, iteration: u32, claim: &Claim, chosen: Chosen) -> Self {
        Self {
            run: run.clone(),
            iteration,
            task: claim.task.id.clone(),
            task_title: claim.task.title.clone(),
            feature: claim.task.feature.clone(),
            kind: claim.task.kind,
            checks: claim.task.checks.clone(),
            attempt: claim.attempt,
            fence: claim.fence,
            marker: claim.marker.clone(),
            model: chosen.model,
            rationale: chosen.rationale,
            overflowed_before: false,
            spent_before: Usage::default(),
            baseline: None,
            before: None,
            place: Place::Project,
            landed: None,
            pause: claim.pause.clone(),
            verifier_pause: claim.verifier_pause.clone(),
        }
    }
}

/// Where the work of an iteration is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Place {
    #[default]
    Project,
    /// In the task's own checkout.
    Checkout,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LandedWork {
    pub commit: String,
    /// The reference it landed on.
    pub base: String,
    pub confirmed: Confirmed,
}

/// What confirmed the work that is about to land.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confirmed {
    pub evidence: Evidence,
    /// Why a person must still review it.
    pub unverified: Option<UnverifiedReason>,
}

/// What a dead run left behind.
#[derive(Debug, Clone, PartialEq)]
pub enum Leftover {
    /// A claim whose agent was not started.
    Claimed(Box<Current>),
    /// A turn that ended, or whose end was not seen.
    Ended(Box<Current>, Box<TurnSummary>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gates {
    Run,
    Skip,
}

/// The input of an examination.
#[derive(Debug, Clone, PartialEq)]
pub struct ToExamine {
    pub current: Box<Current>,
    /// The files named in the agent's write calls.
    pub writes: Vec<String>,
    pub gates: Gates,
    pub baseline: Baseline,
}

/// What a turn changed on disk, and the gate results.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Examined {
    pub files: Vec<String>,
    /// Whether anything changed that counts as work.
    pub changed_something: bool,
    /// Whether an earlier attempt changed anything since the task was last reset.
    pub changed_before: bool,
    /// Changes to the basis of the evidence: gates, their scripts, configuration.
    pub basis_changed: Vec<EvidenceChange>,
    /// Why files may be missing.
    pub unseen: Option<String>,
    /// Empty if the gates did not run.
    pub gates: Vec<GateResult>,
    /// Why a guardrail refuses work in the project itself; work in a checkout is checked when it is committed.
    pub denied: Option<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct PendingSettlement {
    pub current: Box<Current>,
    pub turn: Box<TurnSummary>,
    pub decision: SettlementDecision,
    pub files: Vec<String>,
    /// Why files may be missing.
    pub unseen: Option<String>,
    /// Whether anything changed that counts as work.
    pub changed: Changed,
    /// Whether an earlier attempt changed anything since the task was last reset.
    pub changed_before: bool,
    /// Changes to the basis of the evidence: gates, their scripts, configuration.
    pub basis_changed: Vec<EvidenceChange>,
    /// Why the task needs a review; `None` if it does not.
    pub unverified: Option<Unverified>,
    pub gates: Vec<GateResult>,
    /// The baseline from now on.
    pub baseline: Option<Baseline>,
    /// The commit, or why there is none; `None` if none was wanted or needed.
    pub commit: Option<Result<String, String>>,
    /// The reference the commit landed on.
    pub landed_on: Option<String>,
    /// How often the base moved before the work could land.
    pub moves: u32,
    /// The verifier's result; `None` if it did not run.
    pub verification: Option<Verification>,
    /// The decision before the verifier ran, kept if it was aborted and may run again.
    pub decision_before_verifier: Option<SettlementDecision>,
    /// What earlier verifier sessions used whose results were discarded.
    pub discarded: DiscardedVerifications,
    /// The change to the agent's pause.
    pub pause: PauseChange,
    /// The change to the verifier's pause, if it is another agent.
    pub verifier_pause: PauseChange,
}

/// What verifier sessions used that were aborted, or ended on a full disk, and ran again.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct DiscardedVerifications {
    pub usage: Usage,
    pub duration_ms: u64,
}

impl PendingSettlement {
    /// What confirms the work, or, for a retried iteration, what refused it.
    #[must_use]
    pub fn evidence(&self) -> Evidence {
        if let Some(landed) = &self.current.landed {
            return landed.confirmed.evidence;
        }
        let verifier = self.verification.as_ref();
        if self.decision.outcome == Outcome::Retried {
            let verifier_refused = verifier.is_some_and(|found| !found.passes());
            return Evidence::of(self.refusing_gate().is_some(), verifier_refused);
        }
        let gate_passed = self.gates.iter().any(GateResult::is_green);
        Evidence::of(gate_passed, verifier.is_some_and(Verification::passes))
    }

    /// The gate that refused the work.
    #[must_use]
    pub fn refusing_gate(&self) -> Option<&GateResult> {
        self.baseline.as_ref()?.refusing(&self.gates, self.changed)
    }

    /// The words of an agent or a program that the reason quotes.
    pub(crate) fn quoted(&self) -> &str {
        self.refusing_gate().map_or(&self.decision.quoted, |gate| &gate.why)
    }

    /// Why the task would be unverified if it were done now.
    pub(super) fn lacks_evidence(&self) -> Option<Unverified> {
        if !self.basis_changed.is_empty() {
            Some(Unverified::EvidenceChanged(
                names(&self.basis_changed).into_iter().collect(),
            ))
        } else if self.evidence() == Evidence::None {
            Some(Unverified::NoEvidence)
        } else if self.changed == Changed::Nothing && !self.changed_before {
            Some(Unverified::NothingChanged)
        } else {
            None
        }
    }

    /// Basis changes made by the agent of this task, not by earlier ones.
    pub(crate) fn own_changes(&self) -> Vec<EvidenceChange> {
        let own = self
            .basis_changed
            .iter()
            .filter(|change| change.task == self.current.task);
        own.cloned().collect()
    }

    /// What the iteration used, including verification.
    #[must_use]
    pub fn usage(&self) -> Usage {
        self.turn.usage.and(self.verifier_usage())
    }

    #[must_use]
    pub fn verifier_usage(&self) -> Usage {
        let current = self.verification.as_ref().map(|found| found.usage);
        self.discarded.usage.and(current.unwrap_or_default())
    }

    /// How long the session, the gates and the verifier took.
    pub(crate) fn duration_ms(&self) -> u64 {
        let gates: u64 = self.gates.iter().map(|gate| gate.duration_ms).sum();
        let turn = self.turn.duration_ms.saturating_add(gates);
        turn.saturating_add(self.verifier_ms())
    }

    #[must_use]
    pub fn verifier_ms(&self) -> u64 {
        let current = self.verification.as_ref().map_or(0, |found| found.duration_ms);
        self.discarded.duration_ms.saturating_add(current)
    }

    /// Discards a verification; what it used still counts.
    pub(super) fn discard_verification(&mut self, found: &Verification) {
        let lost = &mut self.discarded;
        lost.usage = lost.usage.and(found.usage);
        lost.duration_ms = lost.duration_ms.saturating_add(found.duration_ms);
    }
}
