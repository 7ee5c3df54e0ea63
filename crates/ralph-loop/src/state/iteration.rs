//! An iteration on its way from the claim to the settlement: what is known of it at each step.

use ralph_model::{Evidence, FeatureId, Outcome, RunId, TaskId, TaskKind, Unverified, UnverifiedReason, Usage};
use ralph_store::{Claim, EvidenceChange, Pause, PauseChange};

use crate::basis::names;
use crate::gates::{Baseline, Changed, GateResult};
use crate::settle::Ruling;
use crate::strategy::Chosen;
use crate::summary::{TurnSummary, Verification};
use serde::{Deserialize, Serialize};

/// The iteration that a run is in, or that a dead run was in.
#[derive(Debug, Clone, PartialEq)]
pub struct Current {
    /// The run; another than this one where a dead run's is finished.
    pub run: RunId,
    /// Which iteration of it.
    pub iteration: u32,
    /// The task.
    pub task: TaskId,
    /// The task's title.
    pub task_title: String,
    /// The task's feature.
    pub feature: Option<FeatureId>,
    /// How the task comes to its end.
    pub kind: TaskKind,
    /// The commands that must pass for the task, beside the gates.
    pub checks: Vec<String>,
    /// Which attempt at it.
    pub attempt: u32,
    /// The number of the claim.
    pub fence: u64,
    /// The random word in the environment of everything that the agent and its gates start.
    pub marker: String,
    /// The model.
    pub model: Option<String>,
    /// Why that model.
    pub rationale: String,
    /// Whether an earlier prompt of this task was too long already; known once it is prepared.
    pub overflowed_before: bool,
    /// What earlier attempts at the task have used since it was last reset; known once it is prepared.
    pub spent_before: Usage,
    /// What the gates of a dead run could already say, if that is on record; none in a run of our own.
    pub baseline: Option<Baseline>,
    /// What the files were before, as the driver keeps it; known once it is prepared.
    pub before: Option<String>,
    /// Where the work is done.
    pub place: Place,
    /// The commit of this iteration's work that a run landed before it was killed.
    pub landed: Option<LandedWork>,
    /// The last pause of the agent, when it was claimed.
    pub pause: Option<Pause>,
    /// The same of the verifier, where that is another agent; of what a dead run has left, of whoever looks at it now.
    pub verifier_pause: Option<Pause>,
}

impl Current {
    /// Whether this is the first attempt at a task that has checks.
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
    /// In the project itself.
    #[default]
    Project,
    /// In a checkout of the task's own.
    Checkout,
}

/// Work that has landed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LandedWork {
    /// The commit.
    pub commit: String,
    /// The reference that it landed on.
    pub base: String,
    /// What confirmed it.
    pub confirmed: Confirmed,
}

/// What confirmed work that is about to land.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confirmed {
    /// The evidence.
    pub evidence: Evidence,
    /// Why a person has to review it all the same.
    pub unverified: Option<UnverifiedReason>,
}

/// What a dead run has left.
#[derive(Debug, Clone, PartialEq)]
pub enum Left {
    /// A claim; no agent was started.
    Claimed(Box<Current>),
    /// A turn that is over, or whose end nobody saw.
    Ended(Box<Current>, Box<TurnSummary>),
}

/// Whether the gates are run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gates {
    /// They are.
    Run,
    /// They are not asked.
    Skip,
}

/// What has to be known to see what a turn has left on disk.
#[derive(Debug, Clone, PartialEq)]
pub struct ToExamine {
    /// The iteration.
    pub current: Box<Current>,
    /// The files that the agent's write calls named.
    pub writes: Vec<String>,
    /// Whether the gates are asked.
    pub gates: Gates,
    /// What they said before.
    pub baseline: Baseline,
}

/// What a turn has left on disk, and what the gates say.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Examined {
    /// The files that changed, in order.
    pub files: Vec<String>,
    /// Whether anything changed that counts as work.
    pub changed_something: bool,
    /// Whether an earlier attempt at the task, since it was last reset, changed anything.
    pub changed_before: bool,
    /// What changed on which the evidence rests: gates, their scripts, configuration.
    pub basis_changed: Vec<EvidenceChange>,
    /// Why there may be more files.
    pub unseen: Option<String>,
    /// What the gates say; empty when they were not asked.
    pub gates: Vec<GateResult>,
    /// Why a guardrail refuses the work in the project itself; the commit of a checkout is judged when it is made.
    pub denied: Option<String>,
}

/// A settlement, drawn up.
#[derive(Debug, Clone, PartialEq)]
pub struct Draft {
    /// The iteration.
    pub current: Box<Current>,
    /// How the turn ended.
    pub turn: Box<TurnSummary>,
    /// What becomes of it.
    pub ruling: Ruling,
    /// The files that changed.
    pub files: Vec<String>,
    /// Why there may be more.
    pub unseen: Option<String>,
    /// Whether anything changed that counts as work.
    pub changed: Changed,
    /// Whether an earlier attempt at the task, since it was last reset, changed anything.
    pub changed_before: bool,
    /// What changed on which the evidence rests: gates, their scripts, configuration.
    pub basis_changed: Vec<EvidenceChange>,
    /// Why a person has to review the task that is done; none when nobody has to.
    pub unverified: Option<Unverified>,
    /// What the gates say.
    pub gates: Vec<GateResult>,
    /// What the gates may still say from now on.
    pub baseline: Option<Baseline>,
    /// The commit that was made, or why there is none; none when none was wanted or needed.
    pub commit: Option<Result<String, String>>,
    /// The reference that the commit has landed on.
    pub landed_on: Option<String>,
    /// How often the base has moved before the work could land.
    pub moves: u32,
    /// What a second session said of the work; none when none was asked.
    pub verification: Option<Verification>,
    /// What was ruled before that session, where it was broken off and another one may look.
    pub unlooked: Option<Ruling>,
    /// What sessions before it used, whose look came to nothing.
    pub lost_looks: LostLooks,
    /// What becomes of the agent's pause.
    pub pause: PauseChange,
    /// What becomes of the verifier's, where that is another agent.
    pub verifier_pause: PauseChange,
}

/// What looks at finished work used that were broken off, or ended on a full disk, and were done again.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct LostLooks {
    /// What they used.
    pub usage: Usage,
    /// How long they took.
    pub duration_ms: u64,
}

impl Draft {
    /// What confirms the work; of an iteration that is retried, what refused it.
    #[must_use]
    pub fn evidence(&self) -> Evidence {
        if let Some(landed) = &self.current.landed {
            return landed.confirmed.evidence;
        }
        let verifier = self.verification.as_ref();
        if self.ruling.outcome == Outcome::Retried {
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

    /// Why the task would be unverified if it were done now; none when it would not be.
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

    /// What the agent of this task has changed on which the evidence rests, and not that of an earlier one.
    pub(crate) fn own_changes(&self) -> Vec<EvidenceChange> {
        let own = self
            .basis_changed
            .iter()
            .filter(|change| change.task == self.current.task);
        own.cloned().collect()
    }

    /// What the iteration used, the looks at its work included.
    #[must_use]
    pub fn usage(&self) -> Usage {
        self.turn.usage.and(self.usage_of_looks())
    }

    /// What the looks at its work used.
    #[must_use]
    pub fn usage_of_looks(&self) -> Usage {
        let looking = self.verification.as_ref().map(|found| found.usage);
        self.lost_looks.usage.and(looking.unwrap_or_default())
    }

    /// How long the looks at its work took.
    #[must_use]
    pub fn looking_ms(&self) -> u64 {
        let looking = self.verification.as_ref().map_or(0, |found| found.duration_ms);
        self.lost_looks.duration_ms.saturating_add(looking)
    }

    /// A look came to nothing; what it used counts all the same.
    pub(super) fn looked_in_vain(&mut self, found: &Verification) {
        let lost = &mut self.lost_looks;
        lost.usage = lost.usage.and(found.usage);
        lost.duration_ms = lost.duration_ms.saturating_add(found.duration_ms);
    }
}
