//! Task rows and task logs.

use jiff::Timestamp;
use ralph_model::{FeatureId, Priority, RunId, Task, TaskId, TaskKind, TaskStatus, Unverified, UnverifiedReason};
use rusqlite::{Row, params};

use super::columns::{count_at, from_json, moment, parsed, time_at, word_at, word_in};

/// The columns for [`read_task`], of the table `t`.
pub(super) const TASK_COLUMNS: &str = "t.id, t.title, t.description, t.status, t.unverified, t.unverified_changed, t.kind, t.priority, t.parent, t.feature,
    (SELECT group_concat(after) FROM (SELECT after FROM dependencies WHERE task = t.id ORDER BY after)) AS after,
    t.checks, t.retries_used, t.max_retries, t.attempts, t.claimed_by, t.proposal, t.created_at, t.updated_at";

pub(super) fn read_task(row: &Row<'_>) -> rusqlite::Result<Task> {
    let after: Option<String> = row.get("after")?;
    let after = after.unwrap_or_default();
    let after = after.split(',').filter(|id| !id.is_empty());
    Ok(Task {
        id: word_at(row, "id", TaskId::parse)?,
        title: row.get("title")?,
        description: row.get("description")?,
        status: word_at(row, "status", TaskStatus::parse)?,
        unverified: read_unverified(row)?,
        kind: word_at(row, "kind", TaskKind::parse)?,
        priority: Priority(row.get("priority")?),
        parent: word_in(row, "parent", TaskId::parse)?,
        feature: word_in(row, "feature", FeatureId::parse)?,
        after: after
            .map(|id| parsed(id, "after", TaskId::parse))
            .collect::<rusqlite::Result<_>>()?,
        checks: from_json(&row.get::<_, String>("checks")?, "checks")?,
        retries_used: count_at(row, "retries_used")?,
        max_retries: row.get("max_retries")?,
        attempts: count_at(row, "attempts")?,
        claimed_by: word_in(row, "claimed_by", RunId::parse)?,
        proposal: match row.get::<_, Option<String>>("proposal")? {
            Some(json) => Some(from_json(&json, "proposal")?),
            None => None,
        },
        created_at: time_at(row, "created_at")?,
        updated_at: time_at(row, "updated_at")?,
    })
}

pub(super) fn read_unverified(row: &Row<'_>) -> rusqlite::Result<Option<Unverified>> {
    let Some(reason) = word_in(row, "unverified", UnverifiedReason::parse)? else {
        return Ok(None);
    };
    let changed: Option<String> = row.get("unverified_changed")?;
    let changed = changed
        .map(|names| from_json(&names, "unverified_changed"))
        .transpose()?;
    Ok(Some(Unverified::from_parts(reason, changed.unwrap_or_default())))
}

/// The task ids that a single-column statement returns.
pub(super) fn ids(
    connection: &rusqlite::Connection,
    sql: &str,
    parameters: impl rusqlite::Params,
) -> rusqlite::Result<Vec<TaskId>> {
    connection
        .prepare_cached(sql)?
        .query_map(parameters, |row| parsed(&row.get::<_, String>(0)?, "id", TaskId::parse))?
        .collect()
}

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
