//! The state machine of a run. It alone decides what happens next, so tests can try every order of events.
//!
//! The driver performs effects one after another and reports each result as an event. Only an agent's turn, the gates
//! and a wait run concurrently.

mod effect;
mod ending;
mod event;
mod guidance;
mod iteration;
mod landing;
mod limits;
mod pauses;
mod phase;
mod plan;
mod standstill;
mod turn;
mod verify;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use ralph_model::{SplitMix64, TaskKind, Usage};
use ralph_store::{ClaimAnswer, ScopeCounts};

pub use effect::{BaselineOf, Effect, Notice, PauseWait, Pauses};
pub use ending::End;
pub use event::{Event, Input, WorkCommit};
pub use iteration::{
    Confirmed, Current, DiscardedVerifications, Examined, Gates, LandedWork, Leftover, PendingSettlement, Place,
    ToExamine,
};
pub use limits::LimitReached;
pub use phase::State;
pub use plan::{FirstTry, Plan, VerifierKind, WaitTimes};
pub use standstill::Standstill;

use crate::gates::{Baseline, GateEnd, GateResult, not_started, unusable};
use crate::guide::RunRequest;
use crate::strategy::{Choice, Past, Rule, choose};
use phase::{FirstInterrupt, Phase, StopClaiming, TimePoint};

const RED_IN_CHECKOUT: &str = "A gate fails in a fresh checkout. If it needs files that git does not track, list them in \
                               `[worktree] copy`, `link` or `setup`.";

impl State {
    /// A new run, and its first effects.
    #[must_use]
    pub fn begin(plan: Plan) -> (Self, Vec<Effect>) {
        let state = Self {
            phase: Phase::Recovering,
            left: VecDeque::new(),
            iterations: 0,
            settled: 0,
            spent: Usage::default(),
            streak: 0,
            failing: BTreeMap::new(),
            rng: SplitMix64::new(plan.seed),
            waited: None,
            paused: None,
            reached: None,
            standstill: None,
            broken_gates: Vec::new(),
            hint: None,
            baseline: None,
            interrupts: 0,
            first: FirstInterrupt::Stops,
            request: RunRequest::GoOn,
            slept: Duration::ZERO,
            plan,
        };
        (state, vec![Effect::Recover])
    }

    /// How the run ended; `None` while it goes on.
    #[must_use]
    pub fn end(&self) -> Option<&End> {
        match &self.phase {
            Phase::Over(end) => Some(end),
            _ => None,
        }
    }

    #[must_use]
    pub fn iterations(&self) -> u32 {
        self.iterations
    }

    /// Handles an event. One that does not fit the current phase changes nothing.
    #[must_use]
    pub fn step(&mut self, event: Event) -> Vec<Effect> {
        let phase = std::mem::replace(&mut self.phase, Phase::Recovering);
        self.slept = event.slept;
        match event.what {
            Input::Interrupt => self.interrupted(phase),
            Input::Stop => self.stopped(phase),
            Input::GuidanceWanted => self.guidance_wanted(phase),
            Input::Requested(request) => self.requested(phase, request),
            Input::Failed(reason) => self.failed(&phase, reason),
            Input::DiskFullTimeout(reason) => self.disk_full_timeout(phase, reason, event.at),
            what => self.transition(
                phase,
                what,
                TimePoint {
                    at: event.at,
                    now: event.now,
                },
            ),
        }
    }

    fn transition(&mut self, phase: Phase, what: Input, when: TimePoint) -> Vec<Effect> {
        match (phase, what) {
            (Phase::Recovering, Input::Recovered(left)) => {
                self.left = left.into();
                self.next_left(when)
            }
            (Phase::Abandoning, Input::Abandoned) => self.next_left(when),
            (Phase::Tidying, Input::OutboxFinished) => self.before_claim(when),
            (Phase::Closing(_), Input::OutboxFinished) if self.is_to_stop() => self.finish(End::Interrupted),
            (Phase::Closing(end), Input::OutboxFinished) => self.finish(end),
            (Phase::Counting(why), Input::Counted(standing)) => self.counted(why, standing),
            (Phase::Claiming, Input::ClaimAnswered { answer, past }) => self.answered(answer, &past, when),
            (Phase::Baselining(current, of), Input::BaselineRan { results, left }) => {
                self.baseline_ran(current, of, (&results, left))
            }
            (
                Phase::Preparing(mut current),
                Input::Prepared {
                    before,
                    overflowed_before,
                    spent_before,
                },
            ) => {
                // The gates and the snapshot may have taken long.
                if self.is_to_stop() || self.is_last() || self.time_is_up(when.at).is_some() {
                    return self.abandon(current);
                }
                current.before = Some(before);
                current.overflowed_before = overflowed_before;
                current.spent_before = spent_before;
                self.iterations += 1;
                self.phase = Phase::Starting(current);
                vec![Effect::Spawn]
            }
            (Phase::Starting(current), Input::Spawned) => self.spawned(current, when.at),
            (Phase::Working(working), what) => self.while_working(working, what, when.at),
            (Phase::Recording(current, summary), Input::EndRecorded) => self.judged(current, summary),
            (Phase::Examining(examining), Input::Examined(examined)) => self.examined(*examining, *examined, when),
            (Phase::StartingVerifier(draft), Input::Spawned) => self.verifier_started(draft, when.at),
            (Phase::StartingVerifier(draft), Input::TaskDeleted) => self.nothing_to_verify(draft, when.now),
            (Phase::StartingVerifier(draft), Input::VerifierUnusable(why)) => {
                self.verifier_unusable(draft, &why, when.now)
            }
            (Phase::Verifying(verifying), what) => self.while_verifying(verifying, what, when),
            (Phase::AskingGuidance(draft), Input::Guided(guided)) => self.guided(draft, guided, when),
            (Phase::RecordingGuidance(draft), Input::GuidanceRecorded) => self.conclude(draft, when),
            (Phase::Settling(draft), Input::Settled) => self.settled(&draft, when.at),
            (phase @ (Phase::Baselining(..) | Phase::Examining(_)), Input::DiskFull) => self.wait_for_disk_space(phase),
            (phase, Input::DiskSpaceFound) => self.repeat(phase),
            (Phase::Waiting(waiting), Input::Tick) => self.waited(waiting, when),
            (Phase::Ending(_), Input::RunEnded(end)) => self.enter(Phase::Over(end)),
            (phase, what) => self.towards_base(phase, what, when),
        }
    }

    fn wait_for_disk_space(&mut self, phase: Phase) -> Vec<Effect> {
        self.phase = phase;
        vec![Effect::WaitForDiskSpace]
    }

    /// Repeats work that failed because the disk was full.
    fn repeat(&mut self, phase: Phase) -> Vec<Effect> {
        let effect = match &phase {
            Phase::Baselining(current, of) => Some(Effect::RunBaseline(current.clone(), *of)),
            Phase::Examining(examining) => Some(self.examine(&examining.current, &examining.turn, examining.gates)),
            Phase::Committing(draft) => Some(Effect::Commit(draft.clone())),
            Phase::CheckingOut(current) => Some(Effect::CheckOut(current.clone())),
            Phase::CommittingWork(draft) => Some(Effect::CommitWork(draft.clone())),
            Phase::Rechecking(draft) => Some(self.examine(&draft.current, &draft.turn, Gates::Run)),
            Phase::Verifying(verifying) => return self.start_verifier(verifying.draft.clone()),
            _ => None,
        };
        self.phase = phase;
        effect.into_iter().collect()
    }

    /// Enters a phase without any effect.
    fn enter(&mut self, phase: Phase) -> Vec<Effect> {
        self.phase = phase;
        vec![]
    }

    /// Handles the next leftover of a dead run; without one, goes on to this run's own work.
    fn next_left(&mut self, when: TimePoint) -> Vec<Effect> {
        if self.is_to_stop() {
            return self.finish(End::Interrupted);
        }
        match self.left.pop_front() {
            None => self.tidy(),
            Some(Leftover::Claimed(current)) => self.abandon(current),
            Some(Leftover::Ended(current, summary)) => {
                match self.pause_before_verifying(&current, &summary, when.now) {
                    Some(pause) => {
                        self.left.push_front(Leftover::Ended(current, summary));
                        self.wait_for(pause, None, when)
                    }
                    None => self.judged(current, summary),
                }
            }
        }
    }

    /// Takes back a claim whose agent was not started. It leaves no trace.
    fn abandon(&mut self, current: Box<Current>) -> Vec<Effect> {
        self.phase = Phase::Abandoning;
        vec![Effect::Abandon(current)]
    }

    fn tidy(&mut self) -> Vec<Effect> {
        if self.is_to_stop() {
            return self.finish(End::Interrupted);
        }
        self.phase = Phase::Tidying;
        vec![Effect::FinishOutbox]
    }

    fn before_claim(&mut self, when: TimePoint) -> Vec<Effect> {
        if self.is_to_stop() || !self.left.is_empty() {
            return self.next_left(when);
        }
        if self.is_last() {
            return self.count(StopClaiming::Requested);
        }
        if let Some(limit) = self.limit_reached(when.at) {
            return self.count(StopClaiming::Limit(limit));
        }
        self.claim()
    }

    fn count(&mut self, why: StopClaiming) -> Vec<Effect> {
        self.phase = Phase::Counting(why);
        vec![Effect::Count]
    }

    /// A run that reaches a limit with its last task done is complete. If only tasks that need a person are left, no
    /// further run could continue.
    fn counted(&mut self, why: StopClaiming, standing: ScopeCounts) -> Vec<Effect> {
        self.finish(match (standing.needing_attention(), standing.open, why) {
            (0, 0, _) => End::Complete,
            _ if self.is_to_stop() => End::Interrupted,
            (_, 0, _) => End::NeedsAttention(standing),
            (_, _, StopClaiming::Limit(limit)) => End::Limit(limit),
            (_, _, StopClaiming::Requested) => End::StoppedAsRequested(standing),
        })
    }

    fn answered(&mut self, answer: ClaimAnswer, past: &Past, when: TimePoint) -> Vec<Effect> {
        let known = self.paused.take();
        let claim = match answer {
            ClaimAnswer::Claimed(claim) => claim,
            ClaimAnswer::Busy { held } => {
                let mut effects = vec![Effect::Notify(Notice::Busy(held))];
                effects.extend(self.wait_for_others(when));
                return effects;
            }
            ClaimAnswer::Paused(pause) => return self.wait_for(pause, known, when),
            ClaimAnswer::Nothing(standing) => return self.finish(End::without_work(standing, self.settled)),
        };
        let hint = self.hint.take();
        let chosen = choose(&Choice {
            rule: Rule {
                models: &self.plan.models,
                asked: self.plan.model.as_deref(),
                strategy: self.plan.strategy,
                escalate_after: self.plan.escalate_after,
            },
            iteration: self.iterations + 1,
            hint: hint.as_deref(),
            past,
        });
        let current = Box::new(Current::of(&self.plan.run, self.iterations + 1, &claim, chosen));
        if self.is_to_stop() || self.is_last() {
            self.abandon(current)
        } else if self.plan.place == Place::Checkout && current.kind == TaskKind::Once {
            self.phase = Phase::CheckingOut(current.clone());
            vec![Effect::CheckOut(current)]
        } else {
            self.baseline_or_prepare(current)
        }
    }

    fn baseline_or_prepare(&mut self, current: Box<Current>) -> Vec<Effect> {
        let of = match (
            self.baseline.is_none() && self.plan.has_gates,
            current.is_first_of_checks(),
        ) {
            (true, _) => BaselineOf::All,
            (false, true) => BaselineOf::Checks,
            (false, false) => return self.prepare(current),
        };
        self.phase = Phase::Baselining(current.clone(), of);
        vec![Effect::RunBaseline(current, of)]
    }

    fn baseline_ran(
        &mut self,
        current: Box<Current>,
        of: BaselineOf,
        (results, left): (&[GateResult], Option<Baseline>),
    ) -> Vec<Effect> {
        if self.is_to_stop() || self.is_last() || results.iter().any(|result| result.end == GateEnd::Stopped) {
            return self.abandon(current);
        }
        // The checks of the task run last.
        let (results, checks) = results.split_at(results.len().saturating_sub(current.checks.len()));
        let passing = checks
            .iter()
            .filter(|check| check.is_green() && current.is_first_of_checks());
        let mut effects: Vec<Effect> = passing
            .map(|check| {
                let (task, command) = (&current.task, &check.command);
                Effect::Warn(format!(
                    "The check `{command}` of {task} already passes before any work."
                ))
            })
            .collect();
        if of == BaselineOf::Checks {
            effects.extend(self.prepare(current));
            return effects;
        }
        // The work in progress of an earlier run may have broken a gate.
        let broken = not_started(results, &BTreeSet::new()).or_else(|| unusable(results).filter(|_| left.is_none()));
        if let Some(reason) = broken {
            return self.finish(End::Error(reason));
        }
        let baseline = left.map_or_else(|| Baseline::of(results), |left| left.shrunk(results));
        self.baseline = Some(baseline.clone());
        if current.place == Place::Checkout && !baseline.red_gates().is_empty() {
            effects.push(Effect::Warn(RED_IN_CHECKOUT.to_owned()));
        }
        effects.push(Effect::SaveBaseline(baseline));
        effects.extend(self.prepare(current));
        effects
    }

    fn prepare(&mut self, current: Box<Current>) -> Vec<Effect> {
        let red_gates = self.baseline.as_ref().map(Baseline::red_gates).unwrap_or_default();
        let broken_gates = match current.place {
            Place::Project => self.broken_gates.clone(),
            Place::Checkout => Vec::new(),
        };
        self.phase = Phase::Preparing(current.clone());
        vec![Effect::Prepare {
            current,
            red_gates,
            broken_gates,
        }]
    }

    fn finish(&mut self, end: End) -> Vec<Effect> {
        self.phase = Phase::Ending(end.clone());
        vec![Effect::EndRun(end)]
    }
}

#[cfg(test)]
#[path = "../state_tests.rs"]
mod tests;
