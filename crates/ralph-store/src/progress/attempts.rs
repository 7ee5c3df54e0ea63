//! Attempts at a task and their failure reports.

use ralph_model::{
    Attempt, ErrorCategory, FailedAttempts, FailedGate, FailureReport, Outcome, ReportOrigin, Signature, StoredReport,
    Suggestion, TaskId,
};
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::Store;
use super::columns::{count_at, from_json, word_at, word_in};
use super::journal::read_row;
use crate::StoreError;

/// Number of attempts searched for a suggestion. Older suggestions were followed or are useless.
const LAST_ATTEMPTS: u32 = 50;

impl Store {
    /// The failed attempts at a task since it was last done, oldest first, each with its report. Interrupted attempts
    /// do not count.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn failed_attempts(&self, task: &TaskId) -> Result<Vec<Attempt>, StoreError> {
        Ok(self.last_failed_attempts(task, u32::MAX)?.attempts)
    }

    /// The last `most` failed attempts: a task may have a long history.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn last_failed_attempts(&self, task: &TaskId, most: u32) -> Result<FailedAttempts, StoreError> {
        let snapshot = self.begin_read();
        self.sql(snapshot.and_then(|snapshot| failed_attempts(&snapshot, task, most)))
    }

    /// The suggestion of the newest attempt at a task that is not done. An interrupted attempt without a suggestion is
    /// skipped, so that the one before it stays in effect. Searches the last `LAST_ATTEMPTS` attempts.
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

    /// The failure report of a journal entry, as it is kept.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn report_of(&self, journal: i64) -> Result<Option<StoredReport>, StoreError> {
        self.sql(report_of(&self.connection, journal))
    }
}

pub(super) const LAST_DONE: &str =
    "SELECT max(id) FROM journal WHERE task_id = ?1 AND imported = ?2 AND outcome = 'done'";

/// Every counted attempt that is not done has failed.
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

/// Where journal entries come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RowOrigin {
    Local,
    /// Imported from another tool.
    Imported,
}

/// The last failed attempts at a task since it was last done, within a transaction.
pub(super) fn failed_attempts(connection: &Connection, task: &TaskId, most: u32) -> rusqlite::Result<FailedAttempts> {
    let mut found = FailedAttempts::default();
    // Newest first: imported entries are older than all others.
    for origin in [RowOrigin::Local, RowOrigin::Imported] {
        let since = Since::done(connection, task, origin)?;
        let mut left = since.failures(connection)?;
        let mut statement = connection.prepare_cached(LAST_FAILED)?;
        let remaining = i64::from(most) - i64::try_from(found.attempts.len()).unwrap_or(i64::MAX);
        let wanted = params![task.as_str(), since.imported(), since.row(), remaining.max(0)];
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

/// The number of failed attempts since a task was last done, within a transaction. It counts the same attempts as
/// [`failed_attempts`].
pub(super) fn failures_in_a_row(connection: &Connection, task: &TaskId) -> rusqlite::Result<u32> {
    let here = Since::done(connection, task, RowOrigin::Local)?;
    let failures = here.failures(connection)?;
    if here.done.is_some() {
        return Ok(failures);
    }
    let imported = Since::done(connection, task, RowOrigin::Imported)?.failures(connection)?;
    Ok(failures.saturating_add(imported))
}

struct Since<'a> {
    task: &'a TaskId,
    origin: RowOrigin,
    /// The entry in which it was done; none if it never was.
    done: Option<i64>,
}

impl<'a> Since<'a> {
    pub(super) fn done(connection: &Connection, task: &'a TaskId, origin: RowOrigin) -> rusqlite::Result<Self> {
        let mut since = Self {
            task,
            origin,
            done: None,
        };
        let mut statement = connection.prepare_cached(LAST_DONE)?;
        since.done = statement.query_row(params![task.as_str(), since.imported()], |row| row.get(0))?;
        Ok(since)
    }

    pub(super) fn failures(&self, connection: &Connection) -> rusqlite::Result<u32> {
        let mut statement = connection.prepare_cached(FAILURES)?;
        let wanted = params![self.task.as_str(), self.imported(), self.row()];
        statement.query_row(wanted, |row| count_at(row, "failures"))
    }

    fn imported(&self) -> bool {
        self.origin == RowOrigin::Imported
    }

    fn row(&self) -> i64 {
        self.done.unwrap_or_default()
    }
}

fn report_of(connection: &Connection, journal: i64) -> rusqlite::Result<Option<StoredReport>> {
    connection
        .prepare_cached("SELECT * FROM failure_reports WHERE journal = ?1")?
        .query_row([journal], read_kept_report)
        .optional()
}

pub(super) fn read_kept_report(row: &Row<'_>) -> rusqlite::Result<StoredReport> {
    let files: String = row.get("relevant_files")?;
    let gate: Option<String> = row.get("gate")?;
    let end: Option<String> = row.get("gate_end")?;
    let shortened_at: Option<String> = row.get("shortened_at")?;
    Ok(StoredReport {
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
