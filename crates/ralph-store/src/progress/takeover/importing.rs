//! Makes another tool's history ours, all of it in one transaction. What was made ours before is left as it is now.

use std::collections::{BTreeMap, HashMap, HashSet};

use jiff::Timestamp;
use ralph_model::{FeatureId, NewJournalRow, Outcome, RunId, StopReason, TaskId, TaskKind, Usage, preview};
use rusqlite::{OptionalExtension, Transaction, params};
use serde::Serialize;

use super::ids::{Place, place, run_ids, task_ids};
use super::{ForeignHistory, ForeignIteration, ForeignTask, Remark};
use super::{features, relations};
use crate::StoreError;
use crate::progress::Store;
use crate::progress::columns::moment;
use crate::progress::settle::{Settlement, put_journal_row};
use crate::progress::task_rows::log;
use crate::progress::transitions::changed;

/// The title of iterations without a task.
const NO_TASK: &str = "(no task)";
/// How many columns of another tool's id are shown.
const SHOWN_COLUMNS: usize = 80;

/// What an import did.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct ImportedHistory {
    /// The features.
    pub features: Tally,
    /// The tasks.
    pub tasks: Tally,
    /// The iterations in the journal.
    pub iterations: Tally,
    /// How many dependencies between tasks were added.
    pub dependencies: usize,
    /// How many lines were added to the logs of tasks.
    pub log_lines: usize,
    /// The new tasks that have another id here than there, by their ids there.
    pub renamed: BTreeMap<String, TaskId>,
    /// What could not be taken as it stands there.
    pub remarks: Vec<Remark>,
}

/// How many of one kind there were.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Tally {
    /// They are new here.
    pub added: usize,
    /// They were here already.
    pub known: usize,
}

impl ImportedHistory {
    /// Whether nothing was new.
    #[must_use]
    pub fn is_nothing_new(&self) -> bool {
        self.features.added + self.tasks.added + self.iterations.added == 0
    }
}

impl Store {
    /// Makes another tool's history ours: all of it, or nothing. What is known by its id and its moment is not made again.
    /// Rings and what leads nowhere are left out and remarked upon.
    ///
    /// # Errors
    /// When the database cannot be written.
    pub fn import_history(&mut self, history: &ForeignHistory, now: Timestamp) -> Result<ImportedHistory, StoreError> {
        self.write(|transaction| {
            let mut import = Import {
                transaction,
                tool: &history.tool,
                now,
                features: HashMap::new(),
                tasks: HashMap::new(),
                done: ImportedHistory {
                    remarks: history.remarks.clone(),
                    ..ImportedHistory::default()
                },
            };
            features::add(&mut import, &history.features)?;
            let new = import.tasks(&history.tasks)?;
            relations::add(&mut import, &new)?;
            let ids: Vec<TaskId> = new
                .iter()
                .filter_map(|task| import.tasks.get(&task.id).cloned())
                .collect();
            changed(transaction, &ids, now)?;
            import.iterations(history)?;
            Ok(import.done)
        })
    }
}

/// An import on its way.
pub(super) struct Import<'a> {
    pub(super) transaction: &'a Transaction<'a>,
    pub(super) tool: &'a str,
    now: Timestamp,
    /// The features here, by their ids there.
    pub(super) features: HashMap<String, FeatureId>,
    /// The tasks here, by their ids there.
    pub(super) tasks: HashMap<String, TaskId>,
    pub(super) done: ImportedHistory,
}

impl Import<'_> {
    pub(super) fn remark(&mut self, about: &str, text: impl Into<String>) {
        self.done.remarks.push(Remark::new(about, text));
    }

    /// Puts the tasks in, each by itself; those that are new.
    fn tasks<'h>(&mut self, tasks: &'h [ForeignTask]) -> rusqlite::Result<Vec<&'h ForeignTask>> {
        let mut taken = HashSet::new();
        let mut new = Vec::new();
        for task in tasks {
            let made = moment(task.created_at);
            let place = place(task_ids(self.tool, &task.id), &mut taken, &made, |id| {
                self.text("SELECT created_at FROM tasks WHERE id = ?1", id.as_str())
            })?;
            match place {
                Some(Place::Known(id)) => {
                    self.tasks.insert(task.id.clone(), id);
                    self.done.tasks.known += 1;
                }
                Some(Place::New(id)) => {
                    self.put_task(task, &id)?;
                    if id.as_str() != task.id {
                        self.done.renamed.insert(task.id.clone(), id.clone());
                    }
                    self.tasks.insert(task.id.clone(), id);
                    self.done.tasks.added += 1;
                    new.push(task);
                }
                None => self.remark(&task.id, "there is no id left for it: left out"),
            }
        }
        Ok(new)
    }

    fn put_task(&mut self, task: &ForeignTask, id: &TaskId) -> rusqlite::Result<()> {
        let feature = task.feature.as_ref().and_then(|feature| self.features.get(feature));
        self.transaction
            .prepare_cached(
                "INSERT INTO tasks (id, title, description, status, kind, priority, feature, retries_used, attempts,
                                    created_at, updated_at)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?8, ?9, ?10)",
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
            ])?;
        if task.feature.is_some() && feature.is_none() {
            self.remark(&task.id, "its feature is not there: it belongs to none here");
        }
        for line in &task.log {
            log(self.transaction, id, &line.text, line.at)?;
        }
        self.done.log_lines += task.log.len();
        let there = preview(&task.id, SHOWN_COLUMNS);
        let sentence = format!("Imported from {}, where it was {there}.", self.tool);
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
        for iteration in &history.iterations {
            let made = moment(iteration.created_at);
            let ids = run_ids(self.tool, &iteration.run, iteration.number).map(|run| (run, iteration.iteration));
            let found = place(ids, &mut taken, &made, |(run, number)| self.journaled_at(run, *number))?;
            match found {
                Some(Place::New((run, _))) => {
                    let row = self.row(iteration, run, &titles, &mut attempts)?;
                    put_journal_row(self.transaction, &Settlement::new(row, 0))?;
                    self.done.iterations.added += 1;
                }
                Some(Place::Known(_)) => self.done.iterations.known += 1,
                None => self.remark(
                    "journal",
                    format!("there is no id left for row {}: left out", iteration.number),
                ),
            }
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
        let feature = iteration.feature.as_ref().and_then(|id| self.features.get(id));
        Ok(NewJournalRow {
            run,
            iteration: iteration.iteration,
            task,
            task_title: there.map_or_else(|| NO_TASK.to_owned(), title),
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
            notes: iteration.notes.clone(),
            difficulty: None,
            error_category: None,
            malformed_sigils: 0,
            created_at: iteration.created_at,
        })
    }

    /// The task of a row. One that was deleted there has an id that no other task has here.
    fn task_of_row(&self, id: &str) -> rusqlite::Result<Option<TaskId>> {
        if let Some(task) = self.tasks.get(id) {
            return Ok(Some(task.clone()));
        }
        for candidate in task_ids(self.tool, id) {
            if self
                .text("SELECT id FROM tasks WHERE id = ?1", candidate.as_str())?
                .is_none()
            {
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

    /// The one text that a statement finds.
    pub(super) fn text(&self, sql: &str, parameter: &str) -> rusqlite::Result<Option<String>> {
        self.transaction
            .prepare_cached(sql)?
            .query_row([parameter], |row| row.get(0))
            .optional()
    }
}

/// What made an iteration end, as far as its outcome tells.
fn stop_reason(outcome: Outcome) -> StopReason {
    match outcome {
        Outcome::Done | Outcome::Retried => StopReason::TaskDone,
        Outcome::Failed => StopReason::TaskFailed,
        Outcome::Blocked => StopReason::NoSigil,
        Outcome::Interrupted => StopReason::Cancelled,
    }
}
