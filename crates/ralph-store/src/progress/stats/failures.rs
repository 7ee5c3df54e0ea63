//! Recurring failures, grouped by signature.

use std::cmp::Reverse;
use std::collections::HashMap;

use jiff::Timestamp;
use ralph_model::{ErrorCategory, Signature, TaskId, headline_of};
use rusqlite::Connection;

use super::FailureFigures;
use super::in_order::InOrder;
use crate::progress::attempts::read_kept_report;
use crate::progress::columns::word_at;

/// The signatures of all reports by journal entry. An index alone answers this, so it is cheaper than asking for some
/// entries.
pub(super) fn signatures(connection: &Connection) -> rusqlite::Result<HashMap<i64, Signature>> {
    connection
        .prepare_cached("SELECT journal, signature FROM failure_reports WHERE signature IS NOT NULL")?
        .query_map([], |row| {
            Ok((row.get("journal")?, word_at(row, "signature", Signature::parse)?))
        })?
        .collect()
}

#[derive(Default)]
pub(super) struct Failures(InOrder<Signature, Failure>);

struct Failure {
    signature: Signature,
    times: u32,
    /// The last journal entry with it, and its time.
    last: (i64, Timestamp),
    tasks: InOrder<TaskId, TaskId>,
}

impl Failures {
    /// Counts a failure; calls must be in chronological order.
    pub(super) fn add(&mut self, signature: &Signature, task: Option<&TaskId>, last: (i64, Timestamp)) {
        let new = || Failure {
            signature: signature.clone(),
            times: 0,
            last,
            tasks: InOrder::default(),
        };
        self.0.change(signature, new, |failure| {
            failure.times = failure.times.saturating_add(1);
            failure.last = last;
            if let Some(task) = task {
                failure.tasks.change(task, || task.clone(), |_| {});
            }
        });
    }

    /// All failures, most frequent first. Only the listed ones are described later.
    pub(super) fn finish(self) -> Vec<FailureFigures> {
        let mut failures = self.0.into_values();
        failures.sort_by_key(|failure| Reverse((failure.times, failure.last.0)));
        let figures = failures.into_iter().map(|failure| FailureFigures {
            signature: failure.signature,
            times: failure.times,
            category: ErrorCategory::Unknown,
            why: String::new(),
            last_journal: failure.last.0,
            last_at: failure.last.1,
            tasks: failure.tasks.into_values(),
        });
        figures.collect()
    }
}

/// Fills in the category and reason from the last report.
pub(super) fn describe(connection: &Connection, failure: &mut FailureFigures) -> rusqlite::Result<()> {
    let report = connection
        .prepare_cached("SELECT * FROM failure_reports WHERE journal = ?1")?
        .query_row([failure.last_journal], read_kept_report)?
        .report;
    failure.why = headline_of(report.headline());
    failure.category = report.category;
    Ok(())
}
