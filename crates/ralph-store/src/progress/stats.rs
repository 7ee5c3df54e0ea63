//! The journal in figures: how much was done, what it cost, what keeps failing. All of it is counted when it is asked for, and
//! nothing of it is written down.

mod failures;
mod in_order;
mod tally;

use std::collections::BTreeMap;

use jiff::Timestamp;
use jiff::civil::Date;
use ralph_model::{
    Difficulty, ErrorCategory, Outcome, Rate, RunId, Signature, TaskId, TaskStatus, TaskType, Usage, serialize_moment,
};
use rusqlite::Connection;
use serde::{Serialize, Serializer};

use self::tally::Tally;
use super::Store;
use crate::StoreError;

/// What is counted. What is not set lets everything through.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StatsFilter {
    /// Only the iterations of this run.
    pub run: Option<RunId>,
    /// Only those from this moment on.
    pub since: Option<Timestamp>,
    /// How many failures and how many tasks are listed; all of them without it.
    pub most: Option<usize>,
}

/// The figures of some iterations.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct Figures {
    /// How many there were.
    pub iterations: u32,
    /// How many of those that count were done; what was interrupted does not count.
    pub success: Rate,
    /// How long they took, all together.
    pub duration_ms: u64,
    /// What they used, all together.
    #[serde(flatten)]
    pub usage: Usage,
}

/// The figures of the iterations that have something in common.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DayFigures {
    /// The day on which they ended, in UTC.
    #[serde(serialize_with = "as_text")]
    pub day: Date,
    /// Their figures.
    #[serde(flatten)]
    pub figures: Figures,
}

fn as_text<S: Serializer>(day: &Date, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(day)
}

/// The figures of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunFigures {
    /// The run.
    pub run: RunId,
    /// When its first iteration ended that is counted here.
    #[serde(serialize_with = "serialize_moment")]
    pub first_at: Timestamp,
    /// Its figures.
    #[serde(flatten)]
    pub figures: Figures,
}

/// The figures of a model.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ModelFigures {
    /// The model that was asked for; none where the agent chose.
    pub model: Option<String>,
    /// Its figures.
    #[serde(flatten)]
    pub figures: Figures,
}

/// The figures of a kind of work.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TypeFigures {
    /// The kind of work.
    pub task_type: TaskType,
    /// Its figures.
    #[serde(flatten)]
    pub figures: Figures,
}

/// A failure that has a signature, with how often it came.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FailureFigures {
    /// What makes it the same.
    pub signature: Signature,
    /// How many attempts failed so.
    pub times: u32,
    /// What kind of failure it is.
    pub category: ErrorCategory,
    /// Why the last of them failed, the first line of what says most about it.
    pub why: String,
    /// The last row of the journal that it stands in.
    pub last_journal: i64,
    /// When that was.
    #[serde(serialize_with = "serialize_moment")]
    pub last_at: Timestamp,
    /// The tasks that met it, in the order in which they did; some may have been deleted since.
    pub tasks: Vec<TaskId>,
}

/// A task that was not easy.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TaskFigures {
    /// The task; it may have been deleted since.
    pub task: TaskId,
    /// Its title, as it was last.
    pub title: String,
    /// How it stands; none of one that was deleted.
    pub status: Option<TaskStatus>,
    /// How many attempts failed.
    pub failures: u32,
    /// The hardest that an agent called it.
    pub difficulty: Option<Difficulty>,
    /// Its figures.
    #[serde(flatten)]
    pub figures: Figures,
}

/// The journal in figures.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Stats {
    /// How many runs there were that came to an iteration.
    pub runs: u32,
    /// How many tasks were worked on.
    pub tasks: u32,
    /// How many of them are done, and verified or accepted by a person.
    pub accepted_tasks: u32,
    /// What all iterations cost for each of these; none where no agent told, or there are none.
    pub cost_per_accepted_task: Option<f64>,
    /// How many iterations ended how; every outcome is there.
    pub outcomes: BTreeMap<Outcome, u32>,
    /// The figures of all of them.
    #[serde(flatten)]
    pub all: Figures,
    /// The days with an iteration, the oldest first.
    pub by_day: Vec<DayFigures>,
    /// The runs, the oldest first.
    pub by_run: Vec<RunFigures>,
    /// The models, the one with most iterations first.
    pub by_model: Vec<ModelFigures>,
    /// The kinds of work, the one with most iterations first.
    pub by_task_type: Vec<TypeFigures>,
    /// How many different failures there were.
    pub different_failures: u32,
    /// The most frequent of them; of those that came as often, the one that was seen last.
    pub failures: Vec<FailureFigures>,
    /// How many tasks were not easy: an attempt failed, or an agent called it hard.
    pub hard_tasks: u32,
    /// Those with most failures; of those that failed as often, the one that was called harder, then the one that cost more.
    pub hardest: Vec<TaskFigures>,
}

impl Default for Stats {
    /// The figures of no iteration at all.
    fn default() -> Self {
        Tally::default().finish()
    }
}

impl Store {
    /// The journal in figures. What was taken over from another tool says nothing about how things go here, and is left out.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn stats(&self, filter: &StatsFilter) -> Result<Stats, StoreError> {
        let counted = self.look().and_then(|moment| stats(&moment, filter));
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
