//! Writes a row of the journal.

use ralph_model::NewJournalRow;
use rusqlite::{Transaction, named_params};

use crate::progress::columns::moment;
use crate::progress::columns::to_json;
use crate::progress::journal_terms;

const INSERT: &str = "
    INSERT INTO journal (run_id, iteration, task_id, task_title, feature_id, attempt, outcome, stop_reason, reason, model,
                         model_rationale, duration_ms, cost_usd, input_tokens, output_tokens, files_modified,
                         changed_nothing, notes, difficulty, error_category, malformed_sigils, created_at, terms)
    VALUES (:run, :iteration, :task, :title, :feature, :attempt, :outcome, :stop, :reason, :model, :rationale, :duration,
            :cost, :input, :output, :files, :nothing, :notes, :difficulty, :category, :malformed, :at, :terms)
    RETURNING id";

/// Writes the row; its number is the answer.
pub(super) fn put(transaction: &Transaction<'_>, row: &NewJournalRow) -> rusqlite::Result<i64> {
    let searched = format!("{}\n{}", row.task_title, row.notes.as_deref().unwrap_or_default());
    transaction.prepare_cached(INSERT)?.query_row(
        named_params! {
            ":run": row.run.as_str(),
            ":iteration": row.iteration,
            ":task": row.task.as_ref().map(ralph_model::TaskId::as_str),
            ":title": row.task_title,
            ":feature": row.feature.as_ref().map(ralph_model::FeatureId::as_str),
            ":attempt": row.attempt,
            ":outcome": row.outcome.word(),
            ":stop": row.stop.word(),
            ":reason": row.reason,
            ":model": row.model,
            ":rationale": row.model_rationale,
            ":duration": saturated(row.duration_ms),
            ":cost": row.usage.cost_usd,
            ":input": saturated(row.usage.input_tokens),
            ":output": saturated(row.usage.output_tokens),
            ":files": to_json(&row.files_modified)?,
            ":nothing": row.changed_nothing,
            ":notes": row.notes,
            ":difficulty": row.difficulty.map(ralph_model::Difficulty::word),
            ":category": row.error_category.map(ralph_model::ErrorCategory::word),
            ":malformed": row.malformed_sigils,
            ":at": moment(row.created_at),
            ":terms": journal_terms(&searched),
        },
        |row| row.get(0),
    )
}

/// A count as the database can hold it. An agent that counts further has miscounted, and its row matters more.
fn saturated(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
