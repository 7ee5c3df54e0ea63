//! What a turn has left on disk, and what the gates say: in a thread of its own, since both may take long.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::thread::JoinHandle;
use std::time::SystemTime;
use std::{io, thread};

use ralph_memory::capture::clean;
use ralph_model::{TaskId, preview};
use ralph_process::StopHandle;
use ralph_store::EvidenceChange;

use super::before::basis_on_record;
use super::prepare::{environment, folder_of};
use super::{Incoming, RunError, Runner};
use crate::basis::{EvidenceBasis, GitPrograms, counted_changes};
use crate::changes::{Changes, ProjectFiles, Snapshot, recorded_name};
use crate::gates::{Baseline, GateEnd, GateNews, GateResult, GateRunner};
use crate::heart::INTERVAL;
use crate::inbox::Sender;
use crate::rules::Rules;
use crate::run_folder::IterationFolder;
use crate::state::{BaselineOf, Current, Examined, Gates, Place, ToExamine};

/// How many columns of the names of files stand in a warning.
const NAMES_COLUMNS: usize = 300;
/// The most that is kept of a diff.
const PATCH_BYTES: usize = 4 << 20;

impl Runner<'_> {
    /// Runs the gates before the first iteration.
    pub(super) fn run_baseline(&mut self, current: &Current, wanted: BaselineOf) -> Result<(), RunError> {
        let mut runner = self.gate_runner(current, Baseline::default())?;
        if wanted == BaselineOf::Checks {
            runner.commands.clone_from(&current.checks);
        }
        let left = self.store.baseline_of_unfinished(&self.site.worktree, &self.run)?;
        // What another version wrote cannot be held against anybody.
        let left = left.and_then(|json| serde_json::from_str(&json).ok());
        let (sender, stop) = (self.sender.clone(), self.stop_gates.clone());
        let places = self.places();
        self.examiner = Some(in_thread("gates", sender, move |sender| {
            let results = run_and_tell(&runner, sender, &stop);
            if are_red(&results) && places.are_full() {
                return Incoming::NoRoom;
            }
            Incoming::Baseline { results, left }
        })?);
        Ok(())
    }

    /// Sees what changed, and asks the gates.
    pub(super) fn examine(&mut self, what: &ToExamine) -> Result<(), RunError> {
        let ToExamine {
            current,
            writes,
            gates,
            baseline,
        } = what;
        let examination = Examination {
            files: self.project_files(current)?,
            folder: folder_of(self.site, current),
            before: current
                .before
                .as_deref()
                .and_then(|json| serde_json::from_str(json).ok()),
            writes: writes.clone(),
            dead_since: self.dead_since(current)?,
            changed_before: self.store.changed_before(&current.task)?,
            basis: BasisCheck {
                before: basis_on_record(current.before.as_deref()),
                root: self.work_root(current),
                programs: self.programs(current),
                config_files: self.config_files(current),
                task: current.task.clone(),
                unreviewed: self.store.evidence_changes()?,
            },
            rules: self.site.rules.clone(),
            before_task: match current.place {
                Place::Checkout => None,
                Place::Project => self.before_task(current),
            },
            gates: match gates {
                Gates::Run => Some(self.gate_runner(current, baseline.clone())?),
                Gates::Skip => None,
            },
        };
        let (sender, stop) = (self.sender.clone(), self.stop_gates.clone());
        let places = self.places();
        self.examiner = Some(in_thread("examine", sender, move |sender| {
            let examined = examination.run(sender, &stop);
            // A look or a gate that failed while the disk is full says nothing of the work.
            if (examined.unseen.is_some() || are_red(&examined.gates)) && places.are_full() {
                return Incoming::NoRoom;
            }
            if let Some(reason) = &examined.unseen {
                let warning = format!("Not every change was seen: {reason}");
                drop(sender.send(Incoming::Warning(warning)));
            }
            Incoming::Examined(examined)
        })?);
        Ok(())
    }

    /// What the files were before the first attempt of this run at a task.
    fn before_task(&mut self, current: &Current) -> Option<Snapshot> {
        let before = current
            .before
            .as_deref()
            .and_then(|json| serde_json::from_str::<Snapshot>(json).ok())?;
        let first = self.before_tasks.entry(current.task.clone()).or_insert(before);
        Some(first.clone())
    }

    /// When the run of an iteration was dead for sure: it would have given another sign by then, in the database or in the
    /// folder of the iteration. None for this run.
    fn dead_since(&self, current: &Current) -> Result<Option<SystemTime>, RunError> {
        if current.run == self.run {
            return Ok(None);
        }
        let heartbeat = self.store.run(&current.run)?.map(|run| SystemTime::from(run.heartbeat));
        let last_sign = heartbeat.max(folder_of(self.site, current).last_written());
        Ok(last_sign.and_then(|sign| sign.checked_add(INTERVAL)))
    }

    /// The gates, with the environment that the agent has, and what they said before.
    fn gate_runner(&self, current: &Current, before: Baseline) -> Result<GateRunner, RunError> {
        let site = self.site;
        Ok(GateRunner {
            commands: [site.config.verify.commands.as_slice(), &current.checks].concat(),
            timeout: site.config.verify.timeout,
            folder: self.work_root(current),
            environment: environment(site, current)?,
            marker: current.marker.clone(),
            before,
        })
    }
}

/// Does something that may take long in a thread of its own, and sends what comes of it. A run must not wait for ever for a
/// thread that broke down.
pub(super) fn in_thread(
    name: &str,
    sender: Sender<Incoming>,
    work: impl FnOnce(&Sender<Incoming>) -> Incoming + Send + 'static,
) -> io::Result<JoinHandle<()>> {
    thread::Builder::new().name(name.to_owned()).spawn(move || {
        let result = catch_unwind(AssertUnwindSafe(|| work(&sender)));
        let incoming = result.unwrap_or_else(|_| Incoming::Broken("a part of ralph broke down".to_owned()));
        // Nobody listens any more when the run is over.
        drop(sender.send(incoming));
    })
}

/// Looks whether what evidence rests on is what it was.
struct BasisCheck {
    before: Option<EvidenceBasis>,
    root: PathBuf,
    programs: GitPrograms,
    config_files: Vec<PathBuf>,
    task: TaskId,
    unreviewed: Vec<EvidenceChange>,
}

impl BasisCheck {
    fn changed(&self) -> Vec<EvidenceChange> {
        let Some(before) = &self.before else {
            return Vec::new();
        };
        let after = before.now(&self.root, self.programs.clone(), &self.config_files);
        counted_changes(&self.task, (before, &after), &self.unreviewed)
    }
}

/// A look at what a turn has left.
struct Examination {
    files: ProjectFiles,
    folder: IterationFolder,
    before: Option<Snapshot>,
    writes: Vec<String>,
    /// When the run was dead for sure, where it is a dead one's.
    dead_since: Option<SystemTime>,
    /// Whether an earlier attempt at the task changed anything.
    changed_before: bool,
    basis: BasisCheck,
    rules: Rules,
    /// What was before the first attempt at the task, where the work is in the project itself.
    before_task: Option<Snapshot>,
    gates: Option<GateRunner>,
}

impl Examination {
    fn run(self, sender: &Sender<Incoming>, stop: &StopHandle) -> Examined {
        let changes = match &self.before {
            Some(before) => self.changes_since(before, sender),
            // Nothing is known of what was before: nobody may conclude that nothing changed.
            None => Changes {
                degraded: Some("what was before is not on record".to_owned()),
                ..Changes::default()
            },
        };
        let basis_changed = self.basis.changed();
        let unseen = self.unseen_writes();
        let changed_something = !changes.changed_nothing() || !unseen.is_empty();
        let mut files: BTreeSet<String> = changes.files.into_iter().collect();
        files.extend(unseen);
        if changes.degraded.is_some() {
            // What the agent says that it wrote is better than nothing.
            files.extend(self.writes.iter().filter(|file| self.files.is_work(file)).cloned());
        }
        self.leave_out_strangers(&mut files, sender);
        let denied = self.denied();
        let gates = self.gates.map(|runner| run_and_tell(&runner, sender, stop));
        Examined {
            files: files.iter().map(|file| recorded_name(file)).collect(),
            changed_something,
            changed_before: self.changed_before,
            basis_changed,
            unseen: changes.degraded,
            gates: gates.unwrap_or_default(),
            denied,
        }
    }

    /// Why a guardrail refuses what all attempts of the run have changed. What is again as it was does not count.
    fn denied(&self) -> Option<String> {
        let before = self.before_task.as_ref().filter(|_| !self.rules.is_empty())?;
        let changes = self.files.changes(before, &self.files.snapshot());
        let files: Vec<&str> = changes.files.iter().map(String::as_str).collect();
        self.rules.refusal(&files)
    }

    /// The files that the agent wrote and no snapshot shows. Its prompt was written just before its turn began.
    fn unseen_writes(&self) -> BTreeSet<String> {
        match std::fs::metadata(self.folder.prompt()).and_then(|metadata| metadata.modified()) {
            Ok(begun) => self.files.unseen(&self.writes, begun),
            Err(_) => BTreeSet::new(),
        }
    }

    /// What was written after the run had died is somebody else's, and must not be committed with the task.
    fn leave_out_strangers(&self, files: &mut BTreeSet<String>, sender: &Sender<Incoming>) {
        let Some(dead_since) = self.dead_since else { return };
        let strangers: Vec<String> = files
            .extract_if(.., |file| self.files.is_written_after(file, dead_since))
            .collect();
        if !strangers.is_empty() {
            let names = preview(&strangers.join(", "), NAMES_COLUMNS);
            let warning = format!("Changed after the run was killed, so not counted as the attempt's work: {names}");
            drop(sender.send(Incoming::Warning(warning)));
        }
    }

    fn changes_since(&self, before: &Snapshot, sender: &Sender<Incoming>) -> Changes {
        let mut after = self.files.snapshot();
        if ProjectFiles::differ_in_kind(before, &after) {
            // What kept git from it may be over.
            after = self.files.snapshot();
        }
        if let Err(reason) = self.write_patch(before, &after) {
            // It is evidence; the settlement does not depend on it.
            let warning = format!("The diff of the attempt is not kept: {reason}");
            drop(sender.send(Incoming::Warning(warning)));
        }
        self.files.changes(before, &after)
    }

    fn write_patch(&self, before: &Snapshot, after: &Snapshot) -> Result<(), String> {
        let Some(patch) = self.files.patch(before, after, PATCH_BYTES)? else {
            return Ok(());
        };
        let mut text = clean(&patch.text, PATCH_BYTES);
        // Without its last line break no program takes it for a patch.
        text.push('\n');
        if patch.cut {
            text.push_str("(the rest is left out)\n");
        }
        let written = self
            .folder
            .create()
            .and_then(|()| self.folder.write("diff.patch", &text));
        written.map_err(|error| error.to_string())
    }
}

/// Whether a gate was asked and did not pass.
fn are_red(gates: &[GateResult]) -> bool {
    gates
        .iter()
        .any(|gate| !gate.is_green() && gate.end != GateEnd::Stopped)
}

pub(super) fn run_and_tell(runner: &GateRunner, sender: &Sender<Incoming>, stop: &StopHandle) -> Vec<GateResult> {
    runner.run(stop, |news| {
        let incoming = match news {
            GateNews::Begins(command) => Incoming::GateBegins(command.to_owned()),
            GateNews::Ran(result) => Incoming::Gate(result.clone()),
        };
        drop(sender.send(incoming));
    })
}
