//! The verifier: whether a second session checks work that passed the gates, and how it proceeds.

use std::time::Duration;

use jiff::Timestamp;
use ralph_store::Pause;

use super::phase::{Phase, TimePoint, Verifying, Working};
use super::turn::cause_of_end;
use super::{Current, Effect, FirstTry, Input, PendingSettlement, State, VerifierKind};
use crate::settle::{
    Claimed, Judgement, TaskTransition, gates_interrupted, judge, judge_verifier, no_verifier, over_the_limit,
};
use crate::summary::{StopCause, TurnSummary, Verification};

impl State {
    /// Whether the verifier must approve the work.
    pub(super) fn is_to_be_verified(&self, draft: &PendingSettlement) -> bool {
        draft.decision.task == TaskTransition::Done
            && draft.verification.is_none()
            && draft.current.landed.is_none()
            && self.plan.verifier != VerifierKind::None
    }

    /// Starts the verifier, unless the user or a limit ends the run now.
    pub(super) fn verify(&mut self, mut draft: Box<PendingSettlement>, when: TimePoint) -> Vec<Effect> {
        if self.is_to_stop() {
            draft.decision = gates_interrupted();
            return self.settle(draft, when.now);
        }
        if let Some(reached) = self.used_up(self.used_before(&draft), when.at) {
            draft.decision = over_the_limit(&reached.message);
            self.reached = Some(reached);
            return self.settle(draft, when.now);
        }
        self.start_verifier(draft)
    }

    pub(super) fn start_verifier(&mut self, draft: Box<PendingSettlement>) -> Vec<Effect> {
        self.phase = Phase::StartingVerifier(draft.clone());
        vec![Effect::Verify(draft)]
    }

    /// Usage of the turn and of discarded verifications that is not counted yet; a dead run's turn never counts.
    fn used_before(&self, draft: &PendingSettlement) -> ralph_model::Usage {
        if draft.current.run == self.plan.run {
            draft.turn.usage.and(draft.discarded.usage)
        } else {
            draft.discarded.usage
        }
    }

    pub(super) fn verifier_started(&mut self, draft: Box<PendingSettlement>, at: Duration) -> Vec<Effect> {
        let session = Working {
            current: draft.current.clone(),
            stop: None,
            began: at,
            last_activity: at,
            used: self.used_before(&draft),
        };
        let verifying = Box::new(Verifying { draft, session });
        if self.interrupts > 0 {
            return self.stop_verifier(verifying, StopCause::Interrupt);
        }
        self.enter(Phase::Verifying(verifying))
    }

    pub(super) fn while_verifying(
        &mut self,
        mut verifying: Box<Verifying>,
        what: Input,
        when: TimePoint,
    ) -> Vec<Effect> {
        match what {
            Input::Verified(found) => return self.verified(*verifying, *found, when),
            Input::VerifiedOnFullDisk(found) => {
                verifying.draft.discard_verification(&found);
                self.phase = Phase::Verifying(verifying);
                return vec![Effect::WaitForDiskSpace];
            }
            Input::DiskSpaceFound => return self.repeat(Phase::Verifying(verifying)),
            Input::Activity => verifying.session.last_activity = when.at,
            Input::Used(usage) => {
                verifying.session.last_activity = when.at;
                verifying.session.used = self.used_before(&verifying.draft).and(usage);
            }
            _ => {}
        }
        match (verifying.session.stop, self.cause_to_stop(&verifying.session, when.at)) {
            (None, Some((cause, reached))) => {
                self.reached = reached;
                self.stop_verifier(verifying, cause)
            }
            (Some(_), _) | (None, None) => self.enter(Phase::Verifying(verifying)),
        }
    }

    fn stop_verifier(&mut self, mut verifying: Box<Verifying>, cause: StopCause) -> Vec<Effect> {
        verifying.session.stop = Some(cause);
        self.phase = Phase::Verifying(verifying);
        vec![Effect::StopAgent]
    }

    pub(super) fn verifying_interrupted(&mut self, verifying: Box<Verifying>) -> Vec<Effect> {
        if verifying.session.stop.is_none() {
            return self.stop_verifier(verifying, StopCause::Interrupt);
        }
        self.phase = Phase::Verifying(verifying);
        match self.interrupts {
            0 | 1 => vec![],
            _ => vec![Effect::KillAgent],
        }
    }

    /// The task was deleted, so verification is pointless. The iteration still gets its journal entry.
    pub(super) fn nothing_to_verify(&mut self, draft: Box<PendingSettlement>, now: Timestamp) -> Vec<Effect> {
        if self.asks() {
            return self.ask(draft);
        }
        self.settle(draft, now)
    }

    /// The verifier cannot start; the user must fix that first.
    pub(super) fn verifier_unusable(
        &mut self,
        mut draft: Box<PendingSettlement>,
        why: &str,
        now: Timestamp,
    ) -> Vec<Effect> {
        draft.decision = no_verifier(why);
        if self.asks() {
            return self.ask(draft);
        }
        self.settle(draft, now)
    }

    /// The pause that keeps the verifier from checking the work of a dead run now.
    pub(super) fn pause_before_verifying(
        &self,
        current: &Current,
        turn: &TurnSummary,
        now: Timestamp,
    ) -> Option<Box<Pause>> {
        let pause = current.verifier_pause.as_ref()?;
        let is_heeded = self.plan.first_try == FirstTry::AfterThePause || self.iterations > 0;
        let was_waited_for = self.waited.as_ref().is_some_and(|waited| waited.is(pause));
        let is_active = is_heeded && !was_waited_for && pause.left(now).is_some();
        let is_to_verify = self.plan.verifier != VerifierKind::None
            && judge(&self.facts(current, turn)) == Judgement::AskGates(Claimed::Done);
        (is_active && is_to_verify).then(|| Box::new(pause.clone()))
    }

    /// Handles the result of the verifier.
    fn verified(&mut self, verifying: Verifying, mut found: Verification, when: TimePoint) -> Vec<Effect> {
        let Verifying { mut draft, session } = verifying;
        found.cause = cause_of_end(session.stop, &found.end);
        found.limit = self.limit_of(found.cause, &session);
        let facts = self.facts(&draft.current, &draft.turn);
        let passed = draft.decision.clone();
        draft.decision = judge_verifier(&facts, passed.clone(), &found);
        // If the user continues without guidance, another verifier checks the work.
        let was_broken_off = found.cause == Some(StopCause::Interrupt) && found.changed.is_empty();
        draft.decision_before_verifier = was_broken_off.then_some(passed);
        draft.verification = Some(found);
        if self.asks() {
            return self.ask(draft);
        }
        self.conclude(draft, when)
    }
}
