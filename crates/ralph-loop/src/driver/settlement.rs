//! Settles an iteration: one transaction, then its files.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use jiff::Timestamp;
use ralph_memory::capture::{KnowledgeError, Placement, TaskTags};
use ralph_memory::recall::{Said, keep_compared, retold};
use ralph_model::{CapturedKnowledge, CapturedLearning, LearningId, NewJournalRow, TaskId, TaskStatus, Unverified};
use ralph_store::{EvidenceChange, OtherPause, Settled, Settlement, Store, StoreError, TaskChange, task_type_of};

use super::before::basis_on_record;
use super::examine::in_thread;
use super::prepare::folder_of;
use super::{Incoming, RunError, Runner};
use crate::basis::GitPrograms;
use crate::changes::{CommitError, commit_task, commit_that_holds, is_altered};
use crate::gates::Changed;
use crate::report::Failed;
use crate::run_folder::remove_scratch_folder;
use crate::settle::Fate;
use crate::state::{Draft, Happening, Place};
use crate::summary::TurnSummary;
use crate::watch::{News, Watch};

/// How many denials of an iteration are on record.
const MOST_DENIALS: usize = 20;

/// What a settlement means for tasks that were split.
enum Parts {
    /// This one has so many parts that are not done.
    Wait(TaskId, usize),
    /// These are done with it.
    Done(Vec<TaskId>),
}

impl Parts {
    fn tell(&self, watch: &mut dyn Watch) {
        match self {
            Self::Wait(task, parts) => watch.tell(&News::WaitsForParts { task, parts: *parts }),
            Self::Done(tasks) => tasks.iter().for_each(|task| watch.tell(&News::DoneWithParts(task))),
        }
    }
}

impl Runner<'_> {
    /// Settles the iteration.
    pub(super) fn settle(&mut self, draft: &Draft) -> Result<Happening, RunError> {
        let now = self.site.clock.now();
        self.bring_notes_home(&draft.current);
        self.take_stock_of_notes();
        let mut settlement = self.settlement(draft, now)?;
        let learnings = settlement.learnings.clone();
        let task_type = settlement.row.task_type;
        let compare = |store: &Store| {
            let told = learnings.iter().map(|(_, told)| Said::told(told, task_type));
            match retold(store, told) {
                // They are new ones then, and nothing is lost.
                Err(StoreError::UnreadableLearning { .. } | StoreError::Damaged { .. }) => Ok(Vec::new()),
                compared => compared,
            }
        };
        let settled: Settled = keep_compared(&mut self.store, compare, |store, found| {
            settlement.retold = found;
            store.settle(&settlement)
        })?;
        self.tell_unreadable();
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
        let looked = draft
            .verification
            .as_ref()
            .map(|_| folder.of_verifier().join_transcript());
        if let Err(error) = folder.join_transcript().and(looked.unwrap_or(Ok(()))) {
            let warning = format!("The transcript is not whole: {error}");
            self.watch.tell(&News::Warning(&warning));
        }
        let written = folder
            .create()
            .and_then(|()| folder.write("result.json", &format!("{result:#}\n")));
        if let Err(error) = written {
            let warning = format!("The result of the iteration is in the journal, but not in its folder: {error}");
            self.watch.tell(&News::Warning(&warning));
        }
        self.after_settlement(draft, settled.task);
        self.turn = None;
        self.guided = draft.turn.guidance.is_some();
        if draft.current.run != self.run {
            remove_scratch_folder(&self.site.runs, &draft.current.run);
        }
        self.watch.tell(&News::Settled {
            draft,
            task: settled.task,
            new_lessons: settled.new_lessons,
            duration: Duration::from_millis(settlement.row.duration_ms),
        });
        let parts = self.parts_of(&draft.current.task, settled.task);
        if let Some(parts) = to_tell(parts.map_err(RunError::from))? {
            parts.tell(self.watch);
        }
        self.tell_standing()?;
        Ok(Happening::Settled)
    }

    /// What the settlement of a task means for its parts, or for what it is a part of.
    fn parts_of(&self, task: &TaskId, stands: Option<TaskStatus>) -> Result<Parts, StoreError> {
        if stands != Some(TaskStatus::Done) {
            let parts = self.store.children(task)?;
            let open = parts.iter().filter(|part| part.status != TaskStatus::Done).count();
            return Ok(match open {
                0 => Parts::Done(Vec::new()),
                open => Parts::Wait(task.clone(), open),
            });
        }
        let mut done = Vec::new();
        let mut above = self.store.task(task)?.and_then(|task| task.parent);
        while let Some(id) = above {
            let parent = self.store.task(&id)?.filter(|parent| parent.status == TaskStatus::Done);
            // What was never tried has parts since it was made, as a list has items.
            done.extend(
                parent
                    .iter()
                    .filter(|parent| parent.attempts > 0)
                    .map(|parent| parent.id.clone()),
            );
            above = parent.and_then(|parent| parent.parent);
        }
        Ok(Parts::Done(done))
    }

    /// Tells how the tasks stand, where somebody follows them.
    pub(super) fn tell_standing(&mut self) -> Result<(), RunError> {
        if !self.watch.follows_tasks() {
            return Ok(());
        }
        if let Some(standing) = to_tell(self.standing(&self.order.scope))? {
            self.watch.tell(&News::Standing(&standing));
        }
        Ok(())
    }

    fn settlement(&mut self, draft: &Draft, now: Timestamp) -> Result<Settlement, RunError> {
        let Draft {
            current, turn, ruling, ..
        } = draft;
        let captured = &turn.captured;
        let gates_ms: u64 = draft.gates.iter().map(|gate| gate.duration_ms).sum();
        let failed = Failed::of(draft, &self.work_root(current));
        let description = self
            .store
            .task(&current.task)?
            .map(|task| task.description)
            .unwrap_or_default();
        let texts = [current.task_title.as_str(), description.as_str()];
        let tags = TaskTags::of(&texts, &draft.files, failed.category);
        let learnings = self.learnings_of(draft, &tags);
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
                outcome: ruling.outcome,
                stop: ruling.stop,
                reason: ruling.reason.clone(),
                model: current.model.clone(),
                model_rationale: current.rationale.clone(),
                duration_ms: turn
                    .duration_ms
                    .saturating_add(gates_ms)
                    .saturating_add(draft.looking_ms()),
                usage: draft.usage(),
                files_modified: draft.files.clone(),
                changed_nothing: draft.changed == Changed::Nothing,
                evidence: draft.evidence(),
                notes: notes(turn),
                difficulty: captured.difficulty,
                error_category: failed.category,
                malformed_sigils: captured.malformed,
                denials: turn.denials.iter().take(MOST_DENIALS).cloned().collect(),
                created_at: now,
            },
            fence: current.fence,
            worktree: self.site.worktree.clone(),
            landed_on: self.landed_on(draft),
            task: self.task_change(draft),
            evidence_changes: draft.own_changes(),
            guidance: turn.guidance.clone(),
            report: failed.report,
            signature: failed.signature,
            suggestion: captured.retry_suggestion.clone(),
            learnings,
            // They are compared with those that are known when it is settled.
            retold: Vec::new(),
            promote: self.site.config.learning.promote,
            knowledge: self.knowledge_of(draft)?,
            memory_used: self.used(&captured.memory_used),
            baseline: draft.baseline.as_ref().map(serde_json::to_string).transpose()?,
            seen_pause: current.pause.clone(),
            pause: draft.pause.clone(),
            verifier_pause: self.order.other_verifier().map(|agent| OtherPause {
                agent: agent.to_owned(),
                seen: current.verifier_pause.clone(),
                change: draft.verifier_pause.clone(),
            }),
        })
    }

    /// What was learned in the turn, each lesson with an id and with the tags that were found for it after its own.
    fn learnings_of(&mut self, draft: &Draft, tags: &TaskTags) -> Vec<(LearningId, CapturedLearning)> {
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

    /// The reference on which isolated work is done; none for work in the project itself, or that has not landed.
    fn landed_on(&self, draft: &Draft) -> Option<String> {
        let waits = matches!(draft.unverified, Some(Unverified::EvidenceChanged(_)));
        match draft.current.place {
            Place::Checkout if !waits => draft
                .landed_on
                .clone()
                .or_else(|| self.base.as_ref().map(|base| base.reference().to_owned())),
            _ => None,
        }
    }

    fn task_change(&self, draft: &Draft) -> TaskChange {
        match draft.ruling.task {
            Fate::Done => TaskChange::Done {
                commit: draft.commit.as_ref().and_then(|commit| commit.as_ref().ok()).cloned(),
                unverified: draft.unverified.clone(),
            },
            Fate::Attempt => TaskChange::Attempt {
                max_retries: self.site.config.execution.max_retries,
            },
            Fate::GiveUp => TaskChange::GiveUp,
            Fate::Again => TaskChange::Again,
            Fate::Progress => TaskChange::Progress,
        }
    }

    /// The long notes of the turn, each with the name of the feature that its task belongs to.
    fn knowledge_of(&self, draft: &Draft) -> Result<Vec<CapturedKnowledge>, RunError> {
        let mut notes = draft.turn.captured.knowledge.clone();
        let id = draft.current.feature.as_ref().filter(|_| !notes.is_empty());
        let feature = id.map(|id| self.store.feature_of_id(id)).transpose()?.flatten();
        for note in &mut notes {
            note.feature = feature.as_ref().map(|feature| feature.name.to_string());
        }
        Ok(notes)
    }

    /// What an agent says it relied on, with the files of the long notes that it names by their titles.
    fn used(&mut self, said: &[String]) -> Vec<String> {
        let mut used = said.to_vec();
        if used.is_empty() {
            return used;
        }
        match self.site.knowledge.named(said) {
            Ok(files) => used.extend(files),
            Err(error) => {
                let warning = format!("Which long notes the agent relied on is not known: {error}");
                self.watch.tell(&News::Warning(&warning));
            }
        }
        used
    }

    /// Writes the files of this and earlier settlements. Those that cannot be written wait for the next time.
    pub(super) fn finish_outbox(&mut self) -> Result<Happening, RunError> {
        let site = self.site;
        let outboxed = match site.knowledge.write_outbox(&mut self.store, &site.worktree) {
            Ok(outboxed) => outboxed,
            Err(KnowledgeError::Store(error)) => return Err(RunError::Store(error)),
            Err(_) if self.places().are_full() => return Err(RunError::no_room()),
            Err(error) => {
                let warning = format!("The long notes of agents are not written yet: {error}");
                self.watch.tell(&News::Warning(&warning));
                return Ok(Happening::OutboxFinished);
            }
        };
        for written in &outboxed.written {
            if let Placement::Made(path) | Placement::Changed(path) = &written.placement {
                self.watch.tell(&News::Wrote(path));
            }
        }
        if !outboxed.failed.is_empty() && self.places().are_full() {
            return Err(RunError::no_room());
        }
        for (title, error) in &outboxed.failed {
            let warning = format!("The note {title:?} is not written yet: {error}");
            self.watch.tell(&News::Warning(&warning));
        }
        Ok(Happening::OutboxFinished)
    }

    /// Commits the files of all attempts at the task, if there are any, in a thread of its own: hooks may take long. What
    /// can be told at once is the answer.
    pub(super) fn commit(&mut self, draft: &Draft) -> Result<Option<Happening>, RunError> {
        let changed = self.changed_programs(draft)?;
        if !changed.is_empty() {
            return Ok(Some(Happening::ProgramsChanged(changed)));
        }
        let files = match (self.files_to_commit(draft)?, &draft.unseen) {
            (Ok(files), Some(reason)) if files.is_empty() => {
                let why = format!("not every change was seen: {reason}");
                return Ok(Some(Happening::Committed(Some(Err(why)))));
            }
            (Ok(files), None) if files.is_empty() => return Ok(Some(Happening::Committed(None))),
            (Ok(files), _) => files,
            (Err(why), _) => return Ok(Some(Happening::Committed(Some(Err(why))))),
        };
        let task = &draft.current.task;
        let message = format!("{}\n\nTask: {task}\n", draft.current.task_title);
        let (root, stop) = (self.site.root.clone(), self.stop_gates.clone());
        let marker = draft.current.marker.clone();
        let (sender, places) = (self.sender.clone(), self.places());
        self.examiner = Some(in_thread("commit", sender, move |_| {
            let committed = commit_task(&root, &files, &message, &stop, &marker);
            let committed = or_the_one_that_holds(committed, &root, &files);
            if committed.is_err() && places.are_full() {
                return Incoming::NoRoom;
            }
            Incoming::Committed(committed)
        })?);
        Ok(None)
    }

    /// What git would run for the commit that no person has reviewed, or that the agent of a dead run changed.
    pub(super) fn changed_programs(&self, draft: &Draft) -> Result<Vec<EvidenceChange>, StoreError> {
        let now = GitPrograms::of(&self.site.root);
        let mut changes = self.unreviewed_programs(&draft.current.task, &now)?;
        if let Some(before) = basis_on_record(draft.current.before.as_deref()) {
            let now = self.programs(&draft.current);
            add_changes(&mut changes, &draft.current.task, (&before.git, &now));
        }
        Ok(changes)
    }

    /// What git would run for a commit and was changed since the run began, or in a task that no person has reviewed.
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

    /// The files of all attempts, or a sentence that says why they cannot be committed.
    fn files_to_commit(&self, draft: &Draft) -> Result<Result<BTreeSet<String>, String>, StoreError> {
        let task = &draft.current.task;
        let history = self.store.journal_of_task(task)?;
        let earlier = history.into_iter().flat_map(|row| row.row.files_modified);
        let files: BTreeSet<String> = earlier.chain(draft.files.iter().cloned()).collect();
        if files.is_empty() {
            return Ok(Ok(files));
        }
        let Some(dirty) = self.store.dirty_before(task)? else {
            return Ok(Err(
                "it is not known what was changed before the first attempt".to_owned()
            ));
        };
        if let Some(file) = files.iter().find(|file| is_altered(file)) {
            return Ok(Err(format!(
                "the name of {file} has what looks like a secret, or invisible characters"
            )));
        }
        Ok(match files.iter().find(|file| dirty.contains(file)) {
            Some(file) => Err(format!("{file} had changes of somebody else before the first attempt")),
            None => Ok(files),
        })
    }
}

/// Adds what git runs for commits and is not what it was, unless it is known already.
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

/// What is read only to be told. Nothing depends on it, so it is left out where it cannot be read, unless the database is
/// broken.
fn to_tell<T>(read: Result<T, RunError>) -> Result<Option<T>, RunError> {
    match read {
        Ok(value) => Ok(Some(value)),
        Err(error) => error.of_broken_store().map_or(Ok(None), Err),
    }
}

/// The notes of an iteration: what the person said who stopped it, and what the agent had noted by then.
fn notes(turn: &TurnSummary) -> Option<String> {
    match (&turn.guidance, &turn.captured.journal) {
        (Some(guidance), Some(journal)) => Some(format!("{guidance}\n\nThe agent's own notes: {journal}")),
        (Some(only), None) | (None, Some(only)) => Some(only.clone()),
        (None, None) => None,
    }
}

/// The commit, also where the agent made it, or a run that was killed right after it. The error is a sentence.
fn or_the_one_that_holds(
    committed: Result<String, CommitError>,
    root: &Path,
    files: &BTreeSet<String>,
) -> Result<String, String> {
    match committed {
        Err(nothing @ CommitError::Nothing) => match commit_that_holds(root, files) {
            Ok(Some(commit)) => Ok(commit),
            Ok(None) => Err(nothing.to_string()),
            Err(error) => Err(error.to_string()),
        },
        other => other.map_err(|error| error.to_string()),
    }
}
