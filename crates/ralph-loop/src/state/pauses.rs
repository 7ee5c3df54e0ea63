//! Waits: for other runs, and for the end of what keeps the agent from being started.
//!
//! A pause is put on record with the settlement that met it, and the next claim is answered with it: so one that this run
//! met, one that an earlier run met and one that another run meets now are all waited for in the same way.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use ralph_model::{Entropy, StopReason};
use ralph_store::{NewPause, Pause, PauseChange, PauseReason};

use super::phase::{Moment, NoFurther, Phase, Waiting};
use super::{Draft, Effect, End, FirstTry, Notice, PauseWait, Pauses, State, WhoVerifies};
use crate::settle::Then;

/// How many failures of the service in a row end a run.
pub(super) const MAX_TRANSIENTS: u32 = 8;

/// How far ahead the end of a usage limit may be. What lies further is a mistake of whoever told it.
const MOST_AHEAD: SignedDuration = SignedDuration::from_hours(8 * 24);

/// After how long a pause that is over is of the past: what is met then is not met again in a row.
const PAST_AFTER: SignedDuration = SignedDuration::from_hours(1);

/// How often a run that waits asks whether another run has found the pause to be over.
const ASK_EVERY: Duration = Duration::from_secs(60);

impl State {
    /// Asks for the next task.
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

    /// What an iteration says about the pause of the agent, and about that of its verifier where it is another agent.
    pub(super) fn pauses_after(&mut self, draft: &Draft, now: Timestamp) -> (PauseChange, PauseChange) {
        let Some(found) = draft.verification.as_ref().filter(|_| self.is_verified_by_another()) else {
            return (self.pause_after(draft, now), PauseChange::Keep);
        };
        // Whoever is looked at came to the end of its turn.
        let own = match self.is_of_dead_run(draft) {
            true => PauseChange::Keep,
            false => PauseChange::Lift,
        };
        let verifiers = match &draft.ruling.then {
            Then::WaitForUsage { resets_at } => self.pause_for_usage(draft, *resets_at, now),
            Then::BackOff => self.pause_for_service(draft, now),
            _ if found.was_answered() => PauseChange::Lift,
            _ => PauseChange::Keep,
        };
        (own, verifiers)
    }

    fn is_verified_by_another(&self) -> bool {
        self.plan.verifier == WhoVerifies::Another
    }

    /// Whether the service has failed so often in a row that the run ends.
    pub(super) fn gives_up(&self, draft: &Draft) -> bool {
        let change = match &draft.verification {
            Some(_) if self.is_verified_by_another() => &draft.verifier_pause,
            _ => &draft.pause,
        };
        *change == PauseChange::Lift
    }

    /// The pause that was on record of the agent which was at work last.
    fn known_pause<'a>(&self, draft: &'a Draft) -> Option<&'a Pause> {
        match &draft.verification {
            Some(_) if self.is_verified_by_another() => draft.current.verifier_pause.as_ref(),
            _ => draft.current.pause.as_ref(),
        }
    }

    fn pause_after(&mut self, draft: &Draft, now: Timestamp) -> PauseChange {
        match &draft.ruling.then {
            Then::WaitForUsage { resets_at } => self.pause_for_usage(draft, *resets_at, now),
            Then::BackOff => self.pause_for_service(draft, now),
            // Of a turn of a dead run nobody knows what was on record when it began.
            _ if self.is_of_dead_run(draft) => PauseChange::Keep,
            _ if has_answered(draft.ruling.stop) => PauseChange::Lift,
            _ => PauseChange::Keep,
        }
    }

    fn pause_for_usage(&self, draft: &Draft, resets_at: Option<Timestamp>, now: Timestamp) -> PauseChange {
        // What a dead run was told is news no longer: the limit may have been over for hours.
        if self.is_of_dead_run(draft) && resets_at.is_some_and(|reset| reset <= now) {
            return PauseChange::Keep;
        }
        let times = times_in_a_row(self.known_pause(draft), PauseReason::UsageLimit, now);
        if let Some(reset) = resets_at.filter(|reset| *reset > now && reset.duration_since(now) <= MOST_AHEAD) {
            return put(draft, PauseReason::UsageLimit, times, reset);
        }
        let guess = now.checked_add(self.plan.pace.usage_wait(times - 1)).unwrap_or(now);
        if self.holds_beyond(draft, guess, now) {
            return PauseChange::Keep;
        }
        put(draft, PauseReason::UsageLimit, times, guess)
    }

    fn pause_for_service(&mut self, draft: &Draft, now: Timestamp) -> PauseChange {
        let times = match times_in_a_row(self.known_pause(draft), PauseReason::Transient, now) {
            // It was the dead run that had to end then. This one may meet the last failure itself.
            MAX_TRANSIENTS.. if self.is_of_dead_run(draft) => MAX_TRANSIENTS - 1,
            // Whoever starts another run after that begins to count anew.
            MAX_TRANSIENTS.. => return PauseChange::Lift,
            times => times,
        };
        let most = self.plan.pace.back_off(times - 1);
        let time = most / 2 + self.up_to(most / 2);
        let until = now.checked_add(time).unwrap_or(now);
        if self.holds_beyond(draft, until, now) {
            return PauseChange::Keep;
        }
        put(draft, PauseReason::Transient, times, until)
    }

    fn is_of_dead_run(&self, draft: &Draft) -> bool {
        draft.current.run != self.plan.run
    }

    /// Whether a usage limit that was not waited for is not over at a moment: no failure shows that it is, and none may
    /// shorten it.
    fn holds_beyond(&self, draft: &Draft, moment: Timestamp, now: Timestamp) -> bool {
        self.known_pause(draft).is_some_and(|pause| {
            let was_waited_for = self.waited.as_ref().is_some_and(|waited| waited.is(pause));
            let is_limit = pause.what.reason == PauseReason::UsageLimit;
            is_limit && !was_waited_for && pause.left(now).is_some() && pause.what.until > moment
        })
    }

    /// Waits for other runs.
    pub(super) fn wait_for_others(&mut self, when: Moment) -> Vec<Effect> {
        let until = when.after(self.plan.pace.busy);
        self.wait(until, None, when)
    }

    /// Waits for the end of a pause. A wait that was only asked about goes on as before.
    pub(super) fn wait_for(&mut self, pause: Box<Pause>, known: Option<Box<Waiting>>, when: Moment) -> Vec<Effect> {
        let same = known.filter(|wait| wait.pause.as_ref().is_some_and(|known| *known == pause));
        if let (Some(mut waiting), 0) = (same, self.interrupts) {
            waiting.asked = when.at;
            return self.look(waiting, when);
        }
        let left = pause.left(when.now).unwrap_or_default();
        let apart = match pause.what.reason {
            PauseReason::UsageLimit => {
                let least = self.plan.pace.spread / 10;
                least + self.up_to(self.plan.pace.spread.saturating_sub(least))
            }
            // The run that met it has thrown its dice already.
            PauseReason::Transient if pause.run == self.plan.run => Duration::ZERO,
            PauseReason::Transient => self.up_to(left / 2),
        };
        self.wait(when.after(left.saturating_add(apart)), Some(pause), when)
    }

    fn wait(&mut self, until: Moment, pause: Option<Box<Pause>>, when: Moment) -> Vec<Effect> {
        if self.is_to_stop() {
            return self.finish(End::Interrupted);
        }
        if self.is_last() {
            return self.count(NoFurther::AsWished);
        }
        let waiting = Waiting {
            until,
            pause,
            looked: when.at,
            asked: when.at,
        };
        let told = told(&waiting, when).map(|wait| Effect::Tell(Notice::Waits(wait)));
        self.phase = Phase::Waiting(Box::new(waiting));
        told.into_iter().collect()
    }

    /// Time has passed in a wait.
    pub(super) fn waited(&mut self, waiting: Box<Waiting>, when: Moment) -> Vec<Effect> {
        if waiting.until.is_over(when) {
            self.waited = waiting.pause.or(self.waited.take());
            return self.tidy();
        }
        if let Some(limit) = self.time_is_up(when.at) {
            return self.count(NoFurther::Limit(limit));
        }
        // What a dead run has left comes before another task.
        let may_claim = waiting.pause.is_some() && self.left.is_empty();
        if may_claim && when.at >= waiting.asked.saturating_add(ASK_EVERY) {
            self.paused = Some(waiting);
            return self.claim();
        }
        self.look(waiting, when)
    }

    fn look(&mut self, mut waiting: Box<Waiting>, when: Moment) -> Vec<Effect> {
        waiting.looked = when.at;
        let told = told(&waiting, when).map(|wait| Effect::Tell(Notice::StillWaits(wait)));
        self.phase = Phase::Waiting(waiting);
        told.into_iter().collect()
    }

    /// When a wait has to look at the clock again.
    pub(super) fn next_look(&self, waiting: &Waiting) -> Duration {
        let look = waiting.looked.saturating_add(self.plan.pace.look);
        look.min(waiting.until.at)
    }

    /// A time between none and this, by chance.
    fn up_to(&mut self, most: Duration) -> Duration {
        const PARTS: u32 = 1 << 16;
        let part = u32::try_from(self.chance.next_bits() % u64::from(PARTS + 1)).unwrap_or_default();
        most.saturating_mul(part) / PARTS
    }
}

fn put(draft: &Draft, reason: PauseReason, times: u32, until: Timestamp) -> PauseChange {
    PauseChange::Put(NewPause {
        reason,
        until,
        times,
        said: draft.ruling.reason.clone(),
    })
}

/// Whether a turn that ended so shows that the model can be reached. A crash or a silence does not: some agents try in
/// silence again and again what the service refuses.
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

/// How often in a row a reason was met, this time included.
fn times_in_a_row(pause: Option<&Pause>, reason: PauseReason, now: Timestamp) -> u32 {
    let is_recent = |pause: &&Pause| now.duration_since(pause.what.until) <= PAST_AFTER;
    let before = pause.filter(|pause| pause.what.reason == reason).filter(is_recent);
    before.map_or(0, |pause| pause.what.times).saturating_add(1)
}

/// What is told of a wait; nothing of one for other runs.
fn told(waiting: &Waiting, when: Moment) -> Option<PauseWait> {
    Some(PauseWait {
        pause: waiting.pause.clone()?,
        until: waiting.until.now,
        left: left(waiting.until, when),
    })
}

/// How much of a wait is left, by the clock that ends it.
fn left(until: Moment, when: Moment) -> Duration {
    let by_count = until.at.saturating_sub(when.at);
    let by_clock = Duration::try_from(until.now.duration_since(when.now)).unwrap_or_default();
    by_count.min(by_clock)
}
