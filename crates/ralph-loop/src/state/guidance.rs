//! What a person at the terminal may say to a run: stop it, stop the turn and say what should be done differently, or let
//! the run end after this iteration.

use super::phase::{FirstInterrupt, Moment, NoFurther, Phase};
use super::{Draft, Effect, End, Notice, State};
use crate::guide::{Asked, Asking, Guided, WhatNext, Wish};
use crate::settle::{Judgement, StopRun, Then, judge};
use crate::summary::StopCause;

impl State {
    /// How often it was interrupted since it began, or since it last went on after a question.
    pub(crate) fn interrupts(&self) -> u32 {
        self.interrupts
    }

    /// Whether the run is to stop. The first Ctrl+C of somebody who is asked what should be done differently does not say so.
    #[must_use]
    pub fn is_to_stop(&self) -> bool {
        match self.first {
            FirstInterrupt::Stops => self.interrupts > 0,
            FirstInterrupt::Asks => self.interrupts > 1,
        }
    }

    /// Ctrl+C. Where a turn goes on and somebody can be asked, the first one ends the turn and not the run. Between turns
    /// there is nothing to be said about one.
    pub(super) fn interrupted(&mut self, phase: Phase) -> Vec<Effect> {
        if !self.can_ask(&phase) {
            return self.stopped(phase);
        }
        self.first = FirstInterrupt::Asks;
        let mut effects = self.stopped(phase);
        effects.push(Effect::Tell(Notice::WillAsk));
        effects
    }

    /// The person wants to say something: the same as the first Ctrl+C where that asks, and nothing where it does not.
    pub(super) fn guidance_wanted(&mut self, phase: Phase) -> Vec<Effect> {
        if self.can_ask(&phase) {
            self.interrupted(phase)
        } else {
            self.rest(phase)
        }
    }

    fn can_ask(&self, phase: &Phase) -> bool {
        self.interrupts == 0 && self.plan.asking == Asking::Possible && self.is_in_turn(phase)
    }

    /// Whether the run is in a turn of its own, or looks at what that has left.
    fn is_in_turn(&self, phase: &Phase) -> bool {
        let current = match phase {
            Phase::Starting(current) | Phase::Recording(current, _) => current,
            Phase::Working(working) => &working.current,
            Phase::Examining(examining) => &examining.current,
            Phase::Consulting(draft) => &draft.current,
            Phase::Verifying(verifying) => &verifying.draft.current,
            _ => return false,
        };
        current.run == self.plan.run
    }

    /// What goes on by itself is stopped; everything else is looked at when it has come to its end.
    pub(super) fn stopped(&mut self, phase: Phase) -> Vec<Effect> {
        self.interrupts = self.interrupts.saturating_add(1);
        match phase {
            Phase::Working(working) if working.stop.is_none() => self.stop_agent(working, StopCause::Interrupt),
            Phase::Working(working) if self.interrupts > 1 => {
                self.phase = Phase::Working(working);
                vec![Effect::KillAgent]
            }
            Phase::Verifying(verifying) => self.verifying_interrupted(verifying),
            phase @ (Phase::Examining(_)
            | Phase::Baselining(..)
            | Phase::CheckingOut(_)
            | Phase::Committing(_)
            | Phase::CommittingWork(_)
            | Phase::Rechecking(_)) => {
                self.phase = phase;
                vec![Effect::StopGates]
            }
            phase @ Phase::Guiding(_) => {
                self.phase = phase;
                vec![Effect::GiveUpAsking]
            }
            Phase::Waiting(_) => self.finish(End::Interrupted),
            phase => self.rest(phase),
        }
    }

    /// The person wishes that no further iteration begins, or takes that back. A run that only waits has none to finish.
    pub(super) fn wished(&mut self, phase: Phase, wish: Wish) -> Vec<Effect> {
        self.wish = wish;
        match phase {
            Phase::Waiting(_) if wish == Wish::LastIteration => self.count(NoFurther::AsWished),
            phase => self.rest(phase),
        }
    }

    /// Whether the person is to be asked about the turn whose settlement is being drawn up.
    pub(super) fn asks(&self) -> bool {
        self.first == FirstInterrupt::Asks && !self.is_to_stop()
    }

    /// Asks about a turn. How it would be settled is known already.
    pub(super) fn ask(&mut self, draft: Box<Draft>) -> Vec<Effect> {
        let asked = Box::new(Asked {
            iteration: draft.current.iteration,
            task: draft.current.task.clone(),
            title: draft.current.task_title.clone(),
            files: draft.files.clone(),
        });
        self.phase = Phase::Guiding(draft);
        vec![Effect::Ask(asked)]
    }

    /// The person has answered. With something to say about it the turn is interrupted, whatever the gates made of it; else
    /// it stays what it was, and what was being looked at is looked at again. Where the run goes on, the next Ctrl+C is the first again.
    pub(super) fn guided(&mut self, mut draft: Box<Draft>, guided: Guided, when: Moment) -> Vec<Effect> {
        let goes_on = guided.next == WhatNext::GoOn && !self.is_to_stop();
        self.first = FirstInterrupt::Stops;
        if guided.text.is_some() {
            draft.turn.guidance = guided.text;
            draft.turn.cause = Some(StopCause::Interrupt);
            if let Judgement::Settled(ruling) = judge(&self.facts(&draft.current, &draft.turn)) {
                draft.ruling = ruling;
            }
        }
        let looks_again = goes_on && draft.turn.guidance.is_none();
        if let Some(passed) = draft.unlooked.take().filter(|_| looks_again) {
            draft.ruling = passed;
            if let Some(found) = draft.verification.take() {
                draft.looked_in_vain(&found);
            }
        }
        let mut effects = Vec::new();
        if draft.turn.guidance.is_some() {
            // First: whatever else is to be done may fail.
            effects.push(Effect::RecordGuidance(draft.turn.clone()));
        }
        if goes_on {
            self.interrupts = 0;
            effects.push(Effect::GoOn);
            if draft.ruling.then == Then::Stop(StopRun::Interrupt) {
                draft.ruling.then = Then::GoOn;
            }
        }
        if draft.turn.guidance.is_some() {
            self.phase = Phase::Noting(draft);
        } else {
            effects.extend(self.verify_or_conclude(draft, when));
        }
        effects
    }

    /// Whether no further iteration may begin, because the person wishes so.
    pub(super) fn is_last(&self) -> bool {
        self.wish == Wish::LastIteration
    }
}
