//! Where a run stands, and what follows from what happens: nothing else decides it, so that every order of events can be tried.
//!
//! The driver does what an effect says and tells the result as an event. Effects are done one after the other; only an
//! agent's turn, the gates and a wait go on by themselves.

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
use ralph_store::{ClaimAnswer, Standing};

pub use effect::{BaselineOf, Effect, Notice, PauseWait, Pauses};
pub use ending::{End, RecordedEnd};
pub use event::{Event, Happening, WorkCommit};
pub use iteration::{Confirmed, Current, Draft, Examined, Gates, LandedWork, Left, LostLooks, Place, ToExamine};
pub use limits::Reached;
pub use phase::State;
pub use plan::{FirstTry, Pace, Plan, WhoVerifies};
pub use standstill::Standstill;

use crate::gates::{Baseline, GateEnd, GateResult, not_started, unusable};
use crate::guide::Wish;
use crate::strategy::{Choice, Past, Rule, choose};
use phase::{FirstInterrupt, Moment, NoFurther, Phase};

/// What a person should know of a gate that fails in a checkout before any work.
const RED_IN_CHECKOUT: &str = "A gate fails in a new checkout. If it needs files that git does not track, name them in \
                               `[worktree] copy`, `link` or `setup`.";

impl State {
    /// A run that has not begun, and what is to be done first.
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
            chance: SplitMix64::new(plan.seed),
            waited: None,
            paused: None,
            reached: None,
            standstill: None,
            broken_gates: Vec::new(),
            hint: None,
            baseline: None,
            interrupts: 0,
            first: FirstInterrupt::Stops,
            wish: Wish::GoOn,
            slept: Duration::ZERO,
            plan,
        };
        (state, vec![Effect::Recover])
    }

    /// How it ended; none while it goes on.
    #[must_use]
    pub fn end(&self) -> Option<&End> {
        match &self.phase {
            Phase::Over(end) => Some(end),
            _ => None,
        }
    }

    /// How many iterations have begun.
    #[must_use]
    pub fn iterations(&self) -> u32 {
        self.iterations
    }

    /// What happens next. An event that does not fit where the run stands changes nothing.
    #[must_use]
    pub fn step(&mut self, event: Event) -> Vec<Effect> {
        let phase = std::mem::replace(&mut self.phase, Phase::Recovering);
        self.slept = event.slept;
        match event.what {
            Happening::Interrupt => self.interrupted(phase),
            Happening::Stop => self.stopped(phase),
            Happening::GuidanceWanted => self.guidance_wanted(phase),
            Happening::Wished(wish) => self.wished(phase, wish),
            Happening::Failed(reason) => self.failed(&phase, reason),
            Happening::NoRoomInTime(reason) => self.no_room_in_time(phase, reason, event.at),
            what => self.moved(
                phase,
                what,
                Moment {
                    at: event.at,
                    now: event.now,
                },
            ),
        }
    }

    fn moved(&mut self, phase: Phase, what: Happening, when: Moment) -> Vec<Effect> {
        match (phase, what) {
            (Phase::Recovering, Happening::Recovered(left)) => {
                self.left = left.into();
                self.next_left(when)
            }
            (Phase::Abandoning, Happening::Abandoned) => self.next_left(when),
            (Phase::Tidying, Happening::OutboxFinished) => self.before_claim(when),
            (Phase::Closing(_), Happening::OutboxFinished) if self.is_to_stop() => self.finish(End::Interrupted),
            (Phase::Closing(end), Happening::OutboxFinished) => self.finish(end),
            (Phase::Counting(why), Happening::Counted(standing)) => self.counted(why, standing),
            (Phase::Claiming, Happening::Answered { answer, past }) => self.answered(answer, &past, when),
            (Phase::Baselining(current, of), Happening::BaselineRan { results, left }) => {
                self.baseline_ran(current, of, (&results, left))
            }
            (
                Phase::Preparing(mut current),
                Happening::Prepared {
                    before,
                    overflowed_before,
                    spent_before,
                },
            ) => {
                // The gates and the look at the files may have taken long.
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
            (Phase::Starting(current), Happening::Spawned) => self.spawned(current, when.at),
            (Phase::Working(working), what) => self.while_working(working, what, when.at),
            (Phase::Recording(current, summary), Happening::EndRecorded) => self.judged(current, summary),
            (Phase::Examining(examining), Happening::Examined(examined)) => self.examined(*examining, *examined, when),
            (Phase::Consulting(draft), Happening::Spawned) => self.verifier_started(draft, when.at),
            (Phase::Consulting(draft), Happening::TaskGone) => self.nothing_to_verify(draft, when.now),
            (Phase::Consulting(draft), Happening::VerifierUnusable(why)) => {
                self.verifier_unusable(draft, &why, when.now)
            }
            (Phase::Verifying(verifying), what) => self.while_verifying(verifying, what, when),
            (Phase::Guiding(draft), Happening::Guided(guided)) => self.guided(draft, guided, when),
            (Phase::Noting(draft), Happening::GuidanceRecorded) => self.conclude(draft, when),
            (Phase::Settling(draft), Happening::Settled) => self.settled(&draft, when.at),
            (phase @ (Phase::Baselining(..) | Phase::Examining(_)), Happening::NoRoom) => self.find_room(phase),
            (phase, Happening::RoomFound) => self.do_again(phase),
            (Phase::Waiting(waiting), Happening::Tick) => self.waited(waiting, when),
            (Phase::Ending(_), Happening::RunEnded(end)) => self.rest(Phase::Over(end)),
            (phase, what) => self.towards_base(phase, what, when),
        }
    }

    fn find_room(&mut self, phase: Phase) -> Vec<Effect> {
        self.phase = phase;
        vec![Effect::FindRoom]
    }

    /// Does again what goes on by itself, after it had no room.
    fn do_again(&mut self, phase: Phase) -> Vec<Effect> {
        let effect = match &phase {
            Phase::Baselining(current, of) => Some(Effect::RunBaseline(current.clone(), *of)),
            Phase::Examining(examining) => Some(self.examine(&examining.current, &examining.turn, examining.gates)),
            Phase::Committing(draft) => Some(Effect::Commit(draft.clone())),
            Phase::CheckingOut(current) => Some(Effect::CheckOut(current.clone())),
            Phase::CommittingWork(draft) => Some(Effect::CommitWork(draft.clone())),
            Phase::Rechecking(draft) => Some(self.examine(&draft.current, &draft.turn, Gates::Run)),
            Phase::Verifying(verifying) => return self.consult(verifying.draft.clone()),
            _ => None,
        };
        self.phase = phase;
        effect.into_iter().collect()
    }

    /// Stays, or comes to rest, in a phase without doing anything.
    fn rest(&mut self, phase: Phase) -> Vec<Effect> {
        self.phase = phase;
        vec![]
    }

    /// The next that dead runs have left, else the first of this run's own.
    fn next_left(&mut self, when: Moment) -> Vec<Effect> {
        if self.is_to_stop() {
            return self.finish(End::Interrupted);
        }
        match self.left.pop_front() {
            None => self.tidy(),
            Some(Left::Claimed(current)) => self.abandon(current),
            Some(Left::Ended(current, summary)) => match self.pause_before_look(&current, &summary, when.now) {
                Some(pause) => {
                    self.left.push_front(Left::Ended(current, summary));
                    self.wait_for(pause, None, when)
                }
                None => self.judged(current, summary),
            },
        }
    }

    /// A claim whose agent was not started is taken back; nothing is left of it.
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

    fn before_claim(&mut self, when: Moment) -> Vec<Effect> {
        if self.is_to_stop() || !self.left.is_empty() {
            return self.next_left(when);
        }
        if self.is_last() {
            return self.count(NoFurther::AsWished);
        }
        if let Some(limit) = self.limit_reached(when.at) {
            return self.count(NoFurther::Limit(limit));
        }
        self.claim()
    }

    fn count(&mut self, why: NoFurther) -> Vec<Effect> {
        self.phase = Phase::Counting(why);
        vec![Effect::Count]
    }

    /// A run that reached a limit with its last task done has come to its end all the same; and where only what is for a
    /// person is left, no further run could go on.
    fn counted(&mut self, why: NoFurther, standing: Standing) -> Vec<Effect> {
        self.finish(match (standing.for_a_person(), standing.open, why) {
            (0, 0, _) => End::Complete,
            _ if self.is_to_stop() => End::Interrupted,
            (_, 0, _) => End::LeftForPerson(standing),
            (_, _, NoFurther::Limit(limit)) => End::Limit(limit),
            (_, _, NoFurther::AsWished) => End::AsWished(standing),
        })
    }

    fn answered(&mut self, answer: ClaimAnswer, past: &Past, when: Moment) -> Vec<Effect> {
        let known = self.paused.take();
        let claim = match answer {
            ClaimAnswer::Claimed(claim) => claim,
            ClaimAnswer::Busy { held } => {
                let mut effects = vec![Effect::Tell(Notice::Busy(held))];
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
        // The checks of the task are run last.
        let (results, checks) = results.split_at(results.len().saturating_sub(current.checks.len()));
        let passing = checks
            .iter()
            .filter(|check| check.is_green() && current.is_first_of_checks());
        let mut effects: Vec<Effect> = passing
            .map(|check| {
                let (task, command) = (&current.task, &check.command);
                Effect::Warn(format!(
                    "The check `{command}` of {task} passes already, before any work."
                ))
            })
            .collect();
        if of == BaselineOf::Checks {
            effects.extend(self.prepare(current));
            return effects;
        }
        // In what an earlier run has left, a gate may be broken through the work that goes on now.
        let broken = not_started(results, &BTreeSet::new()).or_else(|| unusable(results).filter(|_| left.is_none()));
        if let Some(reason) = broken {
            return self.finish(End::Error(reason));
        }
        let baseline = left.map_or_else(|| Baseline::of(results), |left| left.shrunk(results));
        self.baseline = Some(baseline.clone());
        if current.place == Place::Checkout && !baseline.red_gates().is_empty() {
            effects.push(Effect::Warn(RED_IN_CHECKOUT.to_owned()));
        }
        effects.push(Effect::KeepBaseline(baseline));
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
