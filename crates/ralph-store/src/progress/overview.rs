//! What happened since the user last checked: finished and failed tasks, cost, and what needs attention.

use std::collections::BTreeMap;

use jiff::Timestamp;
use ralph_model::{Denial, Outcome, RunId, TaskId, TaskStatus, Usage};
use rusqlite::{Connection, OptionalExtension, Row, named_params, params};

use super::Store;
use super::columns::{count_at, moment, number_at, time_at, word_at};
use super::denials::denials_since;
use super::pauses::{Pause, all_pauses};
use super::review::{FinishedTask, WAITING_LEARNINGS, Which, finished_tasks};
use super::runs::{Run, read_run};
use crate::StoreError;

/// When the user last checked the status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastSeen {
    /// The last journal entry at that time.
    pub journal: i64,
    pub at: Timestamp,
}

/// A task with its latest reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskSummary {
    pub id: TaskId,
    pub title: String,
    /// The last recorded reason, as a sentence; may be empty.
    pub reason: String,
    /// Number of attempts ever begun.
    pub attempts: u32,
}

/// A task that a run is working on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AtWork {
    pub run: RunId,
    pub task: TaskId,
    pub title: String,
    /// When the run claimed it.
    pub since: Timestamp,
}

/// News since a journal entry, and the current state.
#[derive(Debug, Clone, PartialEq)]
pub struct Overview {
    /// The last journal entry; 0 if there is none.
    pub last_journal: i64,
    /// Iterations since, by outcome.
    pub outcomes: BTreeMap<Outcome, u32>,
    /// Tasks done since, in order.
    pub done: Vec<TaskSummary>,
    /// Tasks attempted since that have failed, in order.
    pub failed: Vec<TaskSummary>,
    /// Number of distinct learnings captured since.
    pub learnings: u32,
    /// Number of knowledge entries with distinct titles captured since.
    pub knowledge: u32,
    /// Number of notes that agents stored or changed with commands since.
    pub agent_notes: u32,
    pub spent: Usage,
    /// Total duration of the iterations since.
    pub duration_ms: u64,
    /// Runs of all worktrees that have not ended, latest first, including killed ones.
    pub open_runs: Vec<Run>,
    /// The tasks of those runs, also of killed ones.
    pub at_work: Vec<AtWork>,
    /// The recorded pauses of agents; some may be over.
    pub pauses: Vec<Pause>,
    /// The last ended run of this worktree.
    pub last_run: Option<Run>,
    /// Failed tasks, most urgent first.
    pub waiting: Vec<TaskSummary>,
    /// Done tasks that a person has to review: first those that block others, then the most urgent.
    pub unverified: Vec<FinishedTask>,
    /// Number of done and verified tasks whose code no person has reviewed.
    pub to_review: u32,
    /// Number of learnings that need review.
    pub waiting_learnings: u32,
    /// Number of tasks and changes that agents proposed.
    pub proposals: u32,
    /// Denied permissions since, newest first.
    pub denials: Vec<Denial>,
    /// Task counts by status, without parents.
    pub tasks: BTreeMap<TaskStatus, u32>,
}

/// Condition for the last journal entry of a task.
const LAST_ROW: &str = "
    journal.id = (
        SELECT later.id FROM journal AS later WHERE later.task_id = journal.task_id
        ORDER BY later.created_at DESC, later.id DESC LIMIT 1
    )";
/// The latest reason for a task's state: of its last journal entry, or of a later line in its log.
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
    /// News since a journal entry (0 for all), and the current state, as seen from a worktree. Imported entries are not
    /// news.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn overview(&self, since_journal: i64, worktree: &str) -> Result<Overview, StoreError> {
        let overview = self.begin_read().and_then(|snapshot| {
            let sums = sums_since(&snapshot, since_journal)?;
            Ok(Overview {
                last_journal: snapshot.query_row("SELECT coalesce(max(id), 0) FROM journal", [], |row| row.get(0))?,
                outcomes: counts(
                    &snapshot,
                    "SELECT outcome AS word, count(*) AS n FROM journal WHERE id > ?1 AND NOT imported GROUP BY outcome",
                    Some(since_journal),
                    Outcome::parse,
                )?,
                done: news_since(
                    &snapshot,
                    since_journal,
                    "journal.outcome = 'done' AND coalesce(tasks.status, 'done') = 'done'",
                )?,
                failed: news_since(&snapshot, since_journal, "tasks.status = 'failed'")?,
                learnings: count_since(
                    &snapshot,
                    "learnings",
                    // Rejected learnings were not learned.
                    "iif(status = 'rejected', NULL, content)",
                    since_journal,
                )?,
                knowledge: count_since(
                    &snapshot,
                    "outbox",
                    "lower(trim(json_extract(payload, '$.title')))",
                    since_journal,
                )?,
                agent_notes: snapshot
                    .prepare_cached(
                        "SELECT count(DISTINCT note) FROM note_log
                         JOIN journal ON journal.run_id = note_log.run AND journal.iteration = note_log.iteration
                         WHERE note_log.author = 'agent' AND journal.id > ?1",
                    )?
                    .query_row([since_journal], |row| row.get(0))?,
                spent: sums.0,
                duration_ms: sums.1,
                open_runs: snapshot
                    .prepare_cached("SELECT * FROM runs WHERE ended_at IS NULL ORDER BY seq DESC")?
                    .query_map([], read_run)?
                    .collect::<rusqlite::Result<_>>()?,
                at_work: at_work(&snapshot)?,
                pauses: all_pauses(&snapshot)?,
                last_run: snapshot
                    .prepare_cached(
                        "SELECT * FROM runs WHERE ended_at IS NOT NULL AND worktree = ?1 ORDER BY seq DESC",
                    )?
                    .query_row([worktree], read_run)
                    .optional()?,
                waiting: failed_task_summaries(&snapshot)?,
                unverified: finished_tasks(&snapshot, Which::Unverified)?,
                to_review: number(&snapshot, TO_REVIEW)?,
                waiting_learnings: number(&snapshot, &format!("SELECT count(*) {WAITING_LEARNINGS}"))?,
                proposals: number(&snapshot, PROPOSALS)?,
                denials: denials_since(&snapshot, since_journal)?,
                tasks: counts(
                    &snapshot,
                    "SELECT status AS word, count(*) AS n FROM tasks
                     WHERE NOT EXISTS (SELECT 1 FROM tasks AS child WHERE child.parent = tasks.id) GROUP BY status",
                    None,
                    TaskStatus::parse,
                )?,
            })
        });
        self.sql(overview)
    }

    /// When the status was last checked in a worktree, if ever.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn last_seen(&self, worktree: &str) -> Result<Option<LastSeen>, StoreError> {
        let read = |row: &Row<'_>| {
            Ok(LastSeen {
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

    /// Records that the status was checked in a worktree.
    ///
    /// # Errors
    /// When the database cannot be written.
    pub fn put_last_seen(&mut self, worktree: &str, last_seen: &LastSeen) -> Result<(), StoreError> {
        self.write(|transaction| {
            transaction
                .prepare_cached(
                    "INSERT INTO looks (worktree, journal, at) VALUES (?1, ?2, ?3)
                     ON CONFLICT (worktree) DO UPDATE SET journal = ?2, at = ?3",
                )?
                .execute(params![worktree, last_seen.journal, moment(last_seen.at)])
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

/// The number of distinct values; NULL is not counted.
fn count_since(connection: &Connection, table: &str, what: &str, since: i64) -> rusqlite::Result<u32> {
    connection
        .prepare_cached(&format!(
            "SELECT count(DISTINCT {what}) FROM {table} WHERE journal > ?1"
        ))?
        .query_row([since], |row| row.get(0))
}

/// The tasks whose last journal entry is newer and matches a condition, in journal order. Tasks deleted since are
/// included, because the journal keeps their titles.
fn news_since(connection: &Connection, since: i64, and: &str) -> rusqlite::Result<Vec<TaskSummary>> {
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

pub(super) fn failed_task_summaries(connection: &Connection) -> rusqlite::Result<Vec<TaskSummary>> {
    connection
        .prepare_cached(&format!(
            "SELECT id, title, coalesce(({LAST_WORD}), '') AS reason, attempts FROM tasks
             WHERE status = 'failed' AND NOT EXISTS (SELECT 1 FROM tasks AS child WHERE child.parent = tasks.id)
             ORDER BY priority, seq"
        ))?
        .query_map([], read_news)?
        .collect()
}

fn read_news(row: &Row<'_>) -> rusqlite::Result<TaskSummary> {
    Ok(TaskSummary {
        id: word_at(row, "id", TaskId::parse)?,
        title: row.get("title")?,
        reason: row.get("reason")?,
        attempts: count_at(row, "attempts")?,
    })
}
