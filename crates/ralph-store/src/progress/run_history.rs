//! Reads the history of a run for extracting learnings, and lists the runs without extraction.

use std::collections::HashMap;

use ralph_model::{
    ErrorCategory, Evidence, Outcome, PastEnd, PastError, PastIteration, ReportOrigin, RunHistory, RunId, Signature,
    StopReason, TaskType,
};
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::Store;
use super::columns::{count_at, from_json, number_at, word_at, word_in};
use crate::StoreError;

impl Store {
    /// Everything from which learnings of a run can be extracted. An unknown run has no iterations.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn run_history(&self, run: &RunId) -> Result<RunHistory, StoreError> {
        let snapshot = self.begin_read();
        self.sql(snapshot.and_then(|snapshot| history(&snapshot, run)))
    }

    /// Ended runs whose iterations are all settled and that have no extraction yet: newest first, at most `most`; with
    /// `before`, only runs that began earlier.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn runs_without_extraction(&self, most: u32, before: Option<&RunId>) -> Result<Vec<RunId>, StoreError> {
        let sql = "SELECT id FROM runs
                   WHERE kind = 'loop' AND ended_at IS NOT NULL
                     AND id NOT IN (SELECT run FROM extractions) AND id NOT IN (SELECT run FROM iterations)
                     AND (?2 IS NULL OR seq < (SELECT seq FROM runs WHERE id = ?2))
                   ORDER BY seq DESC LIMIT ?1";
        let found = self.connection.prepare_cached(sql).and_then(|mut statement| {
            let ids = statement.query_map(params![most, before.map(RunId::as_str)], |row| {
                word_at(row, "id", RunId::parse)
            })?;
            ids.collect()
        });
        self.sql(found)
    }
}

fn history(connection: &Connection, run: &RunId) -> rusqlite::Result<RunHistory> {
    let goal: Option<String> = connection
        .prepare_cached("SELECT goal FROM runs WHERE id = ?1")?
        .query_row([run.as_str()], |row| row.get(0))
        .optional()?;
    let mut iterations: Vec<PastIteration> = connection
        .prepare_cached(
            "SELECT id, iteration, task_id, task_title, task_type, outcome, stop_reason, quoted, changed_nothing, evidence, unverified,
                    duration_ms, notes, files_modified, why_failed, error_output, category, origin, signature
             FROM journal LEFT JOIN failure_reports ON failure_reports.journal = journal.id
             WHERE run_id = ?1 ORDER BY iteration",
        )?
        .query_map([run.as_str()], read_iteration)?
        .collect::<rusqlite::Result<_>>()?;
    let mut reported = reported_strategies(connection, run)?;
    for iteration in &mut iterations {
        let reported = iteration.journal.and_then(|journal| reported.remove(&journal));
        iteration.learned = reported.unwrap_or_default();
    }
    Ok(RunHistory {
        loop_id: run.to_string(),
        objective: goal.unwrap_or_default(),
        iterations,
    })
}

/// The strategies that agents reported, by journal entry. Extracted learnings are excluded.
fn reported_strategies(connection: &Connection, run: &RunId) -> rusqlite::Result<HashMap<i64, Vec<String>>> {
    let mut statement = connection.prepare_cached(
        "SELECT learning_sources.journal AS row, content
         FROM journal
         CROSS JOIN learning_sources ON learning_sources.journal = journal.id
         CROSS JOIN learnings ON learnings.seq = learning_sources.learning
         WHERE run_id = ?1 AND kind = 'strategy' AND NOT drawn
         ORDER BY learnings.seq",
    )?;
    let mut rows = statement.query([run.as_str()])?;
    let mut reported: HashMap<i64, Vec<String>> = HashMap::new();
    while let Some(row) = rows.next()? {
        reported.entry(row.get("row")?).or_default().push(row.get("content")?);
    }
    Ok(reported)
}

fn read_iteration(row: &Row<'_>) -> rusqlite::Result<PastIteration> {
    let outcome = word_at(row, "outcome", Outcome::parse)?;
    let end = match outcome.is_failure() {
        // An agent's claim about its own work is not evidence.
        Some(false) if row.get("unverified")? || word_at(row, "evidence", Evidence::parse)? == Evidence::None => {
            PastEnd::Unproven
        }
        Some(false) => PastEnd::Completed,
        Some(true) => PastEnd::Failed,
        None => PastEnd::Other,
    };
    let changed_nothing: bool = row.get("changed_nothing")?;
    let notes: Option<String> = row.get("notes")?;
    Ok(PastIteration {
        number: count_at(row, "iteration")?,
        journal: row.get("id")?,
        task: row.get("task_id")?,
        title: row.get("task_title")?,
        task_type: word_at(row, "task_type", TaskType::parse)?,
        end,
        progress_made: end == PastEnd::Completed && !changed_nothing,
        duration_ms: number_at(row, "duration_ms")? as f64,
        learned: Vec::new(),
        notes: notes.filter(|notes| !notes.trim().is_empty()),
        errors: error(row)?.into_iter().collect(),
        files: from_json(&row.get::<_, String>("files_modified")?, "files_modified")?,
    })
}

/// The error of an attempt, most informative part first: the agent's words, then the program output.
fn error(row: &Row<'_>) -> rusqlite::Result<Option<PastError>> {
    let Some(why) = row.get::<_, Option<String>>("why_failed")? else {
        return Ok(None);
    };
    let printed: Option<String> = row.get("error_output")?;
    let printed = printed.filter(|printed| !printed.trim().is_empty());
    let origin = word_at(row, "origin", ReportOrigin::parse)?;
    let category = word_at(row, "category", ErrorCategory::parse)?;
    let text = match (origin, printed) {
        (ReportOrigin::Ralph, Some(printed)) => printed,
        (ReportOrigin::Ralph, None) if category == ErrorCategory::Unknown => match own_reason(row)? {
            Some(reason) => reason,
            // An agent that ended without a report leaves nothing to learn from.
            None => return Ok(None),
        },
        (ReportOrigin::Agent, Some(printed)) => format!("{why}\n{printed}"),
        (_, None) => why,
    };
    let signature = word_in(row, "signature", Signature::parse)?;
    Ok(Some(PastError {
        text,
        category: Some(category),
        signature,
    }))
}

/// The agent's own reason for giving up.
fn own_reason(row: &Row<'_>) -> rusqlite::Result<Option<String>> {
    let stop = word_at(row, "stop_reason", StopReason::parse)?;
    let reason: String = row.get("quoted")?;
    Ok((stop == StopReason::TaskFailed && !reason.trim().is_empty()).then_some(reason))
}
