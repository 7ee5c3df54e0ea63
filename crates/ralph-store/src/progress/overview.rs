//! What a person wants to know who has been away: what was done, what failed, what it cost, what waits.

use std::collections::BTreeMap;

use jiff::Timestamp;
use ralph_model::{Denial, Outcome, RunId, TaskId, TaskStatus, Usage};
use rusqlite::{Connection, OptionalExtension, Row, named_params, params};

use super::Store;
use super::columns::{count_at, moment, number_at, time_at, word_at};
use super::denials::denials_since;
use super::pauses::{Pause, all_pauses};
use super::review::{FinishedTask, WAITING_LESSONS, Which, finished_tasks};
use super::runs::{Run, read_run};
use crate::StoreError;

/// A look at the status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Look {
    /// The last row of the journal that there was.
    pub journal: i64,
    /// When.
    pub at: Timestamp,
}

/// A task that something is to be said about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskNews {
    /// The task.
    pub id: TaskId,
    /// Its title.
    pub title: String,
    /// What was last said about it, in a sentence; empty when nothing was.
    pub reason: String,
    /// How many attempts at it were begun, ever.
    pub attempts: u32,
}

/// A task that a run is at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AtWork {
    /// The run.
    pub run: RunId,
    /// The task.
    pub task: TaskId,
    /// Its title.
    pub title: String,
    /// When the run took it.
    pub since: Timestamp,
}

/// What there is since a row of the journal, and how things stand.
#[derive(Debug, Clone, PartialEq)]
pub struct Overview {
    /// The last row of the journal; 0 when there is none.
    pub last_journal: i64,
    /// How many iterations ended how, since.
    pub outcomes: BTreeMap<Outcome, u32>,
    /// The tasks that were done since, in the order in which they were.
    pub done: Vec<TaskNews>,
    /// The tasks that were tried since and have failed, in the order in which they did.
    pub failed: Vec<TaskNews>,
    /// How many different lessons were learned since.
    pub learnings: u32,
    /// How many long notes with different titles were captured since.
    pub knowledge: u32,
    /// How many notes agents stored or changed with commands since.
    pub agent_notes: u32,
    /// What was used since.
    pub spent: Usage,
    /// How long the iterations since took, all together.
    pub duration_ms: u64,
    /// The runs that have not ended, of all worktrees, the latest first. One that was killed is among them.
    pub open_runs: Vec<Run>,
    /// What those runs are at, or were when they were killed.
    pub at_work: Vec<AtWork>,
    /// What keeps agents from being started, as far as it is on record; some of it may be over.
    pub pauses: Vec<Pause>,
    /// The run of this worktree that ended last.
    pub last_run: Option<Run>,
    /// The tasks that wait for a person: those that have failed, the most urgent first.
    pub waiting: Vec<TaskNews>,
    /// The done tasks that a person has to review: those that keep others waiting first, then the most urgent.
    pub unverified: Vec<FinishedTask>,
    /// How many done and verified tasks have code that no person has reviewed.
    pub to_review: u32,
    /// How many lessons wait for a person.
    pub waiting_learnings: u32,
    /// How many tasks and changes agents propose.
    pub proposals: u32,
    /// What agents were not allowed to do since, the newest first.
    pub denials: Vec<Denial>,
    /// How many tasks stand how, those that have children left out.
    pub tasks: BTreeMap<TaskStatus, u32>,
}

/// Which of a task's rows is its last one.
const LAST_ROW: &str = "
    journal.id = (
        SELECT later.id FROM journal AS later WHERE later.task_id = journal.task_id
        ORDER BY later.created_at DESC, later.id DESC LIMIT 1
    )";
/// What was last said about a task: its last row in the journal, unless its log says something later.
const LAST_WORD: &str = "
    SELECT text FROM (
        SELECT reason AS text, created_at AS at, 1 AS rank FROM journal WHERE id = (
            SELECT id FROM journal WHERE task_id = tasks.id ORDER BY created_at DESC, id DESC LIMIT 1
        )
        UNION ALL
        SELECT text, at, 0 FROM task_log WHERE seq = (SELECT max(seq) FROM task_log WHERE task = tasks.id)
    ) WHERE text <> '' ORDER BY at DESC, rank DESC LIMIT 1";

/// Done and verified tasks whose code no person has reviewed.
const TO_REVIEW: &str = "SELECT count(*) FROM tasks WHERE to_review AND status = 'done' AND unverified IS NULL
    AND id IN (SELECT task FROM commits WHERE rollback IS NULL)";
const PROPOSALS: &str = "SELECT (SELECT count(*) FROM proposals WHERE state = 'open')
    + (SELECT count(*) FROM tasks WHERE status = 'proposed')";

fn number(connection: &Connection, sql: &str) -> rusqlite::Result<u32> {
    connection.prepare_cached(sql)?.query_row([], |row| row.get(0))
}

impl Store {
    /// What there is since a row of the journal (0 for all of it), and how things stand, seen from a worktree. What was taken
    /// over from another tool is no news.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn overview(&self, since_journal: i64, worktree: &str) -> Result<Overview, StoreError> {
        let looked = self.look().and_then(|moment| {
            let sums = sums_since(&moment, since_journal)?;
            Ok(Overview {
                last_journal: moment.query_row("SELECT coalesce(max(id), 0) FROM journal", [], |row| row.get(0))?,
                outcomes: counts(
                    &moment,
                    "SELECT outcome AS word, count(*) AS n FROM journal WHERE id > ?1 AND NOT imported GROUP BY outcome",
                    Some(since_journal),
                    Outcome::parse,
                )?,
                done: news_since(
                    &moment,
                    since_journal,
                    "journal.outcome = 'done' AND coalesce(tasks.status, 'done') = 'done'",
                )?,
                failed: news_since(&moment, since_journal, "tasks.status = 'failed'")?,
                learnings: count_since(
                    &moment,
                    "learnings",
                    // What cannot be true was not learned.
                    "iif(status = 'rejected', NULL, content)",
                    since_journal,
                )?,
                knowledge: count_since(
                    &moment,
                    "outbox",
                    "lower(trim(json_extract(payload, '$.title')))",
                    since_journal,
                )?,
                agent_notes: moment
                    .prepare_cached(
                        "SELECT count(DISTINCT note) FROM note_log
                         JOIN journal ON journal.run_id = note_log.run AND journal.iteration = note_log.iteration
                         WHERE note_log.author = 'agent' AND journal.id > ?1",
                    )?
                    .query_row([since_journal], |row| row.get(0))?,
                spent: sums.0,
                duration_ms: sums.1,
                open_runs: moment
                    .prepare_cached("SELECT * FROM runs WHERE ended_at IS NULL ORDER BY seq DESC")?
                    .query_map([], read_run)?
                    .collect::<rusqlite::Result<_>>()?,
                at_work: at_work(&moment)?,
                pauses: all_pauses(&moment)?,
                last_run: moment
                    .prepare_cached(
                        "SELECT * FROM runs WHERE ended_at IS NOT NULL AND worktree = ?1 ORDER BY seq DESC",
                    )?
                    .query_row([worktree], read_run)
                    .optional()?,
                waiting: waiting(&moment)?,
                unverified: finished_tasks(&moment, Which::Unverified)?,
                to_review: number(&moment, TO_REVIEW)?,
                waiting_learnings: number(&moment, &format!("SELECT count(*) {WAITING_LESSONS}"))?,
                proposals: number(&moment, PROPOSALS)?,
                denials: denials_since(&moment, since_journal)?,
                tasks: counts(
                    &moment,
                    "SELECT status AS word, count(*) AS n FROM tasks
                     WHERE NOT EXISTS (SELECT 1 FROM tasks AS child WHERE child.parent = tasks.id) GROUP BY status",
                    None,
                    TaskStatus::parse,
                )?,
            })
        });
        self.sql(looked)
    }

    /// When somebody last looked at the status in a worktree; none when nobody did.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn last_look(&self, worktree: &str) -> Result<Option<Look>, StoreError> {
        let read = |row: &Row<'_>| {
            Ok(Look {
                journal: row.get("journal")?,
                at: time_at(row, "at")?,
            })
        };
        let found = self
            .connection
            .prepare_cached("SELECT * FROM looks WHERE worktree = ?1")
            .and_then(|mut statement| statement.query_row([worktree], read).optional());
        self.sql(found)
    }

    /// Notes that somebody looked at the status in a worktree.
    ///
    /// # Errors
    /// When the database cannot be written.
    pub fn put_look(&mut self, worktree: &str, look: &Look) -> Result<(), StoreError> {
        self.write(|transaction| {
            transaction
                .prepare_cached(
                    "INSERT INTO looks (worktree, journal, at) VALUES (?1, ?2, ?3)
                     ON CONFLICT (worktree) DO UPDATE SET journal = ?2, at = ?3",
                )?
                .execute(params![worktree, look.journal, moment(look.at)])
                .map(drop)
        })
    }
}

fn sums_since(connection: &Connection, since: i64) -> rusqlite::Result<(Usage, u64)> {
    connection
        .prepare_cached(
            "SELECT total(cost_usd) AS cost, CAST(total(input_tokens) AS INTEGER) AS input,
                    CAST(total(output_tokens) AS INTEGER) AS output, CAST(total(duration_ms) AS INTEGER) AS duration
             FROM journal WHERE id > ?1 AND NOT imported",
        )?
        .query_row([since], |row| {
            let spent = Usage {
                cost_usd: row.get("cost")?,
                input_tokens: number_at(row, "input")?,
                output_tokens: number_at(row, "output")?,
            };
            Ok((spent, number_at(row, "duration")?))
        })
}

/// Counts of rows by a word.
fn counts<T: Ord>(
    connection: &Connection,
    sql: &str,
    since: Option<i64>,
    parse: impl Fn(&str) -> Option<T>,
) -> rusqlite::Result<BTreeMap<T, u32>> {
    connection
        .prepare_cached(sql)?
        .query_map(rusqlite::params_from_iter(since), |row| {
            Ok((word_at(row, "word", &parse)?, count_at(row, "n")?))
        })?
        .collect()
}

/// How many different ones there are: what is said again is not new. What is nothing is not counted.
fn count_since(connection: &Connection, table: &str, what: &str, since: i64) -> rusqlite::Result<u32> {
    connection
        .prepare_cached(&format!(
            "SELECT count(DISTINCT {what}) FROM {table} WHERE journal > ?1"
        ))?
        .query_row([since], |row| row.get(0))
}

/// The tasks whose last row is later than another one and says this of them, in the order of those rows. A task that was
/// deleted since is among them: the journal keeps its title.
fn news_since(connection: &Connection, since: i64, and: &str) -> rusqlite::Result<Vec<TaskNews>> {
    connection
        .prepare_cached(&format!(
            "SELECT task_id AS id, task_title AS title, reason, coalesce(attempts, attempt) AS attempts
             FROM journal LEFT JOIN tasks ON tasks.id = task_id
             WHERE journal.id > :since AND NOT imported AND task_id IS NOT NULL AND {LAST_ROW} AND {and}
             ORDER BY journal.id"
        ))?
        .query_map(named_params! { ":since": since }, read_news)?
        .collect()
}

fn at_work(connection: &Connection) -> rusqlite::Result<Vec<AtWork>> {
    let read = |row: &Row<'_>| {
        Ok(AtWork {
            run: word_at(row, "run", RunId::parse)?,
            task: word_at(row, "task", TaskId::parse)?,
            title: row.get("task_title")?,
            since: time_at(row, "claimed_at")?,
        })
    };
    connection
        .prepare_cached("SELECT run, task, task_title, claimed_at FROM iterations ORDER BY claimed_at DESC, run")?
        .query_map([], read)?
        .collect()
}

pub(super) fn waiting(connection: &Connection) -> rusqlite::Result<Vec<TaskNews>> {
    connection
        .prepare_cached(&format!(
            "SELECT id, title, coalesce(({LAST_WORD}), '') AS reason, attempts FROM tasks
             WHERE status = 'failed' AND NOT EXISTS (SELECT 1 FROM tasks AS child WHERE child.parent = tasks.id)
             ORDER BY priority, seq"
        ))?
        .query_map([], read_news)?
        .collect()
}

fn read_news(row: &Row<'_>) -> rusqlite::Result<TaskNews> {
    Ok(TaskNews {
        id: word_at(row, "id", TaskId::parse)?,
        title: row.get("title")?,
        reason: row.get("reason")?,
        attempts: count_at(row, "attempts")?,
    })
}
