//! What a turn has left on disk, and what the gates say: in a thread of its own, since both may take long.

use std::collections::BTreeSet;
use std::sync::mpsc::SyncSender;

use ralph_memory::capture::clean;
use ralph_process::StopHandle;

use super::prepare::{environment, folder_of, project_files};
use super::{Incoming, RunError, Runner};
use crate::changes::{Changes, ProjectFiles, Snapshot};
use crate::gates::GateRunner;
use crate::run_folder::IterationFolder;
use crate::state::{Current, Examined, Gates};

/// The most that is kept of a diff.
const PATCH_BYTES: usize = 4 << 20;

impl Runner<'_> {
    /// Runs the gates before the first iteration.
    pub(super) fn run_baseline(&mut self) -> Result<(), RunError> {
        let runner = self.gate_runner(None)?;
        let left = self.store.baseline_of_unfinished(&self.site.worktree, &self.run)?;
        // What another version wrote cannot be held against anybody.
        let left = left.and_then(|json| serde_json::from_str(&json).ok());
        let (sender, stop) = (self.sender.clone(), self.stop_gates.clone());
        let examiner = std::thread::Builder::new().name("gates".to_owned()).spawn(move || {
            let results = run_and_tell(&runner, &sender, &stop);
            // Nobody listens any more when the run is over.
            drop(sender.send(Incoming::Baseline { results, left }));
        })?;
        self.examiner = Some(examiner);
        Ok(())
    }

    /// Sees what changed, and asks the gates.
    pub(super) fn examine(&mut self, current: &Current, writes: &[String], gates: Gates) -> Result<(), RunError> {
        let examination = Examination {
            files: project_files(self.site, current)?,
            folder: folder_of(self.site, current),
            before: current
                .before
                .as_deref()
                .and_then(|json| serde_json::from_str(json).ok()),
            writes: writes.to_vec(),
            gates: match gates {
                Gates::Run => Some(self.gate_runner(Some(current))?),
                Gates::Skip => None,
            },
        };
        let (sender, stop) = (self.sender.clone(), self.stop_gates.clone());
        let examiner = std::thread::Builder::new().name("examine".to_owned()).spawn(move || {
            let examined = examination.run(&sender, &stop);
            drop(sender.send(Incoming::Examined(examined)));
        })?;
        self.examiner = Some(examiner);
        Ok(())
    }

    /// The gates, with the environment that the agent has.
    fn gate_runner(&mut self, current: Option<&Current>) -> Result<GateRunner, RunError> {
        let site = self.site;
        // Should this run be killed too, the next one knows the gates of a dead run's iteration by its word.
        let left = current.and_then(|current| self.markers_left.get(&current.run));
        let marker = left.unwrap_or(&self.marker).clone();
        let environment = match current {
            Some(current) => environment(site, current, &marker)?,
            None => site.environment.clone(),
        };
        Ok(GateRunner {
            commands: site.config.verify.commands.clone(),
            timeout: site.config.verify.timeout,
            folder: site.root.clone(),
            environment,
            marker,
        })
    }
}

/// A look at what a turn has left.
struct Examination {
    files: ProjectFiles,
    folder: IterationFolder,
    before: Option<Snapshot>,
    writes: Vec<String>,
    gates: Option<GateRunner>,
}

impl Examination {
    fn run(self, sender: &SyncSender<Incoming>, stop: &StopHandle) -> Result<Examined, String> {
        let changes = match &self.before {
            Some(before) => self.changes_since(before)?,
            // Nothing is known of what was before: nobody may conclude that nothing changed.
            None => Changes {
                degraded: Some("what was before is not on record".to_owned()),
                ..Changes::default()
            },
        };
        let changed_something = !changes.changed_nothing() || self.writes.iter().any(|file| self.files.is_work(file));
        let mut files: BTreeSet<String> = changes.files.into_iter().collect();
        // A file that git ignores shows only in the agent's own calls.
        files.extend(self.writes);
        let gates = self.gates.map(|runner| run_and_tell(&runner, sender, stop));
        Ok(Examined {
            files: files.into_iter().collect(),
            changed_something,
            gates: gates.unwrap_or_default(),
        })
    }

    fn changes_since(&self, before: &Snapshot) -> Result<Changes, String> {
        let after = self.files.snapshot();
        if let Some(patch) = self.files.patch(before, &after, PATCH_BYTES)? {
            let mut text = clean(&patch.text, PATCH_BYTES);
            if patch.cut {
                text.push_str("\n(the rest is left out)\n");
            }
            let written = self
                .folder
                .create()
                .and_then(|()| self.folder.write("diff.patch", &text));
            written.map_err(|error| format!("cannot write the diff of the attempt: {error}"))?;
        }
        Ok(self.files.changes(before, &after))
    }
}

fn run_and_tell(
    runner: &GateRunner,
    sender: &SyncSender<Incoming>,
    stop: &StopHandle,
) -> Vec<crate::gates::GateResult> {
    runner.run(stop, |result| drop(sender.send(Incoming::Gate(result.clone()))))
}
