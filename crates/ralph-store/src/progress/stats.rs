//! Statistics over the journal: outcomes, cost, recurring failures. They are computed on each request and never stored.

mod failures;
mod in_order;
mod tally;

use std::collections::BTreeMap;

use jiff::Timestamp;
use jiff::civil::Date;
use ralph_model::{
    Difficulty, ErrorCategory, Outcome, Rate, RunId, Signature, TaskId, TaskStatus, TaskType, Usage,
    serialize_timestamp,
};
use rusqlite::Connection;
use serde::{Serialize, Serializer};

use self::tally::Tally;
use super::Store;
use crate::StoreError;

/// Filter for statistics; fields that are not set match everything.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StatsFilter {
    pub run: Option<RunId>,
    /// Inclusive.
    pub since: Option<Timestamp>,
    /// Maximum number of listed failures and tasks; none for all.
    pub most: Option<usize>,
}

/// Totals over some iterations.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct Figures {
    pub iterations: u32,
    /// The success rate, without interrupted iterations.
    pub success: Rate,
    /// Total duration.
    pub duration_ms: u64,
    /// Total usage.
    #[serde(flatten)]
    pub usage: Usage,
}

/// The figures of a day.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DayFigures {
    /// The UTC day on which the iterations ended.
    #[serde(serialize_with = "as_text")]
    pub day: Date,
    #[serde(flatten)]
    pub figures: Figures,
}

fn as_text<S: Serializer>(day: &Date, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(day)
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunFigures {
    pub run: RunId,
    /// When its first counted iteration ended.
    #[serde(serialize_with = "serialize_timestamp")]
    pub first_at: Timestamp,
    #[serde(flatten)]
    pub figures: Figures,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ModelFigures {
    /// The requested model; none if the agent chose.
    pub model: Option<String>,
    #[serde(flatten)]
    pub figures: Figures,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TypeFigures {
    pub task_type: TaskType,
    #[serde(flatten)]
    pub figures: Figures,
}

/// A recurring failure, identified by its signature.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FailureFigures {
    pub signature: Signature,
    /// Number of attempts that failed this way.
    pub times: u32,
    pub category: ErrorCategory,
    /// Why the last of them failed: the first line of the most informative text.
    pub why: String,
    /// The last journal entry with it.
    pub last_journal: i64,
    #[serde(serialize_with = "serialize_timestamp")]
    pub last_at: Timestamp,
    /// The affected tasks, in order of occurrence; some may have been deleted since.
    pub tasks: Vec<TaskId>,
}

/// A difficult task.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TaskFigures {
    /// It may have been deleted since.
    pub task: TaskId,
    /// Its last title.
    pub title: String,
    /// Its status; none if it was deleted.
    pub status: Option<TaskStatus>,
    pub failures: u32,
    /// The highest difficulty that an agent reported.
    pub difficulty: Option<Difficulty>,
    #[serde(flatten)]
    pub figures: Figures,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Stats {
    /// Number of runs with an iteration.
    pub runs: u32,
    /// Number of tasks worked on.
    pub tasks: u32,
    /// Number of these that are done, and verified or accepted by a person.
    pub accepted_tasks: u32,
    /// Total cost per accepted task; none if there are none or no agent reported costs.
    pub cost_per_accepted_task: Option<f64>,
    /// Iterations by outcome; every outcome is present.
    pub outcomes: BTreeMap<Outcome, u32>,
    /// Totals over all iterations.
    #[serde(flatten)]
    pub all: Figures,
    /// Days with an iteration, oldest first.
    pub by_day: Vec<DayFigures>,
    /// Oldest first.
    pub by_run: Vec<RunFigures>,
    /// Most iterations first.
    pub by_model: Vec<ModelFigures>,
    /// Most iterations first.
    pub by_task_type: Vec<TypeFigures>,
    /// Number of distinct failures.
    pub different_failures: u32,
    /// The most frequent failures; ties are ordered by the latest occurrence.
    pub failures: Vec<FailureFigures>,
    /// Number of tasks with a failed attempt, or that an agent called hard.
    pub hard_tasks: u32,
    /// The most difficult tasks: by failures, then reported difficulty, then cost.
    pub hardest: Vec<TaskFigures>,
}

impl Default for Stats {
    /// The statistics of an empty journal.
    fn default() -> Self {
        Tally::default().finish()
    }
}

impl Store {
    /// Computes statistics over the journal, without imported entries.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn stats(&self, filter: &StatsFilter) -> Result<Stats, StoreError> {
        let counted = self.begin_read().and_then(|snapshot| stats(&snapshot, filter));
        self.sql(counted)
    }
}

fn stats(connection: &Connection, filter: &StatsFilter) -> rusqlite::Result<Stats> {
    let mut stats = tally::count(connection, filter)?.finish();
    stats.accepted_tasks = tally::accepted(connection, filter)?;
    stats.cost_per_accepted_task = stats.all.usage.cost_per(stats.accepted_tasks);
    let most = filter.most.unwrap_or(usize::MAX);
    stats.failures.truncate(most);
    for failure in &mut stats.failures {
        failures::describe(connection, failure)?;
    }
    stats.hardest.truncate(most);
    for task in &mut stats.hardest {
        tally::name(connection, task)?;
    }
    Ok(stats)
}
