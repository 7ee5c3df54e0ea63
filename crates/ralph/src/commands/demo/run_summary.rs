//! The result of a demo run, read from its journal, injections and prompts.

use std::path::Path;
use std::time::Duration;

use ralph_memory::inject::prompt::is_in_prompt;
use ralph_model::{EntryKind, InjectionReason, Outcome};
use ralph_notes::read_file;
use ralph_store::{JournalFilter, Store, Wait};

use crate::error::CommandError;
use crate::paths::Project;

pub(super) struct RunSummary {
    pub(super) iterations: Vec<Iteration>,
    pub(super) time: Duration,
    /// The notes that were in prompts, in order of first appearance.
    pub(super) notes: Vec<Note>,
}

pub(super) struct Iteration {
    pub(super) number: u32,
    pub(super) task: String,
    pub(super) outcome: Outcome,
    /// Why it was not done.
    pub(super) reason: String,
    pub(super) prompt: String,
    pub(super) cost_usd: f64,
    /// Number of notes in its prompt.
    pub(super) notes: usize,
}

pub(super) struct Note {
    pub(super) id: String,
    pub(super) text: String,
}

impl RunSummary {
    pub(super) fn read(project: &Path, time: Duration) -> Result<Self, CommandError> {
        let project = Project::at(project.to_owned());
        let store = Store::open_existing(&project.database(), Wait::Long)?
            .ok_or_else(|| CommandError::new("the demo run left no journal"))?;
        let mut summary = Self {
            iterations: Vec::new(),
            time,
            notes: Vec::new(),
        };
        let mut rows = store.journal_list(&JournalFilter::default())?;
        rows.sort_by_key(|row| row.id);
        for row in rows {
            let folder = project.iteration_folder(&row.row.run, row.row.iteration);
            let prompt = read_file(&folder.prompt())?.map(|file| file.bytes).unwrap_or_default();
            let prompt = String::from_utf8_lossy(&prompt).into_owned();
            let mut notes = 0;
            for recorded in store.injections(row.id)? {
                let injection = &recorded.injection;
                let is_note = injection.kind == EntryKind::Memory && injection.reason == InjectionReason::Shown;
                // A recorded injection counts only if the prompt contains it.
                if is_note && is_in_prompt(&prompt, injection) {
                    summary.add_note(&injection.id, &prompt);
                    notes += 1;
                }
            }
            summary.iterations.push(Iteration {
                number: row.row.iteration,
                task: row.row.task_title,
                outcome: row.row.outcome,
                reason: row.row.reason,
                cost_usd: row.row.usage.cost_usd,
                prompt,
                notes,
            });
        }
        Ok(summary)
    }

    pub(super) fn done(&self) -> usize {
        let done = |iteration: &&Iteration| iteration.outcome == Outcome::Done;
        self.iterations.iter().filter(done).count()
    }

    /// Number of iterations that did not end as done.
    pub(super) fn failures(&self) -> usize {
        let failed = |iteration: &&Iteration| iteration.outcome != Outcome::Done;
        self.iterations.iter().filter(failed).count()
    }

    /// Cost as reported by the agent.
    pub(super) fn cost_usd(&self) -> f64 {
        self.iterations.iter().map(|iteration| iteration.cost_usd).sum()
    }

    pub(super) fn first_attempt(&self, task: &str) -> Option<&Iteration> {
        self.iterations.iter().find(|iteration| iteration.task == task)
    }

    fn add_note(&mut self, id: &str, prompt: &str) {
        if !self.notes.iter().any(|note| note.id == id) {
            self.notes.push(Note {
                id: id.to_owned(),
                text: quoted_below(prompt, id),
            });
        }
    }
}

/// The text of a note in a prompt: quoted, below its id.
fn quoted_below(prompt: &str, id: &str) -> String {
    let heading = format!("### {id}");
    let lines = prompt.lines().skip_while(|line| *line != heading).skip(1);
    let quoted: Vec<&str> = lines.map_while(|line| line.strip_prefix("> ")).collect();
    quoted.join(" ")
}
