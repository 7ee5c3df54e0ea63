//! The end of a run: what is put on record, and what is tidied up.

use ralph_memory::capture::Moved;
use ralph_model::{count, first_line, preview};
use ralph_store::Scope;

use super::{RunError, Runner};
use crate::run_folder::run_folder;
use crate::state::End;
use crate::watch::News;

/// How many columns of what was asked for stand in the last sentence.
const GOAL_COLUMNS: usize = 60;

impl Runner<'_> {
    /// Puts the end of the run on record, and says what it is: that of the state machine, unless the database says otherwise.
    /// Where nothing at all is left to do, the working notes have served their time.
    pub(super) fn end_run(&mut self, end: &End) -> Result<End, RunError> {
        let site = self.site;
        self.see_the_agent_off();
        // The last notes are written with the run that made them. Should that fail, the next one does it.
        match self.finish_outbox() {
            Ok(_) => {}
            Err(error @ RunError::Store(_)) => return Err(error),
            Err(error) if error.is_full() || self.places().are_full() => return Err(error),
            Err(error) => self.watch.tell(&News::Warning(&error.to_string())),
        }
        let now = site.clock.now();
        self.store.release_claims(&self.run, now)?;
        let end = self.confirmed(end)?;
        let all = match end {
            End::Complete => Some(self.standing(&Scope::All)?),
            _ => None,
        };
        let is_all_done = all.is_some_and(|all| all.for_a_person() + all.open == 0);
        let sentence = match all {
            Some(all) if !is_all_done => end.sentence_beside(&self.what(), &all),
            // Whoever looks at it tomorrow sees that they have said what there is to say.
            _ if end == End::Interrupted && self.guided => "It was stopped, with your guidance.".to_owned(),
            _ => end.sentence(),
        };
        self.store.end_run(&self.run, &sentence, end.code(), now)?;
        self.sentence = Some((end.clone(), sentence));
        if is_all_done {
            self.keep_scratchpad();
        }
        self.drop_unused_base();
        self.prune();
        self.keep_up();
        Ok(end)
    }

    /// The end, if the database agrees: other clients may have changed or deleted tasks.
    fn confirmed(&self, end: &End) -> Result<End, RunError> {
        if !matches!(end, End::Complete | End::NothingToDo | End::LeftForPerson(_)) {
            return Ok(end.clone());
        }
        let lost = self.store.lost_tasks(&self.open_at_start)?;
        if lost.is_empty() {
            return Ok(end.confirmed_by(self.standing(&self.order.scope)?));
        }
        let tasks = count(lost.len(), "open task", "open tasks");
        Ok(End::Error(format!(
            "another program deleted {tasks} from the database during the run"
        )))
    }

    /// The working notes of what is done go to the folder of the run.
    fn keep_scratchpad(&mut self) {
        let kept = run_folder(&self.site.runs, &self.run).map(|folder| folder.join("scratchpad.md"));
        let kept = match kept {
            Ok(kept) => kept,
            Err(error) => return self.watch.tell(&News::Warning(&RunError::from(error).to_string())),
        };
        match self.site.scratchpad.move_to(&kept) {
            Ok(Moved::Everything) => self.watch.tell(&News::KeptScratchpad(&kept)),
            Ok(Moved::Nothing) => {}
            Err(error) => {
                let warning = format!("The scratchpad stays where it is: {error}");
                self.watch.tell(&News::Warning(&warning));
            }
        }
    }

    /// What the run was asked for, in a few words.
    fn what(&self) -> String {
        let goal = preview(first_line(&self.order.goal), GOAL_COLUMNS);
        match &self.order.scope {
            Scope::Task(id) if id.as_str() != goal => format!("{id} ({goal})"),
            Scope::Feature(_) => format!("The {goal}"),
            _ => goal,
        }
    }
}
