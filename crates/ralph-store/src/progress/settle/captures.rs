//! What an iteration leaves beside its journal entry: its failure report and injections.

use ralph_model::{ErrorCategory, FailureReport, Injection, Outcome};
use rusqlite::{OptionalExtension, Transaction, params};

use super::{Settlement, feedback};
use crate::progress::columns::{from_json, to_json};

/// Stores the failure report. A suggestion without a report, as from an interrupted agent, is stored with the reason of
/// the journal entry.
pub(super) fn put_report(transaction: &Transaction<'_>, settlement: &Settlement, journal: i64) -> rusqlite::Result<()> {
    let row = &settlement.row;
    // A done task needs no suggestion; the agent's own report is kept even then.
    let to_suggest = settlement.suggestion.is_some() && row.outcome != Outcome::Done;
    if settlement.report.is_none() && !to_suggest {
        return Ok(());
    }
    let silent = FailureReport {
        what_tried: String::new(),
        why_failed: row.reason.clone(),
        category: row.error_category.unwrap_or(ErrorCategory::Unknown),
        relevant_files: Vec::new(),
        error_output: None,
        origin: ralph_model::ReportOrigin::Ralph,
        gate: None,
    };
    let report = settlement.report.as_ref().unwrap_or(&silent);
    transaction
        .prepare_cached(
            "INSERT INTO failure_reports (journal, task, what_tried, why_failed, category, relevant_files, error_output,
                                          suggestion, origin, gate, gate_end, signature)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
        )?
        .execute(params![
            journal,
            row.task.as_ref().map(ralph_model::TaskId::as_str),
            report.what_tried,
            report.why_failed,
            report.category.word(),
            to_json(&report.relevant_files)?,
            report.error_output,
            settlement.suggestion,
            report.origin.word(),
            report.gate.as_ref().map(|gate| &gate.command),
            report.gate.as_ref().map(|gate| &gate.end),
            settlement.signature.as_ref().map(ralph_model::Signature::as_str),
        ])
        .map(drop)
}

/// The injections from the iteration's record.
pub(super) fn recorded_injections(
    transaction: &Transaction<'_>,
    settlement: &Settlement,
) -> rusqlite::Result<Vec<Injection>> {
    let row = &settlement.row;
    let recorded: Option<Option<String>> = transaction
        .prepare_cached("SELECT injections FROM iterations WHERE run = ?1 AND iteration = ?2")?
        .query_row(params![row.run.as_str(), row.iteration], |row| row.get(0))
        .optional()?;
    match recorded.flatten() {
        Some(text) => from_json(&text, "injections"),
        None => Ok(Vec::new()),
    }
}

/// Moves the injections to the journal entry, marks those that the agent used, and counts the iteration for the
/// learnings among them.
pub(super) fn move_injections(
    transaction: &Transaction<'_>,
    settlement: &Settlement,
    journal: i64,
    injections: &[Injection],
) -> rusqlite::Result<()> {
    let mut statement = transaction.prepare_cached(
        "INSERT INTO injections (journal, kind, entry, digest, section, rank, tokens, score, reason, used)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
    )?;
    for injection in injections {
        statement.execute(params![
            journal,
            injection.kind.word(),
            injection.id,
            injection.digest.cast_signed(),
            injection.section,
            injection.rank,
            injection.tokens.0,
            injection.score,
            injection.reason.word(),
            settlement.memory_used.contains(&injection.id),
        ])?;
    }
    feedback::count_uses(transaction, settlement, injections)
}
