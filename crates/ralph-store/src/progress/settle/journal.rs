//! Writes a journal entry.

use rusqlite::{Transaction, named_params};

use super::Settlement;
use crate::progress::columns::moment;
use crate::progress::columns::to_json;

const INSERT: &str = "
    INSERT INTO journal (run_id, iteration, task_id, task_title, task_type, tags, feature_id, attempt, outcome, stop_reason, reason, quoted, model,
                         model_rationale, duration_ms, cost_usd, input_tokens, output_tokens, files_modified,
                         changed_nothing, evidence, notes, difficulty, error_category, malformed_sigils, created_at,
                         prompt_sha256, unverified, denials)
    VALUES (:run, :iteration, :task, :title, :type, :tags, :feature, :attempt, :outcome, :stop, :reason, :quoted, :model, :rationale, :duration,
            :cost, :input, :output, :files, :nothing, :evidence, :notes, :difficulty, :category, :malformed, :at,
            (SELECT prompt_sha256 FROM iterations WHERE run = :run AND iteration = :iteration), :unverified, :denials)
    RETURNING id";

/// Writes the entry; returns its id.
pub(in crate::progress) fn put(transaction: &Transaction<'_>, settlement: &Settlement) -> rusqlite::Result<i64> {
    let row = &settlement.row;
    transaction.prepare_cached(INSERT)?.query_row(
        named_params! {
            ":run": row.run.as_str(),
            ":iteration": row.iteration,
            ":task": row.task.as_ref().map(ralph_model::TaskId::as_str),
            ":title": row.task_title,
            ":type": row.task_type.word(),
            ":tags": to_json(&row.tags)?,
            ":feature": row.feature.as_ref().map(ralph_model::FeatureId::as_str),
            ":attempt": row.attempt,
            ":outcome": row.outcome.word(),
            ":stop": row.stop.word(),
            ":reason": row.reason,
            ":quoted": settlement.quoted,
            ":model": row.model,
            ":rationale": row.model_rationale,
            ":duration": saturated(row.duration_ms),
            ":cost": row.usage.cost_usd,
            ":input": saturated(row.usage.input_tokens),
            ":output": saturated(row.usage.output_tokens),
            ":files": to_json(&row.files_modified)?,
            ":nothing": row.changed_nothing,
            ":evidence": row.evidence.word(),
            ":notes": row.notes,
            ":difficulty": row.difficulty.map(ralph_model::Difficulty::word),
            ":category": row.error_category.map(ralph_model::ErrorCategory::word),
            ":malformed": row.malformed_sigils,
            ":denials": to_json(&row.denials)?,
            ":at": moment(row.created_at),
            ":unverified": settlement.is_unverified(),
        },
        |row| row.get(0),
    )
}

/// A count limited to what the database can store. A larger one is an agent's mistake, and the entry matters more.
fn saturated(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
