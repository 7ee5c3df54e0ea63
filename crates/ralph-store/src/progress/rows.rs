//! How our nouns stand in columns, and how they are read from there.

use jiff::Timestamp;
use ralph_model::{FeatureId, Priority, RunId, Task, TaskId, TaskKind, TaskStatus};
use rusqlite::types::Type;
use rusqlite::{Row, params};

/// A moment, in a width that is always the same, so that texts are in the order of the moments.
pub(super) fn moment(at: Timestamp) -> String {
    format!("{at:.3}")
}

/// Reads a text as one of our nouns; what no version of ralph writes is an error that names it.
pub(super) fn noun<T>(row: &Row<'_>, index: usize, parse: impl Fn(&str) -> Option<T>) -> rusqlite::Result<T> {
    let text: String = row.get(index)?;
    parse(&text).ok_or_else(|| unreadable(index, &text))
}

/// The same where there may be nothing.
pub(super) fn maybe_noun<T>(
    row: &Row<'_>,
    index: usize,
    parse: impl Fn(&str) -> Option<T>,
) -> rusqlite::Result<Option<T>> {
    let text: Option<String> = row.get(index)?;
    text.map(|text| parse(&text).ok_or_else(|| unreadable(index, &text)))
        .transpose()
}

/// Reads a moment.
pub(super) fn parse_moment(text: &str) -> Option<Timestamp> {
    text.parse().ok()
}

fn unreadable(index: usize, text: &str) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(
        index,
        Type::Text,
        format!("{text:?} is nothing that ralph writes").into(),
    )
}

/// The columns that [`read_task`] reads, of the table `t`.
pub(super) const TASK_COLUMNS: &str = "t.id, t.title, t.description, t.status, t.kind, t.priority, t.parent, t.feature,
    (SELECT group_concat(after) FROM (SELECT after FROM dependencies WHERE task = t.id ORDER BY after)),
    t.retries_used, t.attempts, t.claimed_by, t.created_at, t.updated_at";

/// Reads a task.
pub(super) fn read_task(row: &Row<'_>) -> rusqlite::Result<Task> {
    let after: Option<String> = row.get(8)?;
    let after = after.unwrap_or_default();
    let after = after.split(',').filter(|id| !id.is_empty());
    Ok(Task {
        id: noun(row, 0, TaskId::parse)?,
        title: row.get(1)?,
        description: row.get(2)?,
        status: noun(row, 3, TaskStatus::parse)?,
        kind: noun(row, 4, TaskKind::parse)?,
        priority: Priority(row.get(5)?),
        parent: maybe_noun(row, 6, TaskId::parse)?,
        feature: maybe_noun(row, 7, FeatureId::parse)?,
        after: after
            .map(|id| TaskId::parse(id).ok_or_else(|| unreadable(8, id)))
            .collect::<rusqlite::Result<_>>()?,
        retries_used: row.get(9)?,
        attempts: row.get(10)?,
        claimed_by: maybe_noun(row, 11, RunId::parse)?,
        created_at: noun(row, 12, parse_moment)?,
        updated_at: noun(row, 13, parse_moment)?,
    })
}

/// All ids that a statement finds.
pub(super) fn ids(
    connection: &rusqlite::Connection,
    sql: &str,
    parameters: impl rusqlite::Params,
) -> rusqlite::Result<Vec<TaskId>> {
    connection
        .prepare_cached(sql)?
        .query_map(parameters, |row| noun(row, 0, TaskId::parse))?
        .collect()
}

/// Writes a sentence into the log of a task.
pub(super) fn log(
    connection: &rusqlite::Connection,
    task: &TaskId,
    sentence: &str,
    now: Timestamp,
) -> rusqlite::Result<()> {
    connection
        .prepare_cached("INSERT INTO task_log (task, at, text) VALUES (?1, ?2, ?3)")?
        .execute(params![task.as_str(), moment(now), sentence])
        .map(drop)
}
