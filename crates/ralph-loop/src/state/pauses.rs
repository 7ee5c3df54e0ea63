//! Waits for other runs, and for the end of an agent's pause.
//!
//! The settlement that meets a pause records it, and the next claim returns it. So pauses met by this run, an earlier
//! run or another run are all handled the same way.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use ralph_model::{Entropy, StopReason};
use ralph_store::{NewPause, Pause, PauseChange, PauseReason};

use super::phase::{Phase, StopClaiming, TimePoint, Waiting};
use super::{Effect, End, FirstTry, Notice, PauseWait, Pauses, PendingSettlement, State, VerifierKind};
use crate::settle::Then;

/// How many consecutive service failures end a run.
pub(super) const MAX_TRANSIENTS: u32 = 8;

/// A usage limit that ends later than this is treated as a reporting error.
const MAX_AHEAD: SignedDuration = SignedDuration::from_hours(8 * 24);

/// A pause that ended longer ago than this no longer counts as consecutive.
const PAST_AFTER: SignedDuration = SignedDuration::from_hours(1);

/// How often a waiting run checks whether another run has lifted the pause.
const ASK_EVERY: Duration = Duration::from_secs(60);

impl State {
    pub(super) fn claim(&mut self) -> Vec<Effect> {
        self.phase = Phase::Claiming;
        let pauses = match (&self.waited, self.plan.first_try) {
            (_, FirstTry::AtOnce) if self.iterations == 0 => Pauses::Ignored,
            (Some(waited), _) => Pauses::HeededBut(waited.clone()),
            (None, _) => Pauses::Heeded,
        };
        vec![Effect::Claim {
            iteration: self.iterations + 1,
            pauses,
        }]
    }

    /// The pause changes after an iteration: for the agent, and for the verifier if it is another agent.
    pub(super) fn pauses_after(&mut self, draft: &PendingSettlement, now: Timestamp) -> (PauseChange, PauseChange) {
        let Some(found) = draft.verification.as_ref().filter(|_| self.is_verified_by_another()) else {
            return (self.pause_after(draft, now), PauseChange::Keep);
        };
        // An agent whose work is verified finished its turn.
        let own = match self.is_of_dead_run(draft) {
            true => PauseChange::Keep,
            false => PauseChange::Lift,
        };
        let verifiers = match &draft.decision.then {
            Then::WaitForUsage { resets_at } => self.pause_for_usage(draft, *resets_at, now),
            Then::BackOff => self.pause_for_service(draft, now),
            _ if found.was_answered() => PauseChange::Lift,
            _ => PauseChange::Keep,
        };
        (own, verifiers)
    }

    fn is_verified_by_another(&self) -> bool {
        self.plan.verifier == VerifierKind::OtherAgent
    }

    /// Whether the service has failed so often in a row that the run ends.
    pub(super) fn gives_up(&self, draft: &PendingSettlement) -> bool {
        let change = match &draft.verification {
            Some(_) if self.is_verified_by_another() => &draft.verifier_pause,
            _ => &draft.pause,
        };
        *change == PauseChange::Lift
    }

    /// The recorded pause of the agent that worked last.
    fn known_pause<'a>(&self, draft: &'a PendingSettlement) -> Option<&'a Pause> {
        match &draft.verification {
            Some(_) if self.is_verified_by_another() => draft.current.verifier_pause.as_ref(),
            _ => draft.current.pause.as_ref(),
        }
    }

    fn pause_after(&mut self, draft: &PendingSettlement, now: Timestamp) -> PauseChange {
        match &draft.decision.then {
            Then::WaitForUsage { resets_at } => self.pause_for_usage(draft, *resets_at, now),
            Then::BackOff => self.pause_for_service(draft, now),
            // The record at the start of a dead run's turn is unknown.
            _ if self.is_of_dead_run(draft) => PauseChange::Keep,
            _ if has_answered(draft.decision.stop) => PauseChange::Lift,
            _ => PauseChange::Keep,
        }
    }

    fn pause_for_usage(&self, draft: &PendingSettlement, resets_at: Option<Timestamp>, now: Timestamp) -> PauseChange {
        // A reset time reported to a dead run may have passed hours ago.
        if self.is_of_dead_run(draft) && resets_at.is_some_and(|reset| reset <= now) {
            return PauseChange::Keep;
        }
        let times = times_in_a_row(self.known_pause(draft), PauseReason::UsageLimit, now);
        if let Some(reset) = resets_at.filter(|reset| *reset > now && reset.duration_since(now) <= MAX_AHEAD) {
            return new_pause(draft, PauseReason::UsageLimit, times, reset);
        }
        let guess = now
            .checked_add(self.plan.wait_times.usage_wait(times - 1))
            .unwrap_or(now);
        if self.limit_outlasts(draft, guess, now) {
            return PauseChange::Keep;
        }
        new_pause(draft, PauseReason::UsageLimit, times, guess)
    }

    fn pause_for_service(&mut self, draft: &PendingSettlement, now: Timestamp) -> PauseChange {
        let times = match times_in_a_row(self.known_pause(draft), PauseReason::Transient, now) {
            // The dead run should have ended then. This one may meet the last failure itself.
            MAX_TRANSIENTS.. if self.is_of_dead_run(draft) => MAX_TRANSIENTS - 1,
            // The next run starts counting from zero.
            MAX_TRANSIENTS.. => return PauseChange::Lift,
            times => times,
        };
        let most = self.plan.wait_times.back_off(times - 1);
        let time = most / 2 + self.jitter(most / 2);
        let until = now.checked_add(time).unwrap_or(now);
        if self.limit_outlasts(draft, until, now) {
            return PauseChange::Keep;
        }
        new_pause(draft, PauseReason::Transient, times, until)
    }

    fn is_of_dead_run(&self, draft: &PendingSettlement) -> bool {
        draft.current.run != self.plan.run
    }

    /// Whether a usage limit that was not waited for lasts beyond this moment. A guess must not shorten it.
    fn limit_outlasts(&self, draft: &PendingSettlement, moment: Timestamp, now: Timestamp) -> bool {
        self.known_pause(draft).is_some_and(|pause| {
            let was_waited_for = self.waited.as_ref().is_some_and(|waited| waited.is(pause));
            let is_limit = pause.what.reason == PauseReason::UsageLimit;
            is_limit && !was_waited_for && pause.left(now).is_some() && pause.what.until > moment
        })
    }

    pub(super) fn wait_for_others(&mut self, when: TimePoint) -> Vec<Effect> {
        let until = when.after(self.plan.wait_times.busy);
        self.wait(until, None, when)
    }

    /// Waits for the end of a pause. A wait that was only interrupted to check the pause continues.
    pub(super) fn wait_for(&mut self, pause: Box<Pause>, known: Option<Box<Waiting>>, when: TimePoint) -> Vec<Effect> {
        let same = known.filter(|wait| wait.pause.as_ref().is_some_and(|known| *known == pause));
        if let (Some(mut waiting), 0) = (same, self.interrupts) {
            waiting.asked = when.at;
            return self.keep_waiting(waiting, when);
        }
        let left = pause.left(when.now).unwrap_or_default();
        let jitter = match pause.what.reason {
            PauseReason::UsageLimit => {
                let least = self.plan.wait_times.spread / 10;
                least + self.jitter(self.plan.wait_times.spread.saturating_sub(least))
            }
            // The run that met it has already added jitter.
            PauseReason::Transient if pause.run == self.plan.run => Duration::ZERO,
            PauseReason::Transient => self.jitter(left / 2),
        };
        self.wait(when.after(left.saturating_add(jitter)), Some(pause), when)
    }

    fn wait(&mut self, until: TimePoint, pause: Option<Box<Pause>>, when: TimePoint) -> Vec<Effect> {
        if self.is_to_stop() {
            return self.finish(End::Interrupted);
        }
        if self.is_last() {
            return self.count(StopClaiming::Requested);
        }
        let waiting = Waiting {
            until,
            pause,
            checked: when.at,
            asked: when.at,
        };
        let notice = pause_wait(&waiting, when).map(|wait| Effect::Notify(Notice::Waits(wait)));
        self.phase = Phase::Waiting(Box::new(waiting));
        notice.into_iter().collect()
    }

    /// Handles a tick during a wait.
    pub(super) fn waited(&mut self, waiting: Box<Waiting>, when: TimePoint) -> Vec<Effect> {
        if waiting.until.is_over(when) {
            self.waited = waiting.pause.or(self.waited.take());
            return self.tidy();
        }
        if let Some(limit) = self.time_is_up(when.at) {
            return self.count(StopClaiming::Limit(limit));
        }
        // Leftovers of dead runs come before another task.
        let may_claim = waiting.pause.is_some() && self.left.is_empty();
        if may_claim && when.at >= waiting.asked.saturating_add(ASK_EVERY) {
            self.paused = Some(waiting);
            return self.claim();
        }
        self.keep_waiting(waiting, when)
    }

    fn keep_waiting(&mut self, mut waiting: Box<Waiting>, when: TimePoint) -> Vec<Effect> {
        waiting.checked = when.at;
        let notice = pause_wait(&waiting, when).map(|wait| Effect::Notify(Notice::StillWaits(wait)));
        self.phase = Phase::Waiting(waiting);
        notice.into_iter().collect()
    }

    /// When the wait checks the clock next.
    pub(super) fn next_check(&self, waiting: &Waiting) -> Duration {
        let check = waiting.checked.saturating_add(self.plan.wait_times.clock_check);
        check.min(waiting.until.at)
    }

    /// A random duration up to `most`.
    fn jitter(&mut self, most: Duration) -> Duration {
        const PARTS: u32 = 1 << 16;
        let part = u32::try_from(self.rng.next_bits() % u64::from(PARTS + 1)).unwrap_or_default();
        most.saturating_mul(part) / PARTS
    }
}

fn new_pause(draft: &PendingSettlement, reason: PauseReason, times: u32, until: Timestamp) -> PauseChange {
    PauseChange::Put(NewPause {
        reason,
        until,
        times,
        said: draft.decision.reason.clone(),
    })
}

/// Whether this end shows that the model can be reached. A crash or silence does not: some agents silently retry what
/// the service refuses.
fn has_answered(stop: StopReason) -> bool {
    match stop {
        StopReason::TaskDone
        | StopReason::TaskFailed
        | StopReason::FailurePromise
        | StopReason::NoSigil
        | StopReason::WrongTask
        | StopReason::Refusal
        | StopReason::TokenLimit
        | StopReason::TurnLimit
        | StopReason::PermissionDenied
        | StopReason::OutputLimit
        | StopReason::GateNotStarted
        | StopReason::TaskLimit
        | StopReason::ContextOverflow => true,
        StopReason::EmptyAnswer
        | StopReason::Crash
        | StopReason::Garbage
        | StopReason::Timeout
        | StopReason::Idle
        | StopReason::UsageLimit
        | StopReason::Transient
        | StopReason::Auth
        | StopReason::Billing
        | StopReason::Cancelled
        | StopReason::RalphDied
        | StopReason::RunLimit => false,
    }
}

/// How often in a row this reason was met, including now.
fn times_in_a_row(pause: Option<&Pause>, reason: PauseReason, now: Timestamp) -> u32 {
    let is_recent = |pause: &&Pause| now.duration_since(pause.what.until) <= PAST_AFTER;
    let before = pause.filter(|pause| pause.what.reason == reason).filter(is_recent);
    before.map_or(0, |pause| pause.what.times).saturating_add(1)
}

/// The wait to report; `None` for a wait for other runs.
fn pause_wait(waiting: &Waiting, when: TimePoint) -> Option<PauseWait> {
    Some(PauseWait {
        pause: waiting.pause.clone()?,
        until: waiting.until.now,
        left: left(waiting.until, when),
    })
}

/// The remaining time, by whichever clock ends first.
fn left(until: TimePoint, when: TimePoint) -> Duration {
    let by_count = until.at.saturating_sub(when.at);
    let by_clock = Duration::try_from(until.now.duration_since(when.now)).unwrap_or_default();
    by_count.min(by_clock)
}
