//! Imports another tool's history in one transaction. Records imported earlier stay as they are now.

use std::collections::{BTreeMap, HashMap, HashSet};

use jiff::Timestamp;
use ralph_model::{
    Evidence, FeatureId, FeatureName, NewJournalRow, Outcome, RunId, StopReason, TaskId, TaskKind, TaskType, Usage,
    count, preview,
};
use rusqlite::{OptionalExtension, Transaction, params};
use serde::Serialize;

use super::ids::{IdMatch, IdUse, find_id, run_ids, task_ids};
use super::matched::{IdMap, Kind, LocalState};
use super::{ForeignHistory, ForeignIteration, ForeignStatus, ForeignTask, Remark};
use super::{features, relations};
use crate::StoreError;
use crate::progress::Store;
use crate::progress::authorship::sign;
use crate::progress::columns::moment;
use crate::progress::settle::{Settlement, put_journal_row};
use crate::progress::task_rows::log;
use crate::progress::task_steps::is_free;
use crate::progress::transitions::changed;

/// The title of iterations without a task.
const NO_TASK: &str = "(no task)";
/// Maximum displayed length of another tool's id.
const SHOWN_COLUMNS: usize = 80;

/// Classifies a task by its title and description.
pub type TaskTypeOf = fn(&str, &str) -> TaskType;

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct ImportedHistory {
    pub features: Tally,
    pub tasks: Tally,
    pub iterations: Tally,
    /// Number of added dependencies.
    pub dependencies: usize,
    /// Number of added task log lines.
    pub log_lines: usize,
    /// The imported features, by their original ids.
    pub features_here: BTreeMap<String, ImportedFeature>,
    /// The new tasks whose id changed, by their original ids.
    pub renamed: BTreeMap<String, TaskId>,
    /// What could not be imported unchanged.
    pub remarks: Vec<Remark>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ImportedFeature {
    pub name: FeatureName,
    /// Whether this import created it.
    pub is_new: bool,
}

/// Counts of one kind of record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Tally {
    pub added: usize,
    pub known: usize,
}

impl ImportedHistory {
    #[must_use]
    pub fn is_nothing_new(&self) -> bool {
        self.features.added + self.tasks.added + self.iterations.added == 0
    }
}

impl Store {
    /// Imports another tool's history, all or nothing. What was imported before is not imported again, even if it was
    /// deleted since. Dependency cycles and dangling references are skipped with a remark.
    ///
    /// # Errors
    /// When the database cannot be written.
    pub fn import_history(
        &mut self,
        history: &ForeignHistory,
        task_type_of: TaskTypeOf,
        now: Timestamp,
    ) -> Result<ImportedHistory, StoreError> {
        self.write(|transaction| {
            let mut import = Import {
                transaction,
                tool: &history.tool,
                task_type_of,
                now,
                features: IdMap::default(),
                tasks: IdMap::default(),
                done: ImportedHistory {
                    remarks: history.remarks.clone(),
                    ..ImportedHistory::default()
                },
            };
            features::add(&mut import, &history.features)?;
            let new = import.tasks(&history.tasks)?;
            import.remark_statuses(&new);
            relations::add(&mut import, &new)?;
            let ids: Vec<TaskId> = new
                .iter()
                .filter_map(|task| import.tasks.here(&task.id).cloned())
                .collect();
            changed(transaction, &ids, now)?;
            import.iterations(history)?;
            Ok(import.done)
        })
    }
}

/// The state of a running import.
pub(super) struct Import<'a> {
    pub(super) transaction: &'a Transaction<'a>,
    pub(super) tool: &'a str,
    task_type_of: TaskTypeOf,
    now: Timestamp,
    /// Our features by their original ids.
    pub(super) features: IdMap<FeatureId>,
    /// Our tasks by their original ids.
    pub(super) tasks: IdMap<TaskId>,
    pub(super) done: ImportedHistory,
}

impl Import<'_> {
    pub(super) fn remark(&mut self, about: &str, text: impl Into<String>) {
        self.done.remarks.push(Remark::new(about, text));
    }

    /// Imports the tasks without their relations; returns the new ones.
    fn tasks<'h>(&mut self, tasks: &'h [ForeignTask]) -> rusqlite::Result<Vec<&'h ForeignTask>> {
        let (mut taken, mut seen) = (HashSet::new(), HashSet::new());
        let mut new = Vec::new();
        for task in tasks {
            let made = moment(task.created_at);
            if !seen.insert((&task.id, task.created_at)) {
                self.remark(&task.id, "it is a duplicate: skipped");
                continue;
            }
            if let Some(id) = self
                .imported(Kind::Task, &task.id, &made)?
                .and_then(|id| TaskId::parse(&id))
            {
                let state = match self.task_at(&id)? {
                    IdUse::CreatedAt(_) => LocalState::Present,
                    IdUse::Free | IdUse::Retired => LocalState::Deleted,
                };
                taken.insert(id.clone());
                self.tasks.insert(&task.id, id, state);
                self.done.tasks.known += 1;
                continue;
            }
            let place = find_id(task_ids(self.tool, &task.id), &mut taken, &made, |id| self.task_at(id))?;
            if let Some(IdMatch::Known(id) | IdMatch::New(id)) = &place {
                self.record((Kind::Task, id.as_str()), &task.id, &made)?;
                self.tasks.insert(&task.id, id.clone(), LocalState::Present);
            }
            match place {
                Some(IdMatch::Known(_)) => self.done.tasks.known += 1,
                Some(IdMatch::New(id)) => {
                    self.put_task(task, &id)?;
                    if id.as_str() != task.id {
                        self.done.renamed.insert(task.id.clone(), id);
                    }
                    self.done.tasks.added += 1;
                    new.push(task);
                }
                None => self.remark(&task.id, "no free id: skipped"),
            }
        }
        Ok(new)
    }

    /// Adds remarks about new tasks whose status was not imported unchanged.
    fn remark_statuses(&mut self, new: &[&ForeignTask]) {
        let mut numbers: BTreeMap<String, usize> = BTreeMap::new();
        for task in new {
            let what = match &task.foreign_status {
                ForeignStatus::Same => continue,
                ForeignStatus::InProgress => "in progress: imported as pending".to_owned(),
                ForeignStatus::Unknown(word) => format!("{word:?}, an unknown status: imported as pending"),
            };
            *numbers.entry(what).or_default() += 1;
        }
        for (what, number) in numbers {
            let tasks = count(number, "task was", "tasks were");
            self.remark("tasks", format!("{tasks} {what}"));
        }
    }

    fn task_at(&self, id: &TaskId) -> rusqlite::Result<IdUse> {
        let made = self.text("SELECT created_at FROM tasks WHERE id = ?1", id.as_str())?;
        Ok(match made {
            Some(made) => IdUse::CreatedAt(made),
            None if is_free(self.transaction, id)? => IdUse::Free,
            None => IdUse::Retired,
        })
    }

    fn put_task(&mut self, task: &ForeignTask, id: &TaskId) -> rusqlite::Result<()> {
        let feature = task.feature.as_ref().and_then(|feature| self.features.here(feature));
        self.transaction
            .prepare_cached(
                "INSERT INTO tasks (id, title, description, status, kind, priority, feature, retries_used, attempts,
                                    created_at, updated_at, max_retries)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?8, ?9, ?10, ?11)",
            )?
            .execute(params![
                id.as_str(),
                task.title,
                task.description,
                task.status.word(),
                TaskKind::Once.word(),
                task.priority.0,
                feature.map(FeatureId::as_str),
                task.retries_used,
                moment(task.created_at),
                moment(task.updated_at),
                task.max_retries,
            ])?;
        if let (Some(there), None) = (&task.feature, feature) {
            let text = if self.features.any(there).is_some() {
                "its feature was deleted here: imported without a feature"
            } else {
                "its feature is missing: imported without a feature"
            };
            self.remark(&task.id, text);
        }
        for line in &task.log {
            log(self.transaction, id, &line.text, line.at)?;
            sign(self.transaction, &line.author)?;
        }
        self.done.log_lines += task.log.len();
        let there = preview(&task.id, SHOWN_COLUMNS);
        let sentence = format!("Imported from {}, where its id was {there}.", self.tool);
        log(self.transaction, id, &sentence, self.now)
    }

    fn iterations(&mut self, history: &ForeignHistory) -> rusqlite::Result<()> {
        let titles: HashMap<&str, &str> = history
            .tasks
            .iter()
            .map(|task| (task.id.as_str(), task.title.as_str()))
            .collect();
        let mut taken = HashSet::new();
        let mut attempts: HashMap<TaskId, u32> = HashMap::new();
        let mut unknown_outcomes: BTreeMap<&str, usize> = BTreeMap::new();
        for iteration in &history.iterations {
            let made = moment(iteration.created_at);
            let ids = run_ids(self.tool, &iteration.run, iteration.number).map(|run| (run, iteration.iteration));
            let found = find_id(ids, &mut taken, &made, |(run, number)| {
                let journaled = self.journaled_at(run, *number)?;
                Ok(journaled.map_or(IdUse::Free, IdUse::CreatedAt))
            })?;
            match found {
                Some(IdMatch::New((run, _))) => {
                    let row = self.row(iteration, run, &titles, &mut attempts)?;
                    let number = put_journal_row(self.transaction, &Settlement::new(row, 0))?;
                    self.transaction
                        .prepare_cached("UPDATE journal SET imported = 1 WHERE id = ?1")?
                        .execute([number])?;
                    self.done.iterations.added += 1;
                    if let Some(word) = &iteration.unknown_outcome {
                        *unknown_outcomes.entry(word).or_default() += 1;
                    }
                }
                Some(IdMatch::Known(_)) => self.done.iterations.known += 1,
                None => self.remark("journal", format!("no free id for row {}: skipped", iteration.number)),
            }
        }
        for (word, number) in unknown_outcomes {
            let iterations = count(number, "iteration", "iterations");
            let text = format!("{iterations} ended as {word:?}, an unknown outcome: imported as interrupted");
            self.remark("journal", text);
        }
        for (task, number) in attempts {
            self.transaction
                .prepare_cached("UPDATE tasks SET attempts = max(attempts, ?2) WHERE id = ?1")?
                .execute(params![task.as_str(), number])?;
        }
        Ok(())
    }

    fn row(
        &self,
        iteration: &ForeignIteration,
        run: RunId,
        titles: &HashMap<&str, &str>,
        attempts: &mut HashMap<TaskId, u32>,
    ) -> rusqlite::Result<NewJournalRow> {
        let there = iteration.task.as_deref();
        let task = there.map(|id| self.task_of_row(id)).transpose()?.flatten();
        let attempt = match &task {
            Some(task) => self.next_attempt(task, attempts)?,
            None => 1,
        };
        let title = |id: &str| {
            titles
                .get(id)
                .map_or_else(|| preview(id, SHOWN_COLUMNS), |title| (*title).to_owned())
        };
        let feature = iteration.feature.as_ref().and_then(|id| self.features.any(id));
        let task_title = there.map_or_else(|| NO_TASK.to_owned(), title);
        Ok(NewJournalRow {
            run,
            iteration: iteration.iteration,
            task,
            task_type: (self.task_type_of)(&task_title, ""),
            tags: Vec::new(),
            task_title,
            feature: feature.cloned(),
            attempt,
            outcome: iteration.outcome,
            stop: stop_reason(iteration.outcome),
            reason: String::new(),
            model: iteration.model.clone(),
            model_rationale: format!("chosen by {}", self.tool),
            duration_ms: iteration.duration_ms,
            usage: Usage {
                cost_usd: iteration.cost_usd,
                ..Usage::default()
            },
            files_modified: iteration.files.clone(),
            changed_nothing: false,
            evidence: Evidence::None,
            notes: iteration.notes.clone(),
            difficulty: None,
            error_category: None,
            malformed_sigils: 0,
            denials: Vec::new(),
            created_at: iteration.created_at,
        })
    }

    /// The task of a journal entry. One that was deleted in the other tool gets an id that was never used here.
    fn task_of_row(&self, id: &str) -> rusqlite::Result<Option<TaskId>> {
        if let Some(task) = self.tasks.any(id) {
            return Ok(Some(task.clone()));
        }
        if let Some(task) = self.last_imported(Kind::Task, id)? {
            return Ok(TaskId::parse(&task));
        }
        for candidate in task_ids(self.tool, id) {
            if is_free(self.transaction, &candidate)? {
                self.record((Kind::Task, candidate.as_str()), id, "")?;
                return Ok(Some(candidate));
            }
        }
        Ok(None)
    }

    fn next_attempt(&self, task: &TaskId, attempts: &mut HashMap<TaskId, u32>) -> rusqlite::Result<u32> {
        let last = match attempts.get(task) {
            Some(last) => *last,
            None => self.transaction.query_row(
                "SELECT coalesce(max(attempt), 0) FROM journal WHERE task_id = ?1",
                [task.as_str()],
                |row| row.get(0),
            )?,
        };
        let next = last.saturating_add(1);
        attempts.insert(task.clone(), next);
        Ok(next)
    }

    fn journaled_at(&self, run: &RunId, iteration: u32) -> rusqlite::Result<Option<String>> {
        self.transaction
            .prepare_cached("SELECT created_at FROM journal WHERE run_id = ?1 AND iteration = ?2")?
            .query_row(params![run.as_str(), iteration], |row| row.get(0))
            .optional()
    }

    /// The single text that a statement returns.
    pub(super) fn text(&self, sql: &str, parameter: &str) -> rusqlite::Result<Option<String>> {
        self.transaction
            .prepare_cached(sql)?
            .query_row([parameter], |row| row.get(0))
            .optional()
    }
}

/// The stop reason that an outcome implies.
fn stop_reason(outcome: Outcome) -> StopReason {
    match outcome {
        Outcome::Done | Outcome::Retried => StopReason::TaskDone,
        Outcome::Failed => StopReason::TaskFailed,
        Outcome::Blocked => StopReason::NoSigil,
        Outcome::Interrupted => StopReason::Cancelled,
    }
}
