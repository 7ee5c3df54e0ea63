//! What happened in a run of the demo, as the journal, the records of the prompts and the prompts themselves tell it.

use std::path::Path;
use std::time::Duration;

use ralph_memory::inject::prompt::stands_in;
use ralph_model::{EntryKind, InjectionReason, Outcome};
use ralph_notes::read_file;
use ralph_store::{JournalFilter, Store, Wait};

use crate::error::CommandError;
use crate::paths::Project;

/// A whole run.
pub(super) struct Performance {
    pub(super) iterations: Vec<Iteration>,
    pub(super) time: Duration,
    /// The notes that stood in prompts, in the order in which they first did.
    pub(super) notes: Vec<Note>,
}

/// An iteration of it.
pub(super) struct Iteration {
    pub(super) number: u32,
    pub(super) task: String,
    pub(super) outcome: Outcome,
    /// Why it did not count as done.
    pub(super) reason: String,
    pub(super) prompt: String,
    pub(super) cost_usd: f64,
    /// How many notes its prompt held.
    pub(super) notes: usize,
}

/// A note.
pub(super) struct Note {
    pub(super) id: String,
    pub(super) text: String,
}

impl Performance {
    /// Reads what a finished run left in its project.
    pub(super) fn read(project: &Path, time: Duration) -> Result<Self, CommandError> {
        let project = Project::at(project.to_owned());
        let store = Store::open_existing(&project.database(), Wait::Long)?
            .ok_or_else(|| CommandError::new("the demo's run left no record"))?;
        let mut performance = Self {
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
                // What is on record counts only where the prompt holds it.
                if is_note && stands_in(&prompt, injection) {
                    performance.add_note(&injection.id, &prompt);
                    notes += 1;
                }
            }
            performance.iterations.push(Iteration {
                number: row.row.iteration,
                task: row.row.task_title,
                outcome: row.row.outcome,
                reason: row.row.reason,
                cost_usd: row.row.usage.cost_usd,
                prompt,
                notes,
            });
        }
        Ok(performance)
    }

    /// How many tasks were done.
    pub(super) fn done(&self) -> usize {
        let done = |iteration: &&Iteration| iteration.outcome == Outcome::Done;
        self.iterations.iter().filter(done).count()
    }

    /// How many iterations ended otherwise than done.
    pub(super) fn failures(&self) -> usize {
        let failed = |iteration: &&Iteration| iteration.outcome != Outcome::Done;
        self.iterations.iter().filter(failed).count()
    }

    /// What it cost, as far as the agent says so.
    pub(super) fn cost_usd(&self) -> f64 {
        self.iterations.iter().map(|iteration| iteration.cost_usd).sum()
    }

    /// The first attempt at a task.
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

/// The text of a note as it stands in a prompt: quoted, below its id.
fn quoted_below(prompt: &str, id: &str) -> String {
    let heading = format!("### {id}");
    let lines = prompt.lines().skip_while(|line| *line != heading).skip(1);
    let quoted: Vec<&str> = lines.map_while(|line| line.strip_prefix("> ")).collect();
    quoted.join(" ")
}
