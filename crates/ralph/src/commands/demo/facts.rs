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
    /// What the agent wrote into the journal.
    pub(super) journal: Option<String>,
    pub(super) shown: Vec<Shown>,
}

/// A note that stood in the prompt of an iteration.
pub(super) struct Shown {
    /// Its place among [`Performance::notes`].
    pub(super) note: usize,
    /// Whether the agent said that it relied on it.
    pub(super) is_used: bool,
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
            let prompt = String::from_utf8_lossy(&prompt);
            let mut shown = Vec::new();
            for recorded in store.injections(row.id)? {
                let injection = &recorded.injection;
                let is_note = injection.kind == EntryKind::Memory && injection.reason == InjectionReason::Shown;
                // What is on record counts only where the prompt holds it.
                if is_note && stands_in(&prompt, injection) {
                    shown.push(Shown {
                        note: performance.place_of(&injection.id, &prompt),
                        is_used: recorded.used,
                    });
                }
            }
            shown.sort_by_key(|shown| shown.note);
            performance.iterations.push(Iteration {
                number: row.row.iteration,
                task: row.row.task_title,
                outcome: row.row.outcome,
                reason: row.row.reason,
                journal: row.row.notes,
                shown,
            });
        }
        Ok(performance)
    }

    /// The titles of the tasks, in the order in which they were begun.
    pub(super) fn tasks(&self) -> Vec<&str> {
        let mut tasks: Vec<&str> = self
            .iterations
            .iter()
            .map(|iteration| iteration.task.as_str())
            .collect();
        tasks.dedup();
        tasks
    }

    /// How many iterations ended otherwise than done.
    pub(super) fn failures(&self) -> usize {
        let failed = |iteration: &&Iteration| iteration.outcome != Outcome::Done;
        self.iterations.iter().filter(failed).count()
    }

    /// How often a note stood in a prompt.
    pub(super) fn showings(&self) -> usize {
        self.iterations.iter().map(|iteration| iteration.shown.len()).sum()
    }

    fn place_of(&mut self, id: &str, prompt: &str) -> usize {
        let known = self.notes.iter().position(|note| note.id == id);
        known.unwrap_or_else(|| {
            self.notes.push(Note {
                id: id.to_owned(),
                text: quoted_below(prompt, id),
            });
            self.notes.len() - 1
        })
    }
}

/// The text of a note as it stands in a prompt: quoted, below its id.
fn quoted_below(prompt: &str, id: &str) -> String {
    let heading = format!("### {id}");
    let lines = prompt.lines().skip_while(|line| *line != heading).skip(1);
    let quoted: Vec<&str> = lines.map_while(|line| line.strip_prefix("> ")).collect();
    quoted.join(" ")
}
