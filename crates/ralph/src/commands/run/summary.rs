//! Prints the summary of a run: how it ended, what it did, and what to do next.

use std::collections::BTreeSet;
use std::time::Duration;

use ralph_loop::state::End;
use ralph_loop::{RunEvent, Settled, Watch};
use ralph_model::{AuthorKind, Outcome, RunId, Task, TaskId, TaskKind, TaskStatus, count};
use ralph_store::{AgentNote, NoteAction, Store, StoreError, Wait};

use super::printer::{Columns, gate_with_headline, shown_duration};
use crate::context::Context;
use crate::error::CommandError;

/// How many of the agent's notes the summary lists.
const MAX_LISTED: usize = 10;

pub(super) struct Summary<'a> {
    context: &'a Context<'a>,
    columns: Columns,
    run: Option<RunId>,
    iterations: u32,
    /// How many of the iterations belong to prompt loops.
    loop_iterations: u32,
    done: BTreeSet<TaskId>,
    failed: BTreeSet<TaskId>,
    /// The gates that failed when work was last accepted.
    still_failing: Vec<String>,
    notes: usize,
    cost_usd: f64,
    time: Duration,
    sentence: String,
    /// The command that continues the run.
    again: String,
    agent_notes: Vec<AgentNote>,
}

impl Watch for Summary<'_> {
    fn tell(&mut self, event: &RunEvent<'_>) {
        match event {
            RunEvent::Began(began) => self.run = Some(began.run.clone()),
            RunEvent::Settled(settled) => self.settled(settled),
            RunEvent::DoneWithSubtasks { task } => drop(self.done.insert((*task).clone())),
            RunEvent::Wrote { .. } => self.notes += 1,
            RunEvent::Ended(ended) => {
                ended.sentence.clone_into(&mut self.sentence);
                self.again = ended.again.unwrap_or_default().to_owned();
                self.agent_notes = ended.agent_notes.to_vec();
            }
            _ => {}
        }
    }
}

impl<'a> Summary<'a> {
    pub(super) fn new(context: &'a Context<'a>) -> Self {
        Self {
            context,
            columns: Columns::of(context),
            run: None,
            iterations: 0,
            loop_iterations: 0,
            done: BTreeSet::new(),
            failed: BTreeSet::new(),
            still_failing: Vec::new(),
            notes: 0,
            cost_usd: 0.0,
            time: Duration::ZERO,
            sentence: String::new(),
            again: String::new(),
            agent_notes: Vec::new(),
        }
    }

    fn settled(&mut self, settled: &Settled<'_>) {
        let draft = settled.draft;
        self.iterations += 1;
        self.loop_iterations += u32::from(draft.current.kind == TaskKind::PromptLoop);
        self.notes += settled.new_learnings;
        self.time += settled.duration;
        self.cost_usd += draft.usage().cost_usd;
        if draft.decision.outcome == Outcome::Done {
            let red = draft.gates.iter().filter(|gate| !gate.is_green());
            self.still_failing = red
                .map(|gate| gate_with_headline(self.columns, &gate.command, &gate.headline()))
                .collect();
        }
        // A failed task may have been reset since.
        let task = &draft.current.task;
        self.failed.remove(task);
        match settled.task {
            Some(TaskStatus::Done) => drop(self.done.insert(task.clone())),
            Some(TaskStatus::Failed) => drop(self.failed.insert(task.clone())),
            _ => {}
        }
    }

    /// Prints the summary. The caller reports an error.
    pub(super) fn print(&mut self, end: &End) -> Result<(), CommandError> {
        let mut lines = Vec::new();
        let unverified = match (self.recount(), end) {
            // The database may be the cause of the error.
            (Err(_), End::Error(_)) => None,
            (unverified, _) => Some(unverified?),
        };
        if !matches!(end, End::Error(_)) {
            lines.push(self.sentence.clone());
        }
        lines.extend(unverified.filter(|_| self.iterations > 0).map(|many| self.counts(many)));
        lines.extend(self.stored_by_agent());
        let failing = self.still_failing.iter();
        lines.extend(failing.map(|gate| format!("Still failing, as before this run: {gate}")));
        let lines: Vec<_> = lines.into_iter().map(|line| (None, line)).collect();
        self.context.ui.lines(&lines)?;
        if !self.failed.is_empty() && !matches!(end, End::NeedsAttention(_)) {
            self.context.ui.hint("Run `ralph review` to see what failed and why.");
        }
        if let Some(hint) = self.hint(end) {
            self.context.ui.hint(&hint);
        }
        Ok(())
    }

    /// What to do next.
    fn hint(&self, end: &End) -> Option<String> {
        let again = &self.again;
        Some(match end {
            End::NothingToDo => {
                "Add a task with `ralph task add \"TITLE\"`, or add and run one with `ralph run \"TEXT\"`.".to_owned()
            }
            End::NeedsAttention(left) if left.failed + left.waiting + left.open > 0 => {
                "Run `ralph review` to see what needs your attention, or `ralph task reset ID` to retry a task."
                    .to_owned()
            }
            End::NeedsAttention(left) if left.unverified.no_evidence > 0 => {
                "Set a gate (`[verify] commands` in .ralph.toml) or a verifier to confirm finished work.".to_owned()
            }
            End::Limit(limit) => {
                let raise = match limit.key {
                    // The printed command already contains the flag.
                    "iterations" if again.contains(" --limit ") => String::new(),
                    "" => String::new(),
                    key => format!("; counting starts again (the limit is `[limits] {key}` in .ralph.toml)"),
                };
                format!("Run `{again}` to continue{raise}.")
            }
            End::NoProgress(_) => format!(
                "See what was tried with `ralph journal list`. Describe the task in more detail or fix what blocks it, \
                 then run `{again}` to continue. `[limits] no_progress = 0` in .ralph.toml turns this limit off."
            ),
            End::Interrupted | End::FailurePromise | End::StoppedAsRequested(_) => {
                format!("Run `{again}` to continue.")
            }
            End::NeedsAttention(_) | End::Complete | End::Error(_) => return None,
        })
    }

    /// Recounts the done and failed tasks from the database, and returns how many are unverified.
    fn recount(&mut self) -> Result<usize, StoreError> {
        if self.done.is_empty() && self.failed.is_empty() {
            return Ok(0);
        }
        let store = Store::open_for_reading(&self.context.project.database(), Wait::Long)?;
        let having = |tasks: &BTreeSet<TaskId>, wanted| -> Result<Vec<Task>, StoreError> {
            let mut found = Vec::new();
            for id in tasks {
                let task = store.as_ref().map(|store| store.task(id)).transpose()?.flatten();
                found.extend(task.filter(|task| task.status == wanted));
            }
            Ok(found)
        };
        let done = having(&self.done, TaskStatus::Done)?;
        let failed = having(&self.failed, TaskStatus::Failed)?;
        let unverified = done.iter().filter(|task| task.unverified.is_some()).count();
        self.done = done.into_iter().map(|task| task.id).collect();
        self.failed = failed.into_iter().map(|task| task.id).collect();
        Ok(unverified)
    }

    fn counts(&self, unverified: usize) -> String {
        let mut parts = Vec::new();
        match self.done.len() {
            0 if self.loop_iterations == self.iterations => {}
            0 => parts.push("no task done".to_owned()),
            done => parts.push(format!("{} done", count(done, "task", "tasks"))),
        }
        let others = [(unverified, "unverified"), (self.failed.len(), "failed")];
        let others = others.into_iter().filter(|(many, _)| *many > 0);
        parts.extend(others.map(|(many, word)| format!("{many} {word}")));
        if self.notes > 0 {
            parts.push(count(self.notes, "note", "notes"));
        }
        if self.cost_usd > 0.0 {
            parts.push(format!("${:.2}", self.cost_usd));
        }
        parts.extend(shown_duration(self.time));
        let iterations = count(self.iterations as usize, "iteration", "iterations");
        match parts.as_slice() {
            [] => iterations,
            parts => format!("{iterations}: {}", parts.join(", ")),
        }
    }

    /// Lines about notes that agents stored with commands, and about their proposals.
    fn stored_by_agent(&self) -> Vec<String> {
        let stored = &self.agent_notes;
        let mut lines = Vec::new();
        if !stored.is_empty() {
            lines.push(format!("Notes stored by the agent: {}", stored.len()));
        }
        lines.extend(stored.iter().take(MAX_LISTED).map(|note| {
            let how = match (note.action, note.author) {
                (NoteAction::Deleted, _) => " (deleted)",
                (_, AuthorKind::Unknown) => " (edited in its file)",
                _ => "",
            };
            match note.is_file() {
                true => format!("  {}{how}", note.id),
                false => format!("  {}{how}: {}", note.id, self.columns.cut(&note.text)),
            }
        }));
        if let Some(more) = stored.len().checked_sub(MAX_LISTED).filter(|more| *more > 0) {
            lines.push(format!("  and {more} more"));
        }
        match self.proposed_by_agent() {
            0 => {}
            proposed => lines.push(format!(
                "Proposed by the agent: {proposed}. Run `ralph review` to decide."
            )),
        }
        lines
    }

    /// How many changes and tasks proposed during the run still await a decision.
    fn proposed_by_agent(&self) -> u32 {
        let store = self.context.facts().ok().flatten();
        let proposed = store.zip(self.run.as_ref()).map(|(store, run)| store.proposed_in(run));
        proposed.and_then(Result::ok).unwrap_or_default()
    }
}
