//! Examines what a turn changed on disk and runs the gates, in its own thread since both may take long.

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
use crate::gates::{Baseline, GateEnd, GateEvent, GateResult, GateRunner};
use crate::heartbeat::INTERVAL;
use crate::inbox::Sender;
use crate::rules::Rules;
use crate::run_folder::IterationFolder;
use crate::state::{BaselineOf, Current, Examined, Gates, Place, ToExamine};

/// How many columns of file names a warning shows.
const NAMES_COLUMNS: usize = 300;
/// The maximum size of a kept diff.
const PATCH_BYTES: usize = 4 << 20;

impl Runner<'_> {
    /// Runs the gates before the first iteration.
    pub(super) fn run_baseline(&mut self, current: &Current, wanted: BaselineOf) -> Result<(), RunError> {
        let mut runner = self.gate_runner(current, Baseline::default())?;
        if wanted == BaselineOf::Checks {
            runner.commands.clone_from(&current.checks);
        }
        let left = self.store.baseline_of_unfinished(&self.site.worktree, &self.run)?;
        // A baseline written by another version is ignored.
        let left = left.and_then(|json| serde_json::from_str(&json).ok());
        let (sender, stop) = (self.sender.clone(), self.stop_gates.clone());
        let volumes = self.volumes();
        self.examiner = Some(spawn_thread("gates", sender, move |sender| {
            let results = run_and_report(&runner, sender, &stop);
            if are_red(&results) && volumes.are_full() {
                return Incoming::DiskFull;
            }
            Incoming::Baseline { results, left }
        })?);
        Ok(())
    }

    /// Finds out what changed, and runs the gates.
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
        let volumes = self.volumes();
        self.examiner = Some(spawn_thread("examine", sender, move |sender| {
            let examined = examination.run(sender, &stop);
            // A snapshot or gate that failed while the disk is full says nothing about the work.
            if (examined.unseen.is_some() || are_red(&examined.gates)) && volumes.are_full() {
                return Incoming::DiskFull;
            }
            if let Some(reason) = &examined.unseen {
                let warning = format!("Some changes may have been missed: {reason}");
                drop(sender.send(Incoming::Warning(warning)));
            }
            Incoming::Examined(examined)
        })?);
        Ok(())
    }

    /// The snapshot from before this run's first attempt at a task.
    fn before_task(&mut self, current: &Current) -> Option<Snapshot> {
        let before = current
            .before
            .as_deref()
            .and_then(|json| serde_json::from_str::<Snapshot>(json).ok())?;
        let first = self.before_tasks.entry(current.task.clone()).or_insert(before);
        Some(first.clone())
    }

    /// When the run of an iteration was certainly dead: it would have shown activity by then, in the database or in the
    /// iteration folder. `None` for this run.
    fn dead_since(&self, current: &Current) -> Result<Option<SystemTime>, RunError> {
        if current.run == self.run {
            return Ok(None);
        }
        let heartbeat = self.store.run(&current.run)?.map(|run| SystemTime::from(run.heartbeat));
        let last_activity = heartbeat.max(folder_of(self.site, current).last_written());
        Ok(last_activity.and_then(|sign| sign.checked_add(INTERVAL)))
    }

    /// The gates, with the environment of the agent and the results from before.
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

/// Runs slow work in its own thread and sends the result. A panic is sent as an error, so the run never waits forever.
pub(super) fn spawn_thread(
    name: &str,
    sender: Sender<Incoming>,
    work: impl FnOnce(&Sender<Incoming>) -> Incoming + Send + 'static,
) -> io::Result<JoinHandle<()>> {
    thread::Builder::new().name(name.to_owned()).spawn(move || {
        let result = catch_unwind(AssertUnwindSafe(|| work(&sender)));
        let incoming = result.unwrap_or_else(|_| Incoming::Broken("an internal thread of ralph panicked".to_owned()));
        // The receiver no longer exists once the run is over.
        drop(sender.send(incoming));
    })
}

/// Checks whether the evidence basis has changed.
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

/// An examination of what a turn changed.
struct Examination {
    files: ProjectFiles,
    folder: IterationFolder,
    before: Option<Snapshot>,
    writes: Vec<String>,
    /// When the run was certainly dead, if it is another one.
    dead_since: Option<SystemTime>,
    /// Whether an earlier attempt at the task changed anything.
    changed_before: bool,
    basis: BasisCheck,
    rules: Rules,
    /// The snapshot from before the first attempt, for work in the project itself.
    before_task: Option<Snapshot>,
    gates: Option<GateRunner>,
}

impl Examination {
    fn run(self, sender: &Sender<Incoming>, stop: &StopHandle) -> Examined {
        let changes = match &self.before {
            Some(before) => self.changes_since(before, sender),
            // Without the earlier state, nothing may be reported as unchanged.
            None => Changes {
                degraded: Some("the state before the attempt is not recorded".to_owned()),
                ..Changes::default()
            },
        };
        let basis_changed = self.basis.changed();
        let unseen = self.unseen_writes();
        let changed_something = !changes.changed_nothing() || !unseen.is_empty();
        let mut files: BTreeSet<String> = changes.files.into_iter().collect();
        files.extend(unseen);
        if changes.degraded.is_some() {
            // The files that the agent says it wrote are better than nothing.
            files.extend(self.writes.iter().filter(|file| self.files.is_work(file)).cloned());
        }
        self.exclude_later_files(&mut files, sender);
        let denied = self.denied();
        let gates = self.gates.map(|runner| run_and_report(&runner, sender, stop));
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

    /// Why a guardrail refuses the changes of all attempts of the run. Reverted changes do not count.
    fn denied(&self) -> Option<String> {
        let before = self.before_task.as_ref().filter(|_| !self.rules.is_empty())?;
        let changes = self.files.changes(before, &self.files.snapshot());
        let files: Vec<&str> = changes.files.iter().map(String::as_str).collect();
        self.rules.refusal(&files)
    }

    /// Files that the agent wrote but no snapshot shows. Its prompt was written just before the turn began.
    fn unseen_writes(&self) -> BTreeSet<String> {
        match std::fs::metadata(self.folder.prompt()).and_then(|metadata| metadata.modified()) {
            Ok(begun) => self.files.unseen(&self.writes, begun),
            Err(_) => BTreeSet::new(),
        }
    }

    /// Files written after the run died belong to someone else and must not be committed with the task.
    fn exclude_later_files(&self, files: &mut BTreeSet<String>, sender: &Sender<Incoming>) {
        let Some(dead_since) = self.dead_since else { return };
        let later: Vec<String> = files
            .extract_if(.., |file| self.files.is_written_after(file, dead_since))
            .collect();
        if !later.is_empty() {
            let names = preview(&later.join(", "), NAMES_COLUMNS);
            let warning = format!("Changed after the run was killed, so not counted as the attempt's work: {names}");
            drop(sender.send(Incoming::Warning(warning)));
        }
    }

    fn changes_since(&self, before: &Snapshot, sender: &Sender<Incoming>) -> Changes {
        let mut after = self.files.snapshot();
        if ProjectFiles::differ_in_kind(before, &after) {
            // Whatever blocked git may be over now.
            after = self.files.snapshot();
        }
        if let Err(reason) = self.write_patch(before, &after) {
            // The diff is only informational; the settlement does not depend on it.
            let warning = format!("Could not save the diff of the attempt: {reason}");
            drop(sender.send(Incoming::Warning(warning)));
        }
        self.files.changes(before, &after)
    }

    fn write_patch(&self, before: &Snapshot, after: &Snapshot) -> Result<(), String> {
        let Some(patch) = self.files.patch(before, after, PATCH_BYTES)? else {
            return Ok(());
        };
        let mut text = clean(&patch.text, PATCH_BYTES);
        // Tools reject a patch without a final line break.
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

/// Whether a gate ran and did not pass.
fn are_red(gates: &[GateResult]) -> bool {
    gates
        .iter()
        .any(|gate| !gate.is_green() && gate.end != GateEnd::Stopped)
}

pub(super) fn run_and_report(runner: &GateRunner, sender: &Sender<Incoming>, stop: &StopHandle) -> Vec<GateResult> {
    runner.run(stop, |event| {
        let incoming = match event {
            GateEvent::Started(command) => Incoming::GateBegins(command.to_owned()),
            GateEvent::Finished(result) => Incoming::Gate(result.clone()),
        };
        drop(sender.send(incoming));
    })
}
