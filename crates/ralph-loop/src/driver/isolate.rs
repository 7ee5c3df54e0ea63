//! Work in a checkout: creating it for a task, exchanging notes with the project, and landing its work.

use std::path::{Path, PathBuf};

use ralph_model::{NoteFileKind, TaskId, TaskStatus, UnverifiedReason};
use ralph_notes::{Document, Entry, FileError, LockedFile, LockedFolder, Patches, merge};
use ralph_process::StopHandle;
use ralph_process::git::{Git, GitError};
use ralph_store::{CheckoutRecord, LandingRecord};

use super::examine::{run_and_report, spawn_thread};
use super::{Incoming, RunError, Runner};
use crate::checkout::{
    Base, Checkout, CommitOptions, Committed, Extras, LandError, Landed, MoveResult, NoteEdit, branch_of,
    finish_landing, land, tip_of,
};
use crate::gates::{Baseline, GateRunner};
use crate::inbox::Sender;
use crate::rules::Rules;
use crate::run_folder::run_folder;
use crate::state::{Confirmed, Current, Input, LandedWork, PendingSettlement, Place, WorkCommit};
use crate::watch::RunEvent;

/// How many names to try for the branch of a run.
const MAX_BRANCHES: u32 = 100;

impl Runner<'_> {
    /// The folder in which an iteration works.
    pub(super) fn work_root(&self, current: &Current) -> PathBuf {
        match (current.place, &self.site.isolation) {
            (Place::Checkout, Some(isolation)) => isolation.root_of(&current.task),
            _ => self.site.root.clone(),
        }
    }

    /// The checkout of an iteration; `None` for work in the project itself.
    pub(super) fn checkout(&self, current: &Current) -> Result<Option<Checkout>, RunError> {
        match current.place {
            Place::Checkout => self.checkout_of(&current.task).map(Some),
            Place::Project => Ok(None),
        }
    }

    fn checkout_of(&self, task: &TaskId) -> Result<Checkout, RunError> {
        let Some(isolation) = &self.site.isolation else {
            return Err(RunError::Other(format!(
                "there is no folder for the checkout of {task}"
            )));
        };
        Checkout::of(&self.site.root, &isolation.work, task).map_err(RunError::Other)
    }

    /// The record of a checkout. An interrupted update of its files is finished first.
    pub(super) fn checkout_record(&mut self, checkout: &Checkout) -> Result<Option<CheckoutRecord>, RunError> {
        let mut record = self.store.checkout_of(checkout.task())?;
        let Some(record) = record.take_if(|_| checkout.exists()) else {
            return Ok(record);
        };
        checkout.unlock().map_err(RunError::Other)?;
        let failed = |error: LandError| RunError::Other(error.to_string());
        let moved = checkout.finish_move(&record.branch, &record.base_commit);
        Ok(Some(match moved.map_err(failed)? {
            Some(base_commit) => self.record_move(checkout, record, base_commit)?,
            None => record,
        }))
    }

    /// Records the new base commit of a checkout.
    fn record_move(
        &mut self,
        checkout: &Checkout,
        record: CheckoutRecord,
        base_commit: String,
    ) -> Result<CheckoutRecord, RunError> {
        let record = CheckoutRecord { base_commit, ..record };
        self.store.put_checkout(&record)?;
        let ended = checkout.moved_to(&record.base_commit);
        ended.map_err(|error| RunError::Other(error.to_string()))?;
        Ok(record)
    }

    fn base(&self) -> Result<Base, RunError> {
        let base = self.base.clone();
        base.ok_or_else(|| RunError::Other("this run has no base branch".to_owned()))
    }

    /// Decides where the run lands. A detached HEAD gets a branch of the run.
    pub(super) fn begin_isolated(&mut self) -> Result<(), RunError> {
        let Some(isolation) = &self.site.isolation else {
            return Ok(());
        };
        // An agent in a sandbox can write to existing folders but not create them.
        for folder in self
            .site
            .notes
            .iter()
            .filter_map(|note_repository| note_repository.path.parent())
        {
            std::fs::create_dir_all(folder)?;
        }
        let base = match &isolation.base {
            Some(base) => base.clone(),
            None => {
                let base = Base::of_run(&self.run);
                let made = match tip_of(&self.site.root, &base) {
                    // A start that failed on a full disk is repeated.
                    Ok(Some(_)) => Ok(String::new()),
                    Ok(None) => Git::change(&self.site.root)
                        .run(["update-ref", base.reference(), "HEAD", ""])
                        .and_then(|answer| answer.text()),
                    Err(error) => Err(error),
                };
                made.map_err(|error| RunError::Other(error.to_string()))?;
                base
            }
        };
        self.base = Some(base);
        Ok(())
    }

    /// Deletes the branch of the run if nothing landed on it.
    pub(super) fn drop_unused_base(&mut self) {
        let own = Base::of_run(&self.run);
        let (Some(base), Some(commit)) = (&self.base, &self.site.commit) else {
            return;
        };
        if *base != own {
            return;
        }
        // If something has landed, git refuses because the branch has moved.
        let deleted = Git::change(&self.site.root).run(["update-ref", "-d", own.reference(), commit]);
        if let Err(error) = deleted {
            self.warn(&error.to_string());
        }
    }

    /// Creates the checkout of a task, or reuses that of earlier attempts.
    pub(super) fn check_out(&mut self, current: &Current) -> Result<Option<Input>, RunError> {
        let (base, checkout) = (self.base()?, self.checkout_of(&current.task)?);
        let record = self.checkout_record(&checkout)?;
        if let Some(landed) = self.landed_before(record.as_ref(), &checkout)? {
            let unverified = landed.confirmed.unverified.map(reviewed_for);
            self.store.mark_landed(
                (&current.task, &self.run, current.fence),
                (&landed.base, &landed.commit),
                unverified.as_ref(),
                self.site.clock.now(),
            )?;
            self.remove_checkout(&checkout, record.as_ref());
            return Ok(Some(Input::LandedBefore));
        }
        if checkout.exists() && checkout.is_set_up() && record.is_some() {
            return Ok(Some(Input::CheckedOut));
        }
        let (record, work) = self.new_checkout(current, &base, &checkout, record)?;
        self.store.put_checkout(&record)?;
        let extras = Extras::of(&self.site.config.worktree).map_err(RunError::Other)?;
        let setup = GateRunner {
            commands: self.site.config.worktree.setup.clone(),
            timeout: self.site.config.verify.timeout,
            folder: checkout.root(),
            environment: super::prepare::environment(self.site, current)?,
            marker: current.marker.clone(),
            before: Baseline::default(),
        };
        let (sender, stop, volumes) = (self.sender.clone(), self.stop_gates.clone(), self.volumes());
        self.examiner = Some(spawn_thread("check out", sender, move |sender| {
            let made = checkout
                .create(&record.branch, &record.base_commit, &work)
                .and_then(|()| extras.put_into(&checkout))
                .and_then(|()| set_up(&setup, sender, &stop))
                .and_then(|()| checkout.mark_set_up());
            if made.is_err() {
                // The next attempt creates it again.
                drop(checkout.remove());
                if volumes.are_full() {
                    return Incoming::DiskFull;
                }
            }
            Incoming::CheckedOut(made)
        })?);
        Ok(None)
    }

    /// The record for a new checkout, and the commit whose files it gets: the tip of the base, or the work of earlier
    /// attempts.
    fn new_checkout(
        &self,
        current: &Current,
        base: &Base,
        checkout: &Checkout,
        record: Option<CheckoutRecord>,
    ) -> Result<(CheckoutRecord, String), RunError> {
        let failed = |error: GitError| RunError::Other(error.to_string());
        let tip = tip_of(&self.site.root, base)
            .map_err(failed)?
            .ok_or_else(|| RunError::Other(format!("the branch {} is missing", base.branch())))?;
        let Some(record) = record else {
            let record = CheckoutRecord {
                task: current.task.clone(),
                branch: branch_of(&current.task, &current.task_title),
                base: base.reference().to_owned(),
                base_commit: tip.clone(),
                landing: None,
            };
            return Ok((record, tip));
        };
        let kept = checkout.resolve(&format!("refs/heads/{}", record.branch));
        let work = kept.map_err(failed)?.unwrap_or_else(|| tip.clone());
        // The missing checkout may have moved to another base since the branch was kept.
        let base_commit = checkout.merge_base(&work, &tip).map_err(failed)?;
        let base_commit = base_commit.unwrap_or_else(|| record.base_commit.clone());
        Ok((CheckoutRecord { base_commit, ..record }, work))
    }

    /// The work that an earlier run landed, or that can land now.
    pub(super) fn landed_before(
        &mut self,
        record: Option<&CheckoutRecord>,
        checkout: &Checkout,
    ) -> Result<Option<LandedWork>, RunError> {
        let Some((record, landing)) = record.and_then(|record| Some((record, record.landing.as_ref()?))) else {
            return Ok(None);
        };
        let confirmed: Option<Confirmed> = serde_json::from_str(&landing.evidence).ok();
        let is_landed = finish_landing(checkout, &Base::new(record.base.clone()), &landing.commit)
            .map_err(|error| RunError::Other(error.to_string()))?;
        match confirmed.filter(|_| is_landed) {
            Some(confirmed) => Ok(Some(LandedWork {
                commit: landing.commit.clone(),
                base: record.base.clone(),
                confirmed,
            })),
            None => {
                let record = CheckoutRecord {
                    landing: None,
                    ..record.clone()
                };
                self.store.put_checkout(&record)?;
                Ok(None)
            }
        }
    }

    /// Copies the project's current notes into the checkout.
    pub(super) fn copy_notes(&self, current: &Current) -> Result<(), RunError> {
        match self.checkout(current)? {
            Some(checkout) => checkout.copy_notes(&self.site.own.notes).map_err(RunError::Other),
            None => Ok(()),
        }
    }

    /// Merges the agent's edits of the notes in its checkout into those of the project, entry by entry.
    pub(super) fn merge_notes_back(&mut self, current: &Current) {
        let edits = match self.checkout(current) {
            Ok(Some(checkout)) if checkout.exists() => checkout.note_edits(&self.site.own.notes),
            Ok(_) => return,
            Err(error) => Err(error.to_string()),
        };
        let edits = match edits {
            Ok(edits) => edits,
            Err(error) => return self.warn(&error),
        };
        for edit in edits {
            if let Err(error) = self.merge_edit(&edit) {
                let path = edit.path.display();
                self.warn(&format!(
                    "Could not merge the agent's edits of {path} into the project's file: {error}"
                ));
            }
        }
    }

    fn merge_edit(&self, edit: &NoteEdit) -> Result<(), String> {
        let path = self.site.root.join(&edit.path);
        let failed = |error: FileError| error.to_string();
        let Some(note_repository) = self
            .site
            .notes
            .iter()
            .find(|note_repository| note_repository.path == path)
        else {
            return self.merge_knowledge_entry(&path, edit).map_err(failed);
        };
        let before = without_deleted(note_repository.file_kind, &edit.before, &edit.after);
        let mut locked = LockedFile::lock(&path, &note_repository.patience).map_err(failed)?;
        let updated = locked.update(b"", |ours| {
            let merged = merge(note_repository.file_kind, &before, ours, &edit.after)
                .map_err(|error| Refused(error.to_string()))?;
            Ok::<_, Refused>(Patches::whole(ours, merged.bytes))
        });
        updated.map(drop).map_err(|Refused(error)| error)
    }

    /// A knowledge entry is a file. If the project's version has changed, both are kept.
    fn merge_knowledge_entry(&self, path: &Path, edit: &NoteEdit) -> Result<(), FileError> {
        const STAGED: &str = ".checkout.ralph-staged";
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
            return Ok(());
        };
        let name = name.to_string_lossy().into_owned();
        let mut folder = LockedFolder::lock(folder, &self.site.knowledge.patience)?;
        let ours = folder.read(&name)?;
        match ours {
            Some(ours) if ours.bytes == edit.after => Ok(()),
            Some(ours) if ours.bytes == edit.before => {
                folder.stage(STAGED, &edit.after, Some(&ours))?;
                folder.place_over(STAGED, &name, &ours).map(drop)
            }
            ours => {
                let stem = name.trim_end_matches(".md");
                let first = ours.is_none().then(|| name.clone());
                let names = first
                    .into_iter()
                    .chain((2..).map(|number| format!("{stem}-{number}.md")));
                folder.stage(STAGED, &edit.after, None)?;
                for name in names {
                    if folder.place_new(STAGED, &name)? {
                        break;
                    }
                }
                Ok(())
            }
        }
    }

    /// Commits the work of a checkout on the tip of the base, in its own thread since hooks may take long.
    pub(super) fn commit_work(&mut self, draft: &PendingSettlement) -> Result<Option<Input>, RunError> {
        let changed = self.changed_programs(draft)?;
        if !changed.is_empty() {
            return Ok(Some(Input::ProgramsChanged(changed)));
        }
        let current = &draft.current;
        let (base, checkout) = (self.base()?, self.checkout_of(&current.task)?);
        let Some(record) = self.checkout_record(&checkout)? else {
            let why = format!("the checkout of {} has no record", current.task);
            return Ok(Some(Input::WorkCommitted(WorkCommit::Failed(why))));
        };
        let message = message_of(current);
        let (own, root, rules) = (self.site.own.clone(), self.site.root.clone(), self.site.rules.clone());
        let extras = Extras::of(&self.site.config.worktree).map_err(RunError::Other)?.paths();
        let (stop, marker) = (self.stop_gates.clone(), current.marker.clone());
        let (sender, volumes) = (self.sender.clone(), self.volumes());
        self.examiner = Some(spawn_thread("commit", sender, move |_| {
            let options = CommitOptions {
                base_commit: &record.base_commit,
                message: &message,
                own: &own,
                extras: &extras,
                rules: &rules,
            };
            let committed = checkout.commit_with_hooks(&options, (&stop, &marker)).and_then(|committed| {
                let Committed::Commit(commit) = committed else {
                    return Ok((WorkCommit::Nothing, None));
                };
                let tip = tip_of(&root, &base)?;
                let tip = tip.ok_or_else(|| LandError::Git(format!("the branch {} is missing", base.branch())))?;
                if tip == record.base_commit {
                    return Ok((WorkCommit::Ready(commit), None));
                }
                let work = (commit.as_str(), record.base_commit.as_str());
                let result = match checkout.move_onto(&record.branch, work, &tip)? {
                    MoveResult::Clean => WorkCommit::Moved,
                    MoveResult::Conflict { files, hunks } => WorkCommit::Refused(format!(
                        "It conflicts with the base branch in {}. The files have conflict markers; resolve them.\n{hunks}",
                        files.join(", ")
                    )),
                };
                Ok((result, Some(tip)))
            });
            let (result, base_commit) = match committed {
                Ok(committed) => committed,
                Err(_) if volumes.are_full() => return Incoming::DiskFull,
                Err(LandError::Refused(why)) => (WorkCommit::Refused(why), None),
                Err(LandError::Git(why)) => (WorkCommit::Failed(why), None),
            };
            Incoming::WorkCommitted {
                task: record.task,
                result,
                base_commit,
            }
        })?);
        Ok(None)
    }

    /// Continues once the work of a checkout is committed, and moved if the base moved.
    pub(super) fn work_committed(&mut self, task: &TaskId, result: WorkCommit, base_commit: Option<String>) -> Input {
        let recorded = base_commit.map_or(Ok(()), |base_commit| {
            let record = self.store.checkout_of(task)?;
            let moved = record.map(|record| self.record_move(&self.checkout_of(task)?, record, base_commit));
            moved.transpose().map(drop)
        });
        match recorded {
            Ok(()) => Input::WorkCommitted(result),
            Err(error) => Input::Failed(error.to_string()),
        }
    }

    /// Records that a commit is about to land.
    pub(super) fn record_landing(&mut self, draft: &PendingSettlement, commit: &str) -> Result<Input, RunError> {
        let current = &draft.current;
        let base = self.base()?;
        if let Some(record) = self.store.checkout_of(&current.task)? {
            let base = base.reference().to_owned();
            self.store.put_checkout(&CheckoutRecord { base, ..record })?;
        }
        let confirmed = Confirmed {
            evidence: draft.evidence(),
            unverified: draft.unverified.as_ref().map(ralph_model::Unverified::reason),
        };
        let landing = LandingRecord {
            commit: commit.to_owned(),
            evidence: serde_json::to_string(&confirmed)?,
        };
        let claim = (&current.run, current.fence);
        let is_ours = self.store.begin_landing(&current.task, claim, &landing)?;
        Ok(Input::LandingRecorded(is_ours))
    }

    /// Makes a commit the tip of the base. If local changes of the user are in the way, the run switches to its own
    /// base branch.
    pub(super) fn land(&mut self, draft: &PendingSettlement, commit: &str) -> Result<Input, RunError> {
        let task = &draft.current.task;
        let base = self.base()?;
        let failed = |error: LandError| RunError::Other(format!("the work of {task} could not land: {error}"));
        let Some(record) = self.store.checkout_of(task)? else {
            return Err(RunError::Other(format!("the checkout of {task} has no record")));
        };
        let top = self.site.root.as_path();
        match land(top, &base, (&record.base_commit, commit)).map_err(failed)? {
            Landed::Done => Ok(Input::Landed(base.reference().to_owned())),
            Landed::Moved => {
                self.store.put_checkout(&CheckoutRecord {
                    landing: None,
                    ..record
                })?;
                Ok(Input::BaseMoved)
            }
            Landed::InTheWay(said) => {
                let own = self.free_base().map_err(failed)?;
                let base = own.reference().to_owned();
                self.store.put_checkout(&CheckoutRecord {
                    base: base.clone(),
                    ..record
                })?;
                let made = Git::change(&self.site.root).run(["update-ref", &base, commit, ""]);
                made.and_then(|answer| answer.text())
                    .map_err(|error| RunError::Other(error.to_string()))?;
                self.warn(&format!(
                    "This run lands on {} from now on, because local changes are in the way: {said}",
                    own.branch()
                ));
                self.base = Some(own);
                Ok(Input::Landed(base))
            }
        }
    }

    /// A branch name of the run that is still free.
    fn free_base(&self) -> Result<Base, LandError> {
        let first = Base::of_run(&self.run);
        let more = (2..MAX_BRANCHES).map(|number| Base::new(format!("{}-{number}", first.reference())));
        for base in std::iter::once(first.clone()).chain(more) {
            if tip_of(&self.site.root, &base)?.is_none() {
                return Ok(base);
            }
        }
        Err(LandError::Git("there are too many branches of this run".to_owned()))
    }

    /// Cleans up after a settlement: a checkout whose work landed is removed, other work is kept as a branch.
    pub(super) fn after_settlement(&mut self, draft: &PendingSettlement, status: Option<TaskStatus>) {
        let current = &draft.current;
        let checkout = match self.checkout(current) {
            Ok(Some(checkout)) => checkout,
            Ok(None) => return,
            Err(error) => return self.warn(&error.to_string()),
        };
        let record = match self.checkout_record(&checkout) {
            Ok(record) => record,
            Err(error) => return self.warn(&error.to_string()),
        };
        match status {
            Some(TaskStatus::Done) if draft.landed_on.is_some() => {
                self.keep_scratchpad_of(current);
                self.remove_checkout(&checkout, record.as_ref());
            }
            Some(TaskStatus::Pending | TaskStatus::Blocked) => self.keep_work(&checkout, record, &message_of(current)),
            Some(_) => {
                self.keep_work(&checkout, record, &message_of(current));
                self.keep_scratchpad_of(current);
                if let Err(error) = checkout.remove() {
                    self.warn(&error);
                }
            }
            // Another run has the task.
            None => {}
        }
    }

    /// Keeps the work of a checkout as a branch.
    fn keep_work(&mut self, checkout: &Checkout, record: Option<CheckoutRecord>, message: &str) {
        let Some(record) = record.filter(|_| checkout.exists()) else {
            return;
        };
        let extras = Extras::of(&self.site.config.worktree).unwrap_or_default().paths();
        let own_commits = checkout.fetch_own_commits(&record.base_commit);
        let options = CommitOptions {
            base_commit: own_commits.as_deref().unwrap_or(&record.base_commit),
            message,
            own: &self.site.own,
            extras: &extras,
            // This commit does not land.
            rules: &Rules::default(),
        };
        let kept = checkout
            .commit(&options)
            .and_then(|committed| match (committed, own_commits.clone()) {
                (Committed::Commit(commit), _) | (Committed::Nothing, Some(commit)) => {
                    checkout.keep_branch(&record.branch, &commit).map(Some)
                }
                (Committed::Nothing, None) => Ok(None),
            });
        let kept = match kept {
            Ok(Some(branch)) if branch != record.branch => self
                .store
                .put_checkout(&CheckoutRecord { branch, ..record })
                .map_err(|error| error.to_string()),
            Ok(_) => Ok(()),
            Err(error) => Err(error.to_string()),
        };
        if let Err(error) = kept {
            self.warn(&format!("Could not keep the work as a branch: {error}"));
        }
    }

    /// Removes a checkout whose work has landed, and its branch.
    fn remove_checkout(&mut self, checkout: &Checkout, record: Option<&CheckoutRecord>) {
        let removed = match record {
            Some(record) => checkout.delete_ref(&format!("refs/heads/{}", record.branch)),
            None => Ok(()),
        };
        if let Err(error) = removed.and_then(|()| checkout.remove()) {
            return self.warn(&error);
        }
        if let Some(record) = record
            && let Err(error) = self.store.forget_checkout(&record.task)
        {
            self.warn(&error.to_string());
        }
    }

    /// Removes checkouts of done, failed or deleted tasks that a killed run left behind.
    pub(super) fn tidy_checkouts(&mut self) {
        if self.site.isolation.is_none() {
            return;
        }
        let all = match self.store.checkouts() {
            Ok(all) => all,
            Err(error) => return self.warn(&error.to_string()),
        };
        for (record, status) in all {
            let checkout = match self.checkout_of(&record.task) {
                Ok(checkout) => checkout,
                Err(error) => return self.warn(&error.to_string()),
            };
            let is_landed = record.landing.is_some() && status == Some(TaskStatus::Done);
            match status {
                Some(TaskStatus::Done) if is_landed => self.remove_checkout(&checkout, Some(&record)),
                None | Some(TaskStatus::Done | TaskStatus::Failed) if checkout.exists() => {
                    let record = match self.checkout_record(&checkout) {
                        Ok(record) => record,
                        Err(error) => return self.warn(&error.to_string()),
                    };
                    let message = format!("Work on {}\n", checkout.task());
                    self.keep_work(&checkout, record, &message);
                    if let Err(error) = checkout.remove() {
                        self.warn(&error);
                    }
                }
                _ => {}
            }
        }
    }

    /// Moves the scratchpad of a task to the folder of the run when its checkout is removed.
    fn keep_scratchpad_of(&mut self, current: &Current) {
        let name = format!("scratchpad-{}.md", current.task);
        let kept = run_folder(&self.site.runs, &self.run)
            .map_err(|error| error.to_string())
            .and_then(|folder| {
                let moved = self.scratchpad(current).move_to(&folder.join(name));
                moved.map_err(|error| error.to_string())
            });
        if let Err(error) = kept {
            self.warn(&format!("Could not keep the scratchpad of {}: {error}", current.task));
        }
    }

    fn warn(&mut self, warning: &str) {
        self.watch.tell(&RunEvent::Warning(warning));
    }
}

/// Runs the set-up commands in a new checkout.
fn set_up(setup: &GateRunner, sender: &Sender<Incoming>, stop: &StopHandle) -> Result<(), String> {
    let results = run_and_report(setup, sender, stop);
    match results.iter().find(|result| !result.is_green()) {
        Some(failed) => Err(format!(
            "the set-up command `{}` failed in the checkout: {}",
            failed.command, failed.why
        )),
        None => Ok(()),
    }
}

/// The earlier notes without the entries that are now missing. `git stash` and `git checkout` remove entries that the
/// agent did not mean to delete, so deletions are not merged.
fn without_deleted(file_kind: NoteFileKind, before: &[u8], after: &[u8]) -> Vec<u8> {
    let (before, after) = (Document::parse(file_kind, before), Document::parse(file_kind, after));
    let is_missing = |entry: &&Entry| after.find(before.id(entry)).next().is_none();
    let missing: Vec<&Entry> = before.entries().iter().filter(is_missing).collect();
    before.delete(&missing).apply(before.bytes())
}

/// An error while merging notes.
struct Refused(String);

impl From<FileError> for Refused {
    fn from(error: FileError) -> Self {
        Self(error.to_string())
    }
}

fn reviewed_for(reason: UnverifiedReason) -> ralph_model::Unverified {
    ralph_model::Unverified::from_parts(reason, Vec::new())
}

fn message_of(current: &Current) -> String {
    format!("{}\n\nTask: {}\n", current.task_title, current.task)
}
