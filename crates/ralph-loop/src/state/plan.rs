//! The settings of a run that do not change: limits, verifier, wait times.

use std::time::Duration;

use ralph_model::config::{Commit, Limits, StrategyName, WhenUnverified};
use ralph_model::{RunId, TaskId};

use super::Place;
use crate::guide::Attendance;
use crate::rules::Rules;

#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    pub run: RunId,
    /// The models, weakest first.
    pub models: Vec<String>,
    /// The model the user asked for.
    pub model: Option<String>,
    pub strategy: StrategyName,
    /// After this many consecutive failures, cost-optimized uses the strongest model.
    pub escalate_after: Option<u32>,
    pub limits: Limits,
    pub place: Place,
    /// What to commit in the project itself.
    pub commit: Commit,
    pub has_gates: bool,
    pub verifier: VerifierKind,
    /// What happens to a task that was reported done but is unverified.
    pub unverified: WhenUnverified,
    pub wait_times: WaitTimes,
    /// Whether the first iteration respects a pause of the agent.
    pub first_try: FirstTry,
    pub attendance: Attendance,
    /// Seeds the jitter of waits.
    pub seed: u64,
    pub rules: Rules,
    /// The only task of the run, if it has just one.
    pub only_task: Option<TaskId>,
}

/// Who verifies work that passed the gates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum VerifierKind {
    #[default]
    None,
    /// Another session of the same agent.
    SameAgent,
    OtherAgent,
}

/// When the first agent of a run starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FirstTry {
    /// After a pause that an earlier run met.
    #[default]
    AfterThePause,
    /// Immediately. Pauses that this run meets itself are respected.
    AtOnce,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WaitTimes {
    /// For another run that has claimed a task.
    pub busy: Duration,
    /// After the first service failure; doubles each time, up to 60 times this.
    pub transient: Duration,
    /// For a usage limit with unknown end; doubles each time, up to 12 times this.
    pub usage: Duration,
    /// The maximum jitter between runs that wait for the same usage limit.
    pub spread: Duration,
    /// How often a wait checks the clock, since the wall clock may jump and the user may be watching.
    pub clock_check: Duration,
    /// How often to retry a write while the disk is full.
    pub disk_full: Duration,
}

impl Default for WaitTimes {
    fn default() -> Self {
        Self {
            busy: Duration::from_secs(2),
            transient: Duration::from_secs(5),
            usage: Duration::from_mins(5),
            spread: Duration::from_secs(30),
            clock_check: Duration::from_secs(30),
            disk_full: Duration::from_secs(2),
        }
    }
}

impl WaitTimes {
    pub(super) fn back_off(&self, doublings: u32) -> Duration {
        self.transient
            .saturating_mul(1 << doublings.min(20))
            .min(self.transient * 60)
    }

    pub(super) fn usage_wait(&self, doublings: u32) -> Duration {
        self.usage.saturating_mul(1 << doublings.min(20)).min(self.usage * 12)
    }
}
