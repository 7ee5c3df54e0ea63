//! Asks the person about a turn that they have stopped, in a thread of its own: they may take as long as they like.

use std::sync::Arc;

use ralph_process::StopHandle;

use super::examine::in_thread;
use super::{Incoming, RunError, Runner};
use crate::guide::{Asked, Guided};
use crate::state::{Effect, Happening};
use crate::summary::TurnSummary;
use crate::watch::News;

impl Runner<'_> {
    /// Asks. Whoever watches is told before and after, so that nobody else writes to the terminal meanwhile.
    pub(super) fn ask(&mut self, asked: &Asked) -> Result<(), RunError> {
        let Some(guide) = self.order.guide.as_ref().map(Arc::clone) else {
            return Err(RunError::Other("there is nobody to ask".to_owned()));
        };
        let question = format!("what should be done differently on {} ({})", asked.task, asked.title);
        self.note_question(Some(&question));
        self.watch.tell(&News::Asks(asked));
        self.give_up = StopHandle::default();
        let (asked, given_up) = (asked.clone(), self.give_up.clone());
        // Nobody waits for it: whoever does not answer when the asking is given up is left behind.
        drop(in_thread("guidance", self.sender.clone(), move |_| {
            Incoming::Guided(guide.ask(&asked, &given_up).kept())
        })?);
        Ok(())
    }

    /// They have answered.
    pub(super) fn answered(&mut self, guided: Guided) -> Happening {
        self.note_question(None);
        self.watch.tell(&News::Answered(&guided));
        Happening::Guided(guided)
    }

    /// Lets whoever looks at the run from elsewhere know what it waits for. Nobody is asked less because that fails.
    fn note_question(&mut self, question: Option<&str>) {
        if let Err(error) = self.store.put_question(&self.run, question) {
            let waits = match question {
                Some(_) => "the run waits for your answer",
                None => "the run has your answer",
            };
            let warning = format!("`ralph status` does not know that {waits}: {error}");
            self.watch.tell(&News::Warning(&warning));
        }
    }

    /// Puts what they said on record, before anything else happens: it is not to be said again.
    pub(super) fn record_guidance(&mut self, turn: &TurnSummary) -> Result<Happening, RunError> {
        let end = serde_json::to_string(turn)?;
        self.store.record_guidance(&self.run, &end)?;
        Ok(Happening::GuidanceRecorded)
    }

    /// Gives the person back what they said where it could not be put on record: nobody else has it.
    pub(super) fn give_guidance_back(&mut self, effect: &Effect) {
        if let Effect::RecordGuidance(turn) = effect
            && let Some(guidance) = &turn.guidance
        {
            let warning = format!("What you said is not on record. It was:\n{guidance}");
            self.watch.tell(&News::Warning(&warning));
        }
    }

    /// The run goes on after all: nothing that was stopped before is to be stopped any more.
    pub(super) fn go_on(&mut self) {
        self.stop_gates = StopHandle::default();
        self.wanted.forget();
    }
}
