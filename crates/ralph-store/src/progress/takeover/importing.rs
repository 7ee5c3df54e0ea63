//! Makes another tool's history ours, all of it in one transaction. What was made ours before is left as it is now.

use std::collections::{BTreeMap, HashMap, HashSet};

use jiff::Timestamp;
use ralph_model::{
    Evidence, FeatureId, FeatureName, NewJournalRow, Outcome, RunId, StopReason, TaskId, TaskKind, Usage, count,
    preview,
};
use rusqlite::{OptionalExtension, Transaction, params};
use serde::Serialize;

use super::ids::{Place, Standing, place, run_ids, task_ids};
use super::matched::{Kind, Matched, Stands};
use super::{ForeignHistory, ForeignIteration, ForeignTask, Remark, StatusThere};
use super::{features, relations};
use crate::StoreError;
use crate::progress::Store;
use crate::progress::authorship::sign;
use crate::progress::columns::moment;
use crate::progress::settle::{Settlement, put_journal_row};
use crate::progress::task_rows::log;
use crate::progress::task_steps::is_free;
use crate::progress::task_type_of;
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
    /// The features that are here now, by their ids there.
    pub features_here: BTreeMap<String, ImportedFeature>,
    /// The new tasks that have another id here than there, by their ids there.
    pub renamed: BTreeMap<String, TaskId>,
    /// What could not be taken as it stands there.
    pub remarks: Vec<Remark>,
}

/// A feature of another tool that is here now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ImportedFeature {
    /// Its name here.
    pub name: FeatureName,
    /// Whether this import made it.
    pub is_new: bool,
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
    /// Makes another tool's history ours: all of it, or nothing. What was imported before is not made again, not even when it
    /// was deleted here since. Rings and what leads nowhere are left out and remarked upon.
    ///
    /// # Errors
    /// When the database cannot be written.
    pub fn import_history(&mut self, history: &ForeignHistory, now: Timestamp) -> Result<ImportedHistory, StoreError> {
        self.write(|transaction| {
            let mut import = Import {
                transaction,
                tool: &history.tool,
                now,
                features: Matched::default(),
                tasks: Matched::default(),
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

/// An import on its way.
pub(super) struct Import<'a> {
    pub(super) transaction: &'a Transaction<'a>,
    pub(super) tool: &'a str,
    now: Timestamp,
    /// The features here, by their ids there.
    pub(super) features: Matched<FeatureId>,
    /// The tasks here, by their ids there.
    pub(super) tasks: Matched<TaskId>,
    pub(super) done: ImportedHistory,
}

impl Import<'_> {
    pub(super) fn remark(&mut self, about: &str, text: impl Into<String>) {
        self.done.remarks.push(Remark::new(about, text));
    }

    /// Puts the tasks in, each by itself; those that are new.
    fn tasks<'h>(&mut self, tasks: &'h [ForeignTask]) -> rusqlite::Result<Vec<&'h ForeignTask>> {
        let (mut taken, mut seen) = (HashSet::new(), HashSet::new());
        let mut new = Vec::new();
        for task in tasks {
            let made = moment(task.created_at);
            if !seen.insert((&task.id, task.created_at)) {
                self.remark(&task.id, "it stands there a second time: left out");
                continue;
            }
            if let Some(id) = self
                .imported(Kind::Task, &task.id, &made)?
                .and_then(|id| TaskId::parse(&id))
            {
                let stands = match self.task_at(&id)? {
                    Standing::MadeAt(_) => Stands::Here,
                    Standing::Free | Standing::Spent => Stands::Gone,
                };
                taken.insert(id.clone());
                self.tasks.insert(&task.id, id, stands);
                self.done.tasks.known += 1;
                continue;
            }
            let place = place(task_ids(self.tool, &task.id), &mut taken, &made, |id| self.task_at(id))?;
            if let Some(Place::Known(id) | Place::New(id)) = &place {
                self.record((Kind::Task, id.as_str()), &task.id, &made)?;
                self.tasks.insert(&task.id, id.clone(), Stands::Here);
            }
            match place {
                Some(Place::Known(_)) => self.done.tasks.known += 1,
                Some(Place::New(id)) => {
                    self.put_task(task, &id)?;
                    if id.as_str() != task.id {
                        self.done.renamed.insert(task.id.clone(), id);
                    }
                    self.done.tasks.added += 1;
                    new.push(task);
                }
                None => self.remark(&task.id, "there is no id left for it: left out"),
            }
        }
        Ok(new)
    }

    /// Says where the new tasks do not stand as they did there.
    fn remark_statuses(&mut self, new: &[&ForeignTask]) {
        let mut numbers: BTreeMap<String, usize> = BTreeMap::new();
        for task in new {
            let what = match &task.status_there {
                StatusThere::TheSame => continue,
                StatusThere::AtWork => "being worked on there: pending here".to_owned(),
                StatusThere::Unknown(word) => format!("{word:?} there, which ralph does not know: pending here"),
            };
            *numbers.entry(what).or_default() += 1;
        }
        for (what, number) in numbers {
            let tasks = count(number, "task was", "tasks were");
            self.remark("tasks", format!("{tasks} {what}"));
        }
    }

    fn task_at(&self, id: &TaskId) -> rusqlite::Result<Standing> {
        let made = self.text("SELECT created_at FROM tasks WHERE id = ?1", id.as_str())?;
        Ok(match made {
            Some(made) => Standing::MadeAt(made),
            None if is_free(self.transaction, id)? => Standing::Free,
            None => Standing::Spent,
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
                "its feature was deleted here: it belongs to none"
            } else {
                "its feature is not there: it belongs to none here"
            };
            self.remark(&task.id, text);
        }
        for line in &task.log {
            log(self.transaction, id, &line.text, line.at)?;
            sign(self.transaction, &line.author)?;
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
        let mut unknown_outcomes: BTreeMap<&str, usize> = BTreeMap::new();
        for iteration in &history.iterations {
            let made = moment(iteration.created_at);
            let ids = run_ids(self.tool, &iteration.run, iteration.number).map(|run| (run, iteration.iteration));
            let found = place(ids, &mut taken, &made, |(run, number)| {
                let journaled = self.journaled_at(run, *number)?;
                Ok(journaled.map_or(Standing::Free, Standing::MadeAt))
            })?;
            match found {
                Some(Place::New((run, _))) => {
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
                Some(Place::Known(_)) => self.done.iterations.known += 1,
                None => self.remark(
                    "journal",
                    format!("there is no id left for row {}: left out", iteration.number),
                ),
            }
        }
        for (word, number) in unknown_outcomes {
            let iterations = count(number, "iteration", "iterations");
            let text = format!("{iterations} ended as {word:?}, which ralph does not know: interrupted here");
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
            task_type: task_type_of(&task_title, ""),
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

    /// The task of a row. One that was deleted there gets an id that nothing else has or had here.
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
