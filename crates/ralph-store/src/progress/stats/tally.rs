//! Computes all statistics in one pass over the journal.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use ralph_model::{Difficulty, Outcome, RunId, TaskId, TaskStatus, TaskType, Usage};
use rusqlite::{Connection, OptionalExtension, Row, params_from_iter};

use super::failures::{Failures, signatures};
use super::in_order::InOrder;
use super::{DayFigures, Figures, ModelFigures, RunFigures, Stats, StatsFilter, TaskFigures, TypeFigures};
use crate::progress::columns::{moment, number_at, time_at, word_at, word_in};

/// The filter as an SQL condition with its parameters. It contains only the fields that are set, so that an index can
/// be used.
fn counted(filter: &StatsFilter) -> (String, Vec<String>) {
    let (mut condition, mut with) = ("NOT imported".to_owned(), Vec::new());
    let asked = [
        ("run_id =", filter.run.as_ref().map(ToString::to_string)),
        ("created_at >=", filter.since.map(moment)),
    ];
    for (what, value) in asked {
        if let Some(value) = value {
            with.push(value);
            condition.push_str(&format!(" AND {what} ?{}", with.len()));
        }
    }
    (condition, with)
}

/// The counted columns of a journal entry.
struct Counted {
    journal: i64,
    run: RunId,
    task: Option<TaskId>,
    task_type: TaskType,
    model: Option<String>,
    outcome: Outcome,
    difficulty: Option<Difficulty>,
    duration_ms: u64,
    usage: Usage,
    at: Timestamp,
}

/// The running totals. Runs and tasks are in order of occurrence.
#[derive(Default)]
pub(super) struct Tally {
    all: Figures,
    outcomes: BTreeMap<Outcome, u32>,
    days: BTreeMap<Date, Figures>,
    runs: InOrder<RunId, RunFigures>,
    models: BTreeMap<Option<String>, Figures>,
    types: BTreeMap<TaskType, Figures>,
    tasks: InOrder<TaskId, TaskFigures>,
    failures: Failures,
}

impl Figures {
    fn add(&mut self, row: &Counted) {
        self.iterations = self.iterations.saturating_add(1);
        if let Some(is_failure) = row.outcome.is_failure() {
            self.success.of = self.success.of.saturating_add(1);
            self.success.done = self.success.done.saturating_add(u32::from(!is_failure));
        }
        self.duration_ms = self.duration_ms.saturating_add(row.duration_ms);
        self.usage = self.usage.and(row.usage);
    }

    #[must_use]
    pub fn failures(&self) -> u32 {
        self.success.of.saturating_sub(self.success.done)
    }
}

impl Tally {
    fn add(&mut self, row: &Counted) {
        self.all.add(row);
        *self.outcomes.entry(row.outcome).or_default() += 1;
        let day = row.at.to_zoned(TimeZone::UTC).date();
        self.days.entry(day).or_default().add(row);
        // Most entries have a known model.
        match self.models.get_mut(&row.model) {
            Some(figures) => figures.add(row),
            None => self.models.entry(row.model.clone()).or_default().add(row),
        }
        self.types.entry(row.task_type).or_default().add(row);
        let new_run = || RunFigures {
            run: row.run.clone(),
            first_at: row.at,
            figures: Figures::default(),
        };
        self.runs.change(&row.run, new_run, |run| run.figures.add(row));
        let Some(task) = &row.task else { return };
        let new_task = || TaskFigures {
            task: task.clone(),
            title: String::new(),
            status: None,
            failures: 0,
            difficulty: None,
            figures: Figures::default(),
        };
        self.tasks.change(task, new_task, |task| {
            task.figures.add(row);
            task.failures = task.figures.failures();
            task.difficulty = task.difficulty.max(row.difficulty);
        });
    }

    /// The statistics, without task titles and failure descriptions.
    pub(super) fn finish(self) -> Stats {
        let mut outcomes = self.outcomes;
        for outcome in Outcome::ALL {
            outcomes.entry(*outcome).or_default();
        }
        let number = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        let (by_run, tasks) = (self.runs.into_values(), self.tasks.into_values());
        let (tasks, hardest) = (number(tasks.len()), hardest(tasks));
        let failures = self.failures.finish();
        let days = self.days.into_iter();
        let models = self.models.into_iter();
        let types = self.types.into_iter();
        let mut by_model: Vec<ModelFigures> = models.map(|(model, figures)| ModelFigures { model, figures }).collect();
        by_model.sort_by_key(|model| Reverse(model.figures.iterations));
        let mut by_task_type: Vec<TypeFigures> = types
            .map(|(task_type, figures)| TypeFigures { task_type, figures })
            .collect();
        by_task_type.sort_by_key(|of_type| Reverse(of_type.figures.iterations));
        Stats {
            runs: number(by_run.len()),
            tasks,
            accepted_tasks: 0,
            cost_per_accepted_task: None,
            outcomes,
            all: self.all,
            by_day: days.map(|(day, figures)| DayFigures { day, figures }).collect(),
            by_run,
            by_model,
            by_task_type,
            different_failures: number(failures.len()),
            failures,
            hard_tasks: number(hardest.len()),
            hardest,
        }
    }
}

/// The difficult tasks, hardest first.
fn hardest(mut tasks: Vec<TaskFigures>) -> Vec<TaskFigures> {
    tasks.retain(|task| task.failures > 0 || task.difficulty >= Some(Difficulty::Hard));
    tasks.sort_by(|one, other| {
        let (cost, other_cost) = (one.figures.usage.cost_usd, other.figures.usage.cost_usd);
        let harder = (other.failures, other.difficulty).cmp(&(one.failures, one.difficulty));
        harder.then(other_cost.total_cmp(&cost))
    });
    tasks
}

/// Counts the entries that match a filter.
pub(super) fn count(connection: &Connection, filter: &StatsFilter) -> rusqlite::Result<Tally> {
    let (condition, with) = counted(filter);
    let mut statement = connection.prepare_cached(&format!(
        "SELECT id, run_id, task_id, task_type, model, outcome, difficulty, duration_ms, cost_usd, input_tokens,
                output_tokens, created_at
         FROM journal WHERE {condition} ORDER BY id"
    ))?;
    let mut rows = statement.query(params_from_iter(with))?;
    let (mut tally, signatures) = (Tally::default(), signatures(connection)?);
    while let Some(row) = rows.next()? {
        let row = read(row)?;
        tally.add(&row);
        // A report about a successful attempt is not a failure.
        let signature = signatures
            .get(&row.journal)
            .filter(|_| row.outcome.is_failure() == Some(true));
        if let Some(signature) = signature {
            let at = (row.journal, row.at);
            tally.failures.add(signature, row.task.as_ref(), at);
        }
    }
    Ok(tally)
}

/// The number of tasks that were finished in these iterations and are now done, and verified or accepted.
pub(super) fn accepted(connection: &Connection, filter: &StatsFilter) -> rusqlite::Result<u32> {
    let (condition, with) = counted(filter);
    let sql = format!(
        "SELECT count(*) FROM tasks WHERE status = 'done' AND unverified IS NULL
           AND id IN (SELECT task_id FROM journal WHERE outcome = 'done' AND {condition})"
    );
    let mut statement = connection.prepare_cached(&sql)?;
    statement.query_row(params_from_iter(with), |row| row.get(0))
}

fn read(row: &Row<'_>) -> rusqlite::Result<Counted> {
    Ok(Counted {
        journal: row.get("id")?,
        run: word_at(row, "run_id", RunId::parse)?,
        task: word_in(row, "task_id", TaskId::parse)?,
        task_type: word_at(row, "task_type", TaskType::parse)?,
        model: row.get("model")?,
        outcome: word_at(row, "outcome", Outcome::parse)?,
        difficulty: word_in(row, "difficulty", Difficulty::parse)?,
        duration_ms: number_at(row, "duration_ms")?,
        usage: Usage {
            cost_usd: row.get("cost_usd")?,
            input_tokens: number_at(row, "input_tokens")?,
            output_tokens: number_at(row, "output_tokens")?,
        },
        at: time_at(row, "created_at")?,
    })
}

/// Fills in a task's title and status. For a deleted task, the journal has the title.
pub(super) fn name(connection: &Connection, task: &mut TaskFigures) -> rusqlite::Result<()> {
    let id = task.task.as_str();
    let found = connection
        .prepare_cached("SELECT title, status FROM tasks WHERE id = ?1")?
        .query_row([id], |row| {
            Ok((row.get("title")?, Some(word_at(row, "status", TaskStatus::parse)?)))
        })
        .optional()?;
    (task.title, task.status) = match found {
        Some(found) => found,
        None => {
            let sql = "SELECT task_title FROM journal WHERE task_id = ?1 ORDER BY 1 - imported DESC, id DESC LIMIT 1";
            let title = connection.prepare_cached(sql)?.query_row([id], |row| row.get(0))?;
            (title, None)
        }
    };
    Ok(())
}
