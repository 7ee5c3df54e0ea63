//! The attempts at a task, and how they failed.

use ralph_model::{
    Attempt, ErrorCategory, FailedAttempts, FailedGate, FailureReport, KeptReport, Outcome, ReportOrigin, Signature,
    Suggestion, TaskId,
};
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::Store;
use super::columns::{count_at, from_json, word_at, word_in};
use super::journal::read_row;
use crate::StoreError;

/// How many attempts are asked for a suggestion. What was suggested so long ago was heeded or is of no use.
const LAST_ATTEMPTS: u32 = 50;

impl Store {
    /// The attempts at a task that did not succeed, the oldest first, each with its report. Those before it was last done are
    /// over, and what was interrupted says nothing about how the work goes.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn failed_attempts(&self, task: &TaskId) -> Result<Vec<Attempt>, StoreError> {
        Ok(self.last_failed_attempts(task, u32::MAX)?.attempts)
    }

    /// The last so many of them: a task may have a long past.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn last_failed_attempts(&self, task: &TaskId, most: u32) -> Result<FailedAttempts, StoreError> {
        let moment = self.look();
        self.sql(moment.and_then(|moment| failed_attempts(&moment, task, most)))
    }

    /// What the newest attempt at a task suggests for the next one, if it is not done. One that was interrupted does not
    /// count, so that what was suggested before it holds, unless it suggests something itself. The last `LAST_ATTEMPTS` are
    /// asked.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn last_suggestion(&self, task: &TaskId) -> Result<Option<Suggestion>, StoreError> {
        let found = self
            .connection
            .prepare_cached(
                "SELECT attempt, outcome, suggestion
                 FROM (SELECT id, attempt, outcome FROM journal WHERE task_id = ?1 AND NOT imported
                       ORDER BY id DESC LIMIT ?2) AS tried
                 LEFT JOIN failure_reports ON journal = tried.id ORDER BY tried.id DESC",
            )
            .and_then(|mut statement| {
                let mut rows = statement.query(params![task.as_str(), LAST_ATTEMPTS])?;
                while let Some(row) = rows.next()? {
                    let outcome = word_at(row, "outcome", Outcome::parse)?;
                    if outcome == Outcome::Done {
                        break;
                    }
                    let text: Option<String> = row.get("suggestion")?;
                    if let Some(text) = text.filter(|text| !text.trim().is_empty()) {
                        let attempt = row.get("attempt")?;
                        return Ok(Some(Suggestion { attempt, outcome, text }));
                    }
                    if outcome != Outcome::Interrupted {
                        break;
                    }
                }
                Ok(None)
            });
        self.sql(found)
    }

    /// How the attempt of a row of the journal failed, as it is kept.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn report_of(&self, journal: i64) -> Result<Option<KeptReport>, StoreError> {
        self.sql(report_of(&self.connection, journal))
    }
}

pub(super) const LAST_DONE: &str =
    "SELECT max(id) FROM journal WHERE task_id = ?1 AND imported = ?2 AND outcome = 'done'";

/// What counts and is not done has failed.
macro_rules! failed_since {
    ($what:literal, $order:literal) => {
        concat!(
            "SELECT ",
            $what,
            " FROM journal WHERE task_id = ?1 AND imported = ?2 AND id > ?3 AND outcome <> 'interrupted'",
            $order
        )
    };
}
pub(super) const LAST_FAILED: &str = failed_since!("*", " ORDER BY id DESC LIMIT ?4");
pub(super) const FAILURES: &str = failed_since!("count(*) AS failures", "");

/// Which rows of the journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Whence {
    /// What happened here.
    Here,
    /// What was taken over from another tool.
    Elsewhere,
}

/// The last attempts at a task that failed since it was last done, within a transaction.
pub(super) fn failed_attempts(connection: &Connection, task: &TaskId, most: u32) -> rusqlite::Result<FailedAttempts> {
    let mut found = FailedAttempts::default();
    // From the newest on: what was taken over happened before everything else.
    for whence in [Whence::Here, Whence::Elsewhere] {
        let since = Since::done(connection, task, whence)?;
        let mut left = since.failures(connection)?;
        let mut statement = connection.prepare_cached(LAST_FAILED)?;
        let room = i64::from(most) - i64::try_from(found.attempts.len()).unwrap_or(i64::MAX);
        let wanted = params![task.as_str(), since.imported(), since.row(), room.max(0)];
        for row in statement.query_map(wanted, read_row)? {
            let row = row?;
            let report = report_of(connection, row.id)?;
            found.attempts.push(Attempt { row, report });
            left = left.saturating_sub(1);
        }
        found.earlier = found.earlier.saturating_add(left);
        if since.done.is_some() {
            found.was_done = true;
            break;
        }
    }
    found.attempts.reverse();
    Ok(found)
}

/// How many attempts at a task failed since it was last done, within a transaction: those that are told of it, and no others.
pub(super) fn failures_in_a_row(connection: &Connection, task: &TaskId) -> rusqlite::Result<u32> {
    let here = Since::done(connection, task, Whence::Here)?;
    let failures = here.failures(connection)?;
    if here.done.is_some() {
        return Ok(failures);
    }
    let elsewhere = Since::done(connection, task, Whence::Elsewhere)?.failures(connection)?;
    Ok(failures.saturating_add(elsewhere))
}

/// The time since a task was last done.
struct Since<'a> {
    task: &'a TaskId,
    whence: Whence,
    /// The row in which it was done; none where it never was.
    done: Option<i64>,
}

impl<'a> Since<'a> {
    /// The time since a task was last done, as far as rows of this kind tell.
    pub(super) fn done(connection: &Connection, task: &'a TaskId, whence: Whence) -> rusqlite::Result<Self> {
        let mut since = Self {
            task,
            whence,
            done: None,
        };
        let mut statement = connection.prepare_cached(LAST_DONE)?;
        since.done = statement.query_row(params![task.as_str(), since.imported()], |row| row.get(0))?;
        Ok(since)
    }

    /// How many attempts have failed since.
    pub(super) fn failures(&self, connection: &Connection) -> rusqlite::Result<u32> {
        let mut statement = connection.prepare_cached(FAILURES)?;
        let wanted = params![self.task.as_str(), self.imported(), self.row()];
        statement.query_row(wanted, |row| count_at(row, "failures"))
    }

    fn imported(&self) -> bool {
        self.whence == Whence::Elsewhere
    }

    fn row(&self) -> i64 {
        self.done.unwrap_or_default()
    }
}

fn report_of(connection: &Connection, journal: i64) -> rusqlite::Result<Option<KeptReport>> {
    connection
        .prepare_cached("SELECT * FROM failure_reports WHERE journal = ?1")?
        .query_row([journal], read_kept_report)
        .optional()
}

pub(super) fn read_kept_report(row: &Row<'_>) -> rusqlite::Result<KeptReport> {
    let files: String = row.get("relevant_files")?;
    let gate: Option<String> = row.get("gate")?;
    let end: Option<String> = row.get("gate_end")?;
    let shortened_at: Option<String> = row.get("shortened_at")?;
    Ok(KeptReport {
        report: FailureReport {
            what_tried: row.get("what_tried")?,
            why_failed: row.get("why_failed")?,
            category: word_at(row, "category", ErrorCategory::parse)?,
            relevant_files: from_json(&files, "relevant_files")?,
            error_output: row.get("error_output")?,
            origin: word_at(row, "origin", ReportOrigin::parse)?,
            gate: gate.map(|command| FailedGate {
                command,
                end: end.unwrap_or_default(),
            }),
        },
        suggestion: row.get("suggestion")?,
        signature: word_in(row, "signature", Signature::parse)?,
        shortened: shortened_at.is_some(),
    })
}
