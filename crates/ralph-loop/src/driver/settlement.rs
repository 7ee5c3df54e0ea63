//! Settles an iteration: one transaction, then its files.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use jiff::Timestamp;
use ralph_memory::capture::{KnowledgeError, Placement, TaskTags};
use ralph_model::{CapturedKnowledge, CapturedLearning, LearningId, NewJournalRow, TaskId, TaskStatus, Unverified};
use ralph_search::task_type_of;
use ralph_search::text_features;
use ralph_store::{AgentPauseChange, EvidenceChange, Settlement, StoreError, TaskChange};

use super::before::basis_on_record;
use super::examine::spawn_thread;
use super::prepare::folder_of;
use super::{Incoming, RunError, Runner};
use crate::basis::GitPrograms;
use crate::changes::{CommitError, commit_containing, commit_task, is_altered};
use crate::gates::Changed;
use crate::report::Failed;
use crate::run_folder::remove_scratch_folder;
use crate::settle::TaskTransition;
use crate::state::{Input, PendingSettlement, Place};
use crate::summary::TurnSummary;
use crate::watch::{self, RunEvent, Watch};

/// The maximum number of denials recorded for an iteration.
const MAX_DENIALS: usize = 20;

/// What a settlement means for tasks with subtasks.
enum Subtasks {
    /// This task has this many open subtasks.
    Open(TaskId, usize),
    /// These parent tasks are done as well.
    Done(Vec<TaskId>),
}

impl Subtasks {
    fn report(&self, watch: &mut dyn Watch) {
        match self {
            Self::Open(task, open) => watch.tell(&RunEvent::WaitingForSubtasks { task, parts: *open }),
            Self::Done(tasks) => tasks
                .iter()
                .for_each(|task| watch.tell(&RunEvent::DoneWithSubtasks { task })),
        }
    }
}

impl Runner<'_> {
    pub(super) fn settle(&mut self, draft: &PendingSettlement) -> Result<Input, RunError> {
        let now = self.site.clock.now();
        self.merge_notes_back(&draft.current);
        self.record_note_edits();
        let settlement = self.settlement(draft, now)?;
        let settled = self.store.settle(&settlement)?;
        let result = serde_json::json!({
            "journal": settled.journal,
            "row": settlement.row,
            "unverified": draft.unverified,
            "gates": draft.gates,
            "verification": draft.verification,
            "session": draft.turn.session,
            "commit": draft.commit.as_ref().and_then(|commit| commit.as_ref().ok()),
        });
        let folder = folder_of(self.site, &draft.current);
        let verifier_joined = draft
            .verification
            .as_ref()
            .map(|_| folder.of_verifier().join_transcript());
        if let Err(error) = folder.join_transcript().and(verifier_joined.unwrap_or(Ok(()))) {
            let warning = format!("The transcript is incomplete: {error}");
            self.watch.tell(&RunEvent::Warning(&warning));
        }
        let written = folder
            .create()
            .and_then(|()| folder.write("result.json", &format!("{result:#}\n")));
        if let Err(error) = written {
            let warning = format!("Could not write result.json; the journal has the result: {error}");
            self.watch.tell(&RunEvent::Warning(&warning));
        }
        self.after_settlement(draft, settled.task);
        self.turn = None;
        self.guided = draft.turn.guidance.is_some();
        if draft.current.run != self.run {
            remove_scratch_folder(&self.site.runs, &draft.current.run);
        }
        self.watch.tell(&RunEvent::Settled(watch::Settled {
            draft,
            task: settled.task,
            new_learnings: settled.new_learnings,
            duration: Duration::from_millis(settlement.row.duration_ms),
            folder: self.site.shown(folder.path()),
        }));
        let subtasks = self.subtasks_of(&draft.current.task, settled.task);
        if let Some(subtasks) = for_display(subtasks.map_err(RunError::from))? {
            subtasks.report(self.watch);
        }
        self.report_counts()?;
        Ok(Input::Settled)
    }

    /// What the settlement means for the task's subtasks or its parents.
    fn subtasks_of(&self, task: &TaskId, status: Option<TaskStatus>) -> Result<Subtasks, StoreError> {
        if status != Some(TaskStatus::Done) {
            let subtasks = self.store.children(task)?;
            let open = subtasks
                .iter()
                .filter(|subtask| subtask.status != TaskStatus::Done)
                .count();
            return Ok(match open {
                0 => Subtasks::Done(Vec::new()),
                open => Subtasks::Open(task.clone(), open),
            });
        }
        let mut done = Vec::new();
        let mut above = self.store.task(task)?.and_then(|task| task.parent);
        while let Some(id) = above {
            let parent = self.store.task(&id)?.filter(|parent| parent.status == TaskStatus::Done);
            // A task that was never attempted had its subtasks from the start, like a list.
            done.extend(
                parent
                    .iter()
                    .filter(|parent| parent.attempts > 0)
                    .map(|parent| parent.id.clone()),
            );
            above = parent.and_then(|parent| parent.parent);
        }
        Ok(Subtasks::Done(done))
    }

    /// Reports the task counts if the watcher follows them.
    pub(super) fn report_counts(&mut self) -> Result<(), RunError> {
        if !self.watch.follows_tasks() {
            return Ok(());
        }
        if let Some(standing) = for_display(self.standing(&self.order.scope))? {
            self.watch.tell(&RunEvent::TaskCounts(&standing));
        }
        Ok(())
    }

    fn settlement(&mut self, draft: &PendingSettlement, now: Timestamp) -> Result<Settlement, RunError> {
        let PendingSettlement {
            current,
            turn,
            decision,
            ..
        } = draft;
        let captured = &turn.captured;
        let failed = Failed::of(draft, &self.work_root(current));
        let task = self.store.task(&current.task)?;
        let description = task.map(|task| task.description).unwrap_or_default();
        let texts = [current.task_title.as_str(), description.as_str()];
        let tags = TaskTags::of(&texts, &draft.files, failed.category);
        let learnings = self.learnings_of(draft, &tags);
        let contents = learnings.iter().map(|(_, learning)| learning.content.as_str());
        let features = contents.map(text_features).collect();
        let task_type = task_type_of(&current.task_title, &description);
        Ok(Settlement {
            row: NewJournalRow {
                run: current.run.clone(),
                iteration: current.iteration,
                task: Some(current.task.clone()),
                task_title: current.task_title.clone(),
                task_type,
                tags: tags.all(),
                feature: current.feature.clone(),
                attempt: current.attempt,
                outcome: decision.outcome,
                stop: decision.stop,
                reason: decision.reason.clone(),
                model: current.model.clone(),
                model_rationale: current.rationale.clone(),
                duration_ms: draft.duration_ms(),
                usage: draft.usage(),
                files_modified: draft.files.clone(),
                changed_nothing: draft.changed == Changed::Nothing,
                evidence: draft.evidence(),
                notes: notes(turn),
                difficulty: captured.difficulty,
                error_category: failed.category,
                malformed_sigils: captured.malformed,
                denials: turn.denials.iter().take(MAX_DENIALS).cloned().collect(),
                created_at: now,
            },
            fence: current.fence,
            worktree: self.site.worktree.clone(),
            landed_on: self.landed_on(draft),
            task: self.task_change(draft),
            evidence_changes: draft.own_changes(),
            guidance: turn.guidance.clone(),
            quoted: draft.quoted().to_owned(),
            report: failed.report,
            signature: failed.signature,
            suggestion: captured.retry_suggestion.clone(),
            learnings,
            features,
            promote: self.site.config.learning.promote,
            knowledge: self.knowledge_of(draft)?,
            memory_used: self.used(&captured.memory_used),
            baseline: draft.baseline.as_ref().map(serde_json::to_string).transpose()?,
            seen_pause: current.pause.clone(),
            pause: draft.pause.clone(),
            verifier_pause: self.order.other_verifier().map(|agent| AgentPauseChange {
                agent: agent.to_owned(),
                seen: current.verifier_pause.clone(),
                change: draft.verifier_pause.clone(),
            }),
        })
    }

    /// The learnings of the turn, each with an id and the tags found for it.
    fn learnings_of(&mut self, draft: &PendingSettlement, tags: &TaskTags) -> Vec<(LearningId, CapturedLearning)> {
        let mut learnings = Vec::new();
        for learning in &draft.turn.captured.learnings {
            let mut learning = learning.clone();
            for tag in tags.with(&learning.content) {
                if !learning.tags.contains(&tag) {
                    learning.tags.push(tag);
                }
            }
            learnings.push((LearningId::new(self.entropy.next_bits()), learning));
        }
        learnings
    }

    /// The reference on which isolated work is done; `None` for work in the project itself or that has not landed.
    fn landed_on(&self, draft: &PendingSettlement) -> Option<String> {
        let waits = matches!(draft.unverified, Some(Unverified::EvidenceChanged(_)));
        match draft.current.place {
            Place::Checkout if !waits => draft
                .landed_on
                .clone()
                .or_else(|| self.base.as_ref().map(|base| base.reference().to_owned())),
            _ => None,
        }
    }

    fn task_change(&self, draft: &PendingSettlement) -> TaskChange {
        match draft.decision.task {
            TaskTransition::Done => TaskChange::Done {
                commit: draft.commit.as_ref().and_then(|commit| commit.as_ref().ok()).cloned(),
                unverified: draft.unverified.clone(),
            },
            TaskTransition::Attempt => TaskChange::Attempt {
                max_retries: self.site.config.execution.max_retries,
            },
            TaskTransition::GiveUp => TaskChange::GiveUp,
            TaskTransition::Again => TaskChange::Again,
            TaskTransition::Progress => TaskChange::Progress,
        }
    }

    /// The knowledge entries of the turn, each with the feature of its task.
    fn knowledge_of(&self, draft: &PendingSettlement) -> Result<Vec<CapturedKnowledge>, RunError> {
        let mut notes = draft.turn.captured.knowledge.clone();
        let id = draft.current.feature.as_ref().filter(|_| !notes.is_empty());
        let feature = id.map(|id| self.store.feature_of_id(id)).transpose()?.flatten();
        for note in &mut notes {
            note.feature = feature.as_ref().map(|feature| feature.name.to_string());
        }
        Ok(notes)
    }

    /// What the agent says it relied on, including the files of knowledge entries named by title.
    fn used(&mut self, reported: &[String]) -> Vec<String> {
        let mut used = reported.to_vec();
        if used.is_empty() {
            return used;
        }
        match self.site.knowledge.named(reported) {
            Ok(files) => used.extend(files),
            Err(error) => {
                let warning = format!("Could not look up which knowledge entries the agent used: {error}");
                self.watch.tell(&RunEvent::Warning(&warning));
            }
        }
        used
    }

    /// Writes the files of this and earlier settlements. Failed ones are retried next time.
    pub(super) fn finish_outbox(&mut self) -> Result<Input, RunError> {
        let site = self.site;
        let outboxed = match site.knowledge.write_outbox(&mut self.store, &site.worktree) {
            Ok(outboxed) => outboxed,
            Err(KnowledgeError::Store(error)) => return Err(RunError::Store(error)),
            Err(_) if self.volumes().are_full() => return Err(RunError::disk_full()),
            Err(error) => {
                let warning = format!("Knowledge entries are not written yet: {error}");
                self.watch.tell(&RunEvent::Warning(&warning));
                return Ok(Input::OutboxFinished);
            }
        };
        for written in &outboxed.written {
            if let Placement::Created(path) | Placement::Updated(path) = &written.placement {
                let path = self.site.shown(path);
                self.watch.tell(&RunEvent::Wrote { path });
            }
        }
        if !outboxed.failed.is_empty() && self.volumes().are_full() {
            return Err(RunError::disk_full());
        }
        for (title, error) in &outboxed.failed {
            let warning = format!("The knowledge entry {title:?} is not written yet: {error}");
            self.watch.tell(&RunEvent::Warning(&warning));
        }
        Ok(Input::OutboxFinished)
    }

    /// Commits the files of all attempts at the task, in its own thread since hooks may take long. Returns at once if
    /// there is nothing to commit or it cannot be done.
    pub(super) fn commit(&mut self, draft: &PendingSettlement) -> Result<Option<Input>, RunError> {
        let changed = self.changed_programs(draft)?;
        if !changed.is_empty() {
            return Ok(Some(Input::ProgramsChanged(changed)));
        }
        let files = match (self.files_to_commit(draft)?, &draft.unseen) {
            (Ok(files), Some(reason)) if files.is_empty() => {
                let why = format!("some changes may have been missed: {reason}");
                return Ok(Some(Input::Committed(Some(Err(why)))));
            }
            (Ok(files), None) if files.is_empty() => return Ok(Some(Input::Committed(None))),
            (Ok(files), _) => files,
            (Err(why), _) => return Ok(Some(Input::Committed(Some(Err(why))))),
        };
        let task = &draft.current.task;
        let message = format!("{}\n\nTask: {task}\n", draft.current.task_title);
        let (root, stop) = (self.site.root.clone(), self.stop_gates.clone());
        let marker = draft.current.marker.clone();
        let (sender, volumes) = (self.sender.clone(), self.volumes());
        self.examiner = Some(spawn_thread("commit", sender, move |_| {
            let committed = commit_task(&root, &files, &message, &stop, &marker);
            let committed = or_existing_commit(committed, &root, &files);
            if committed.is_err() && volumes.are_full() {
                return Incoming::DiskFull;
            }
            Incoming::Committed(committed)
        })?);
        Ok(None)
    }

    /// Programs that git would run for the commit and that no one has reviewed, or that the agent of a dead run
    /// changed.
    pub(super) fn changed_programs(&self, draft: &PendingSettlement) -> Result<Vec<EvidenceChange>, StoreError> {
        let now = GitPrograms::of(&self.site.root);
        let mut changes = self.unreviewed_programs(&draft.current.task, &now)?;
        if let Some(before) = basis_on_record(draft.current.before.as_deref()) {
            let now = self.programs(&draft.current);
            add_changes(&mut changes, &draft.current.task, (&before.git, &now));
        }
        Ok(changes)
    }

    /// Programs that git would run for a commit and that changed since the run began, or in a task that no one has
    /// reviewed.
    pub(super) fn unreviewed_programs(
        &self,
        task: &TaskId,
        now: &GitPrograms,
    ) -> Result<Vec<EvidenceChange>, StoreError> {
        let mut changes = self.store.evidence_changes()?;
        changes.retain(|change| change.in_commits && now.digest(&change.name) == change.after.as_ref());
        add_changes(&mut changes, task, (&self.programs_at_start, now));
        Ok(changes)
    }

    /// The files of all attempts, or why they cannot be committed.
    fn files_to_commit(&self, draft: &PendingSettlement) -> Result<Result<BTreeSet<String>, String>, StoreError> {
        let task = &draft.current.task;
        let history = self.store.journal_of_task(task)?;
        let earlier = history.into_iter().flat_map(|row| row.row.files_modified);
        let files: BTreeSet<String> = earlier.chain(draft.files.iter().cloned()).collect();
        if files.is_empty() {
            return Ok(Ok(files));
        }
        let Some(dirty) = self.store.dirty_before(task)? else {
            return Ok(Err("the changes before the first attempt are unknown".to_owned()));
        };
        if let Some(file) = files.iter().find(|file| is_altered(file)) {
            return Ok(Err(format!(
                "the name {file} seems to contain a secret or invisible characters"
            )));
        }
        Ok(match files.iter().find(|file| dirty.contains(file)) {
            Some(file) => Err(format!("{file} had uncommitted changes before the first attempt")),
            None => Ok(files),
        })
    }
}

/// Adds the programs that git runs for commits and that changed, unless already listed.
fn add_changes(changes: &mut Vec<EvidenceChange>, task: &TaskId, (before, now): (&GitPrograms, &GitPrograms)) {
    for name in before.changed_for_commits(now) {
        if changes.iter().all(|change| change.name != name) {
            changes.push(EvidenceChange {
                task: task.clone(),
                before: before.digest(&name).cloned(),
                after: now.digest(&name).cloned(),
                in_commits: true,
                name,
            });
        }
    }
}

/// A read that is only for display: failures are ignored unless the database is broken.
fn for_display<T>(read: Result<T, RunError>) -> Result<Option<T>, RunError> {
    match read {
        Ok(value) => Ok(Some(value)),
        Err(error) => error.store_error().map_or(Ok(None), Err),
    }
}

/// The notes of an iteration: the user's guidance, then the agent's own.
fn notes(turn: &TurnSummary) -> Option<String> {
    match (&turn.guidance, &turn.captured.journal) {
        (Some(guidance), Some(journal)) => Some(format!("{guidance}\n\nThe agent's own notes: {journal}")),
        (Some(only), None) | (None, Some(only)) => Some(only.clone()),
        (None, None) => None,
    }
}

/// The commit, even if the agent or a killed run has already made it. The error is a sentence.
fn or_existing_commit(
    committed: Result<String, CommitError>,
    root: &Path,
    files: &BTreeSet<String>,
) -> Result<String, String> {
    match committed {
        Err(nothing @ CommitError::Nothing) => match commit_containing(root, files) {
            Ok(Some(commit)) => Ok(commit),
            Ok(None) => Err(nothing.to_string()),
            Err(error) => Err(error.to_string()),
        },
        other => other.map_err(|error| error.to_string()),
    }
}
