//! Interrupts and guidance: the user can stop the run, stop a turn and say what to do differently, or let the run end
//! after the current iteration.

use super::phase::{FirstInterrupt, Phase, StopClaiming, TimePoint};
use super::{Effect, End, Notice, PendingSettlement, State};
use crate::guide::{AfterGuidance, Attendance, GuidanceAnswer, GuidanceQuestion, RunRequest};
use crate::settle::{Judgement, StopRun, Then, judge};
use crate::summary::StopCause;

impl State {
    /// The number of interrupts since the run began, or since it continued after a question.
    pub(crate) fn interrupts(&self) -> u32 {
        self.interrupts
    }

    /// Whether the run is to stop. If the user can be asked, the first Ctrl+C only asks for guidance.
    #[must_use]
    pub fn is_to_stop(&self) -> bool {
        match self.first {
            FirstInterrupt::Stops => self.interrupts > 0,
            FirstInterrupt::Asks => self.interrupts > 1,
        }
    }

    /// Handles Ctrl+C. During a turn of an attended run, the first one ends the turn and not the run.
    pub(super) fn interrupted(&mut self, phase: Phase) -> Vec<Effect> {
        if !self.can_ask(&phase) {
            return self.stopped(phase);
        }
        self.first = FirstInterrupt::Asks;
        let mut effects = self.stopped(phase);
        effects.push(Effect::Notify(Notice::WillAsk));
        effects
    }

    /// Acts like a first Ctrl+C that asks; otherwise does nothing.
    pub(super) fn guidance_wanted(&mut self, phase: Phase) -> Vec<Effect> {
        if self.can_ask(&phase) {
            self.interrupted(phase)
        } else {
            self.enter(phase)
        }
    }

    fn can_ask(&self, phase: &Phase) -> bool {
        self.interrupts == 0 && self.plan.attendance == Attendance::Attended && self.is_in_turn(phase)
    }

    /// Whether the run is in a turn of its own, or examines the result of one.
    fn is_in_turn(&self, phase: &Phase) -> bool {
        let current = match phase {
            Phase::Starting(current) | Phase::Recording(current, _) => current,
            Phase::Working(working) => &working.current,
            Phase::Examining(examining) => &examining.current,
            Phase::StartingVerifier(draft) => &draft.current,
            Phase::Verifying(verifying) => &verifying.draft.current,
            _ => return false,
        };
        current.run == self.plan.run
    }

    /// Stops concurrent work. Other effects finish first.
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
            phase @ Phase::AskingGuidance(_) => {
                self.phase = phase;
                vec![Effect::CancelQuestion]
            }
            Phase::Waiting(_) => self.finish(End::Interrupted),
            phase => self.enter(phase),
        }
    }

    /// Ends the run after the current iteration, or takes that back. A waiting run has no iteration to finish.
    pub(super) fn requested(&mut self, phase: Phase, request: RunRequest) -> Vec<Effect> {
        self.request = request;
        match phase {
            Phase::Waiting(_) if request == RunRequest::StopAfterIteration => self.count(StopClaiming::Requested),
            phase => self.enter(phase),
        }
    }

    /// Whether to ask the user about the turn before it is settled.
    pub(super) fn asks(&self) -> bool {
        self.first == FirstInterrupt::Asks && !self.is_to_stop()
    }

    /// Asks about a turn whose settlement is already decided.
    pub(super) fn ask(&mut self, draft: Box<PendingSettlement>) -> Vec<Effect> {
        let asked = Box::new(GuidanceQuestion {
            iteration: draft.current.iteration,
            task: draft.current.task.clone(),
            title: draft.current.task_title.clone(),
            files: draft.files.clone(),
        });
        self.phase = Phase::AskingGuidance(draft);
        vec![Effect::Ask(asked)]
    }

    /// Handles the user's answer. Guidance makes the turn an interrupted one, whatever the gates said; without it the
    /// decision stays, and an aborted verification runs again. If the run goes on, the next Ctrl+C counts as the first.
    pub(super) fn guided(
        &mut self,
        mut draft: Box<PendingSettlement>,
        guided: GuidanceAnswer,
        when: TimePoint,
    ) -> Vec<Effect> {
        let goes_on = guided.next == AfterGuidance::GoOn && !self.is_to_stop();
        self.first = FirstInterrupt::Stops;
        if guided.text.is_some() {
            draft.turn.guidance = guided.text;
            draft.turn.cause = Some(StopCause::Interrupt);
            if let Judgement::Settled(decision) = judge(&self.facts(&draft.current, &draft.turn)) {
                draft.decision = decision;
            }
        }
        let looks_again = goes_on && draft.turn.guidance.is_none();
        if let Some(passed) = draft.decision_before_verifier.take().filter(|_| looks_again) {
            draft.decision = passed;
            if let Some(found) = draft.verification.take() {
                draft.discard_verification(&found);
            }
        }
        let mut effects = Vec::new();
        if draft.turn.guidance.is_some() {
            // Comes first, because later effects may fail.
            effects.push(Effect::RecordGuidance(draft.turn.clone()));
        }
        if goes_on {
            self.interrupts = 0;
            effects.push(Effect::Resume);
            if draft.decision.then == Then::Stop(StopRun::Interrupt) {
                draft.decision.then = Then::GoOn;
            }
        }
        if draft.turn.guidance.is_some() {
            self.phase = Phase::RecordingGuidance(draft);
        } else {
            effects.extend(self.verify_or_conclude(draft, when));
        }
        effects
    }

    /// Whether the user asked the run to end after the current iteration.
    pub(super) fn is_last(&self) -> bool {
        self.request == RunRequest::StopAfterIteration
    }
}
