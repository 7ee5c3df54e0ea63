//! Asks the user for guidance on a stopped turn, in its own thread since they may take long.

use std::sync::Arc;

use ralph_process::StopHandle;

use super::examine::spawn_thread;
use super::{Incoming, RunError, Runner};
use crate::guide::{GuidanceAnswer, GuidanceQuestion};
use crate::state::{Effect, Input};
use crate::summary::TurnSummary;
use crate::watch::RunEvent;

impl Runner<'_> {
    /// Asks the user. The watcher is notified before and after, so that nothing else writes to the terminal meanwhile.
    pub(super) fn ask(&mut self, asked: &GuidanceQuestion) -> Result<(), RunError> {
        let Some(guide) = self.order.guide.as_ref().map(Arc::clone) else {
            return Err(RunError::Other("no one is available to ask".to_owned()));
        };
        let question = format!("what should be done differently on {} ({})", asked.task, asked.title);
        self.note_question(Some(&question));
        self.watch.tell(&RunEvent::AskingGuidance(asked));
        self.give_up = StopHandle::default();
        let (asked, given_up) = (asked.clone(), self.give_up.clone());
        // The thread is not joined: one that does not answer in time is abandoned.
        drop(spawn_thread("guidance", self.sender.clone(), move |_| {
            Incoming::Guided(guide.ask(&asked, &given_up).kept())
        })?);
        Ok(())
    }

    pub(super) fn answered(&mut self, guided: GuidanceAnswer) -> Input {
        self.note_question(None);
        self.watch.tell(&RunEvent::GuidanceAnswered(&guided));
        Input::Guided(guided)
    }

    /// Records the open question for `ralph status`. A failure does not prevent the question.
    fn note_question(&mut self, question: Option<&str>) {
        if let Err(error) = self.store.put_question(&self.run, question) {
            let waits = match question {
                Some(_) => "the run is waiting for your answer",
                None => "the run has your answer",
            };
            let warning = format!("`ralph status` will not show that {waits}: {error}");
            self.watch.tell(&RunEvent::Warning(&warning));
        }
    }

    /// Records the guidance before anything else, so that the user need not repeat it.
    pub(super) fn record_guidance(&mut self, turn: &TurnSummary) -> Result<Input, RunError> {
        let end = serde_json::to_string(turn)?;
        self.store.record_guidance(&self.run, &end)?;
        Ok(Input::GuidanceRecorded)
    }

    /// Shows the guidance to the user if it could not be recorded, so that it is not lost.
    pub(super) fn give_guidance_back(&mut self, effect: &Effect) {
        if let Effect::RecordGuidance(turn) = effect
            && let Some(guidance) = &turn.guidance
        {
            let warning = format!("Could not record your guidance. You wrote:\n{guidance}");
            self.watch.tell(&RunEvent::Warning(&warning));
        }
    }

    /// The run goes on, so earlier stop requests no longer apply.
    pub(super) fn go_on(&mut self) {
        self.stop_gates = StopHandle::default();
        self.pending_inputs.forget();
    }
}
