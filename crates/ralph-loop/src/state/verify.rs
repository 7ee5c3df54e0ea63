//! The look of a second session at work that the gates let pass: whether there is one, and from its start to its word.

use std::time::Duration;

use jiff::Timestamp;
use ralph_store::Pause;

use super::phase::{Moment, Phase, Verifying, Working};
use super::turn::cause_of_end;
use super::{Current, Draft, Effect, FirstTry, Happening, State, WhoVerifies};
use crate::settle::{Claimed, Fate, Judgement, gates_interrupted, judge, judge_verifier, no_verifier, over_the_limit};
use crate::summary::{StopCause, TurnSummary, Verification};

impl State {
    /// Whether a second session looks at work before it is done.
    pub(super) fn is_to_be_verified(&self, draft: &Draft) -> bool {
        draft.ruling.task == Fate::Done
            && draft.verification.is_none()
            && draft.current.landed.is_none()
            && self.plan.verifier != WhoVerifies::Nobody
    }

    /// Lets a second session look at the work, unless the person or a limit wants an end now.
    pub(super) fn verify(&mut self, mut draft: Box<Draft>, when: Moment) -> Vec<Effect> {
        if self.is_to_stop() {
            draft.ruling = gates_interrupted();
            return self.settle(draft, when.now);
        }
        if let Some(reached) = self.used_up(self.used_before(&draft), when.at) {
            draft.ruling = over_the_limit(&reached.said);
            self.reached = Some(reached);
            return self.settle(draft, when.now);
        }
        self.consult(draft)
    }

    /// Starts the session.
    pub(super) fn consult(&mut self, draft: Box<Draft>) -> Vec<Effect> {
        self.phase = Phase::Consulting(draft.clone());
        vec![Effect::Verify(draft)]
    }

    /// What the turn and looks before this one have used that is not counted yet; what a dead run used never is.
    fn used_before(&self, draft: &Draft) -> ralph_model::Usage {
        if draft.current.run == self.plan.run {
            draft.turn.usage.and(draft.lost_looks.usage)
        } else {
            draft.lost_looks.usage
        }
    }

    pub(super) fn verifier_started(&mut self, draft: Box<Draft>, at: Duration) -> Vec<Effect> {
        let session = Working {
            current: draft.current.clone(),
            stop: None,
            began: at,
            last_sign: at,
            used: self.used_before(&draft),
        };
        let verifying = Box::new(Verifying { draft, session });
        if self.interrupts > 0 {
            return self.stop_verifier(verifying, StopCause::Interrupt);
        }
        self.rest(Phase::Verifying(verifying))
    }

    pub(super) fn while_verifying(
        &mut self,
        mut verifying: Box<Verifying>,
        what: Happening,
        when: Moment,
    ) -> Vec<Effect> {
        match what {
            Happening::Verified(found) => return self.verified(*verifying, *found, when),
            Happening::LookedWithoutRoom(found) => {
                verifying.draft.looked_in_vain(&found);
                self.phase = Phase::Verifying(verifying);
                return vec![Effect::FindRoom];
            }
            Happening::RoomFound => return self.do_again(Phase::Verifying(verifying)),
            Happening::Sign => verifying.session.last_sign = when.at,
            Happening::Used(usage) => {
                verifying.session.last_sign = when.at;
                verifying.session.used = self.used_before(&verifying.draft).and(usage);
            }
            _ => {}
        }
        match (verifying.session.stop, self.cause_to_stop(&verifying.session, when.at)) {
            (None, Some((cause, reached))) => {
                self.reached = reached;
                self.stop_verifier(verifying, cause)
            }
            (Some(_), _) | (None, None) => self.rest(Phase::Verifying(verifying)),
        }
    }

    fn stop_verifier(&mut self, mut verifying: Box<Verifying>, cause: StopCause) -> Vec<Effect> {
        verifying.session.stop = Some(cause);
        self.phase = Phase::Verifying(verifying);
        vec![Effect::StopAgent]
    }

    /// Ctrl+C while it looks.
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

    /// The task is gone: nobody wants to know any more. Its row in the journal is written all the same.
    pub(super) fn nothing_to_verify(&mut self, draft: Box<Draft>, now: Timestamp) -> Vec<Effect> {
        if self.asks() {
            return self.ask(draft);
        }
        self.settle(draft, now)
    }

    /// It cannot be started: whoever runs this has to mend that first.
    pub(super) fn verifier_unusable(&mut self, mut draft: Box<Draft>, why: &str, now: Timestamp) -> Vec<Effect> {
        draft.ruling = no_verifier(why);
        if self.asks() {
            return self.ask(draft);
        }
        self.settle(draft, now)
    }

    /// What keeps whoever is to look at the work of a dead run from being started now.
    pub(super) fn pause_before_look(
        &self,
        current: &Current,
        turn: &TurnSummary,
        now: Timestamp,
    ) -> Option<Box<Pause>> {
        let pause = current.verifier_pause.as_ref()?;
        let is_heeded = self.plan.first_try == FirstTry::AfterThePause || self.iterations > 0;
        let was_waited_for = self.waited.as_ref().is_some_and(|waited| waited.is(pause));
        let holds = is_heeded && !was_waited_for && pause.left(now).is_some();
        let is_looked_at = self.plan.verifier != WhoVerifies::Nobody
            && judge(&self.facts(current, turn)) == Judgement::AskGates(Claimed::Done);
        (holds && is_looked_at).then(|| Box::new(pause.clone()))
    }

    /// It has spoken, or cannot any more.
    fn verified(&mut self, verifying: Verifying, mut found: Verification, when: Moment) -> Vec<Effect> {
        let Verifying { mut draft, session } = verifying;
        found.cause = cause_of_end(session.stop, &found.end);
        found.limit = self.limit_of(found.cause, &session);
        let facts = self.facts(&draft.current, &draft.turn);
        let passed = draft.ruling.clone();
        draft.ruling = judge_verifier(&facts, passed.clone(), &found);
        // Where the person lets the run go on without a word, somebody else looks at what is done already.
        let was_broken_off = found.cause == Some(StopCause::Interrupt) && found.changed.is_empty();
        draft.unlooked = was_broken_off.then_some(passed);
        draft.verification = Some(found);
        if self.asks() {
            return self.ask(draft);
        }
        self.conclude(draft, when)
    }
}
