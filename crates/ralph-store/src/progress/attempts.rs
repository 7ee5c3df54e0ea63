//! The attempts at a task, and how they failed.

use ralph_model::{
    Attempt, ErrorCategory, FailedGate, FailureReport, KeptReport, Outcome, ReportOrigin, Signature, Suggestion, TaskId,
};
use rusqlite::{OptionalExtension, Row, params};

use super::Store;
use super::columns::{from_json, word_at, word_in};
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
        let mut attempts = Vec::new();
        for row in self.journal_of_task(task)? {
            match row.row.outcome.is_failure() {
                Some(false) => attempts.clear(),
                Some(true) => attempts.push(Attempt {
                    report: self.report_of(row.id)?,
                    row,
                }),
                None => {}
            }
        }
        Ok(attempts)
    }

    /// What the newest attempt at a task since it was last done that suggests something suggests for the next one, however
    /// it ended. The last [`LAST_ATTEMPTS`] are asked.
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
        let found = self
            .connection
            .prepare_cached("SELECT * FROM failure_reports WHERE journal = ?1")
            .and_then(|mut statement| statement.query_row([journal], read_kept_report).optional());
        self.sql(found)
    }
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
