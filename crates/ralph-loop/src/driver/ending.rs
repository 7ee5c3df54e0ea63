//! Ends a run: records the outcome and cleans up.

use ralph_memory::capture::Moved;
use ralph_model::{count, first_line, preview};
use ralph_store::{AgentNote, Scope};

use super::{RunError, Runner};
use crate::run_folder::run_folder;
use crate::state::End;
use crate::watch::{RunEnded, RunEvent};

/// How many columns of the goal the last sentence shows.
const GOAL_COLUMNS: usize = 60;

impl Runner<'_> {
    /// Records and returns the end of the run: the one from the state machine, unless the database disagrees. If
    /// nothing is left to do, the scratchpad is archived.
    pub(super) fn end_run(&mut self, end: &End) -> Result<End, RunError> {
        let site = self.site;
        self.kill_running_agent();
        // The run writes its own last notes. If that fails, the next run does.
        match self.finish_outbox() {
            Ok(_) => {}
            Err(error @ RunError::Store(_)) => return Err(error),
            Err(error) if error.is_full() || self.volumes().are_full() => return Err(error),
            Err(error) => self.watch.tell(&RunEvent::Warning(&error.to_string())),
        }
        let now = site.clock.now();
        self.store.release_claims(&self.run, now)?;
        let end = self.confirmed(end)?;
        let all = match end {
            End::Complete => Some(self.standing(&Scope::All)?),
            _ => None,
        };
        let is_all_done = all.is_some_and(|all| all.needing_attention() + all.open == 0);
        let sentence = match all {
            Some(all) if !is_all_done => end.sentence_beside(&self.what(), &all),
            // The record shows later that guidance was given.
            _ if end == End::Interrupted && self.guided => "Stopped on request, with your guidance.".to_owned(),
            _ => end.sentence(),
        };
        self.store
            .end_run(&self.run, (end.kind(), end.code()), &sentence, now)?;
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
        if !matches!(end, End::Complete | End::NothingToDo | End::NeedsAttention(_)) {
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

    /// Moves the scratchpad into the folder of the run.
    fn keep_scratchpad(&mut self) {
        let kept = run_folder(&self.site.runs, &self.run).map(|folder| folder.join("scratchpad.md"));
        let kept = match kept {
            Ok(kept) => kept,
            Err(error) => return self.watch.tell(&RunEvent::Warning(&RunError::from(error).to_string())),
        };
        match self.site.scratchpad.move_to(&kept) {
            Ok(Moved::Everything) => {
                let path = self.site.shown(&kept);
                self.watch.tell(&RunEvent::KeptScratchpad { path });
            }
            Ok(Moved::Nothing) => {}
            Err(error) => {
                let warning = format!("Could not move the scratchpad: {error}");
                self.watch.tell(&RunEvent::Warning(&warning));
            }
        }
    }

    pub(super) fn report_end(&mut self, end: &End, sentence: &str, (iterations, agent_notes): (u32, &[AgentNote])) {
        let goes_on = !matches!(end, End::Complete | End::NothingToDo);
        self.watch.tell(&RunEvent::Ended(RunEnded {
            end,
            sentence,
            exit_code: end.code(),
            iterations,
            limit: end.limit(),
            again: goes_on.then_some(&self.order.again),
            agent_notes,
        }));
    }

    /// The goal of the run, shortened.
    fn what(&self) -> String {
        let goal = preview(first_line(&self.order.goal), GOAL_COLUMNS);
        match &self.order.scope {
            Scope::Task(id) if id.as_str() != goal => format!("{id} ({goal})"),
            Scope::Feature(_) => format!("The {goal}"),
            _ => goal,
        }
    }
}
