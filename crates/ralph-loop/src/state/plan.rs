//! What does not change in a run: what it may do, who looks at its work, and how long it waits.

use std::time::Duration;

use ralph_model::config::{Commit, Limits, StrategyName, WhenUnverified};
use ralph_model::{RunId, TaskId};

use super::Place;
use crate::guide::Asking;
use crate::rules::Rules;

/// What does not change in a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// The run.
    pub run: RunId,
    /// The models from the weakest to the strongest.
    pub models: Vec<String>,
    /// The model that the person asked for.
    pub model: Option<String>,
    /// How a model is chosen.
    pub strategy: StrategyName,
    /// From how many failures in a row cost-optimized takes the strongest model.
    pub escalate_after: Option<u32>,
    /// The limits.
    pub limits: Limits,
    /// Where tasks are worked on.
    pub place: Place,
    /// What is committed in the project itself.
    pub commit: Commit,
    /// Whether there are gates.
    pub has_gates: bool,
    /// Who looks at work that the gates let pass.
    pub verifier: WhoVerifies,
    /// What becomes of a task that was reported done and is unverified.
    pub unverified: WhenUnverified,
    /// How long waits are.
    pub pace: Pace,
    /// Whether the first iteration heeds a pause of the agent.
    pub first_try: FirstTry,
    /// Whether the person can be asked.
    pub asking: Asking,
    /// Where the chance in waits comes from.
    pub seed: u64,
    /// The rules of guardrails.
    pub rules: Rules,
    /// The one task that the run is about.
    pub only_task: Option<TaskId>,
}

/// Who looks at work that the gates let pass, before it is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WhoVerifies {
    /// Nobody.
    #[default]
    Nobody,
    /// A session of the agent that did it.
    SameAgent,
    /// A session of another agent.
    Another,
}

/// When the first agent of a run is started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FirstTry {
    /// When a pause that an earlier run has met is over.
    #[default]
    AfterThePause,
    /// At once. A pause that this run meets itself is heeded.
    AtOnce,
}

/// How long a run waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    /// For another run that holds a task.
    pub busy: Duration,
    /// After the first failure of the service; then twice as long each time, up to sixty times.
    pub transient: Duration,
    /// For a usage limit whose end nobody tells; then twice as long each time, up to twelve times.
    pub usage: Duration,
    /// How far runs that wait for the same usage limit start apart, at most.
    pub spread: Duration,
    /// How often a wait looks at the clock: that of the wall may have jumped, and somebody may watch it.
    pub look: Duration,
    /// How often to try again what could not be written because the disk was full.
    pub room: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            busy: Duration::from_secs(2),
            transient: Duration::from_secs(5),
            usage: Duration::from_mins(5),
            spread: Duration::from_secs(30),
            look: Duration::from_secs(30),
            room: Duration::from_secs(2),
        }
    }
}

impl Pace {
    pub(super) fn back_off(&self, doublings: u32) -> Duration {
        self.transient
            .saturating_mul(1 << doublings.min(20))
            .min(self.transient * 60)
    }

    pub(super) fn usage_wait(&self, doublings: u32) -> Duration {
        self.usage.saturating_mul(1 << doublings.min(20)).min(self.usage * 12)
    }
}
