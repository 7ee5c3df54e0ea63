//! What an iteration leaves beside its row of the journal: how it failed, what was learned, what stood in its prompt.

use ralph_model::{CapturedLearning, ErrorCategory, FailureReport, Injection, LearningId, LearningKind, Outcome};
use rusqlite::{OptionalExtension, Transaction, params};

use super::Settlement;
use crate::progress::columns::moment;
use crate::progress::columns::{from_json, to_json};
use crate::progress::{learning_terms, lesson_of, tag_terms};

/// How sure a lesson is before anything has supported it.
const FIRST_CONFIDENCE: f64 = 0.5;

/// Keeps how the attempt failed. A suggestion for the next attempt that comes without a report, as that of an agent which was
/// interrupted, is kept with the reason of the row.
pub(super) fn put_report(transaction: &Transaction<'_>, settlement: &Settlement, journal: i64) -> rusqlite::Result<()> {
    let row = &settlement.row;
    // Whatever is done needs no suggestion; what the agent reports is kept even then.
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

/// Keeps what was learned.
pub(super) fn put_learnings(
    transaction: &Transaction<'_>,
    settlement: &Settlement,
    journal: i64,
) -> rusqlite::Result<()> {
    for (id, learning) in &settlement.learnings {
        if is_known(transaction, settlement, learning)? {
            continue;
        }
        let mut id = id.clone();
        // Ids are random: one that is taken gives way to the next, or the whole settlement would fail.
        while !put_learning(transaction, settlement, journal, (&id, learning))? {
            id = next_id(&id);
        }
    }
    Ok(())
}

/// Whether an earlier attempt at the task has drawn the same lesson: one that was killed, and said it again when it was
/// repeated.
fn is_known(
    transaction: &Transaction<'_>,
    settlement: &Settlement,
    learning: &CapturedLearning,
) -> rusqlite::Result<bool> {
    let task = settlement.row.task.as_ref().map(ralph_model::TaskId::as_str);
    transaction
        .prepare_cached(
            "SELECT EXISTS (SELECT 1 FROM journal JOIN learnings ON learnings.journal = journal.id
                            WHERE journal.task_id = ?1 AND learnings.category = ?2 AND learnings.content = ?3)",
        )?
        .query_row(params![task, learning.category, learning.content], |row| row.get(0))
}

/// Keeps one lesson; says whether its id was free.
fn put_learning(
    transaction: &Transaction<'_>,
    settlement: &Settlement,
    journal: i64,
    (id, learning): (&LearningId, &CapturedLearning),
) -> rusqlite::Result<bool> {
    let row = &settlement.row;
    let kind = LearningKind::of_category(&learning.category);
    let rows = transaction
        .prepare_cached(
            "INSERT INTO learnings (id, kind, category, content, tags, confidence, success_rate, source, source_loops,
                                    task, journal, status, created_at, updated_at, task_type, lesson, terms, tag_terms)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 'sigil', ?8, ?9, ?10, 'pending', ?11, ?11, ?12, ?13, ?14, ?15)
             ON CONFLICT (id) DO NOTHING",
        )?
        .execute(params![
            id.as_str(),
            kind.word(),
            learning.category,
            learning.content,
            to_json(&learning.tags)?,
            FIRST_CONFIDENCE,
            kind.first_success_rate(),
            to_json(&[row.run.as_str()])?,
            row.task.as_ref().map(ralph_model::TaskId::as_str),
            journal,
            moment(row.created_at),
            row.task_type.word(),
            lesson_of(&learning.content),
            learning_terms(&learning.content, &learning.tags),
            to_json(&tag_terms(&learning.tags))?,
        ])?;
    Ok(rows == 1)
}

fn next_id(id: &LearningId) -> LearningId {
    let digits = id.as_str().strip_prefix(LearningId::PREFIX).unwrap_or_default();
    let bits = u64::from_str_radix(digits, 16).unwrap_or_default();
    LearningId::new(bits + 1)
}

/// Moves what stood in the prompt from the iteration's record to its row, and notes what the agent relied on.
pub(super) fn move_injections(
    transaction: &Transaction<'_>,
    settlement: &Settlement,
    journal: i64,
) -> rusqlite::Result<()> {
    let row = &settlement.row;
    let recorded: Option<Option<String>> = transaction
        .prepare_cached("SELECT injections FROM iterations WHERE run = ?1 AND iteration = ?2")?
        .query_row(params![row.run.as_str(), row.iteration], |row| row.get(0))
        .optional()?;
    let Some(text) = recorded.flatten() else { return Ok(()) };
    let injections: Vec<Injection> = from_json(&text, "injections")?;
    let mut statement = transaction.prepare_cached(
        "INSERT INTO injections (journal, kind, entry, digest, section, rank, tokens, score, reason, used)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
    )?;
    for injection in &injections {
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
    Ok(())
}
