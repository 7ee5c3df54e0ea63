//! Which failures come back most often.

use ralph_model::{ErrorCategory, Signature, TaskId, first_line};
use rusqlite::{Connection, Row, params_from_iter};

use super::tally::counted;
use super::{FailureFigures, StatsFilter};
use crate::progress::columns::{count_at, time_at, word_at};

/// The attempts that failed and have a signature. What an agent reports of an attempt that was done is no failure.
const FAILED: &str = "failure_reports JOIN journal ON journal.id = failure_reports.journal
    WHERE signature IS NOT NULL AND outcome NOT IN ('done', 'interrupted')";

/// How many different failures there are, and so many of the most frequent.
pub(super) fn most_frequent(
    connection: &Connection,
    filter: &StatsFilter,
    most: usize,
) -> rusqlite::Result<(u32, Vec<FailureFigures>)> {
    let (condition, with) = counted(filter);
    // What stands beside the greatest number is of its row, SQLite promises.
    let sql = format!(
        "SELECT signature, count(*) AS times, max(journal.id) AS last, category, why_failed, created_at,
                count(*) OVER () AS different
         FROM {FAILED} AND {condition} GROUP BY signature ORDER BY times DESC, last DESC LIMIT {}",
        i64::try_from(most).unwrap_or(i64::MAX).max(1)
    );
    let mut different = 0;
    let mut failures = connection
        .prepare_cached(&sql)?
        .query_map(params_from_iter(&with), |row| {
            different = count_at(row, "different")?;
            read(row)
        })?
        .collect::<rusqlite::Result<Vec<_>>>()?;
    failures.truncate(most);
    let sql = format!(
        "SELECT task_id FROM {FAILED} AND {condition} AND signature = ?{} AND task_id IS NOT NULL
         GROUP BY task_id ORDER BY min(journal.id)",
        with.len() + 1
    );
    let mut tasks = connection.prepare_cached(&sql)?;
    for failure in &mut failures {
        let asked = with.iter().map(String::as_str).chain([failure.signature.as_str()]);
        failure.tasks = tasks
            .query_map(params_from_iter(asked), |row| word_at(row, "task_id", TaskId::parse))?
            .collect::<rusqlite::Result<_>>()?;
    }
    Ok((different, failures))
}

fn read(row: &Row<'_>) -> rusqlite::Result<FailureFigures> {
    let why: String = row.get("why_failed")?;
    Ok(FailureFigures {
        signature: word_at(row, "signature", Signature::parse)?,
        times: count_at(row, "times")?,
        category: word_at(row, "category", ErrorCategory::parse)?,
        why: first_line(&why).to_owned(),
        last_at: time_at(row, "created_at")?,
        tasks: Vec::new(),
    })
}
