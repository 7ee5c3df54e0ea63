//! Deleted tasks. They are kept completely, so that a deletion can be undone.

use jiff::Timestamp;
use ralph_model::{Task, TaskId, serialize_timestamp};
use rusqlite::{OptionalExtension, Transaction, params};
use serde::Serialize;

use super::Store;
use super::columns::{count_at, moment, time_at, word_at};
use super::dependency_cycles::dependency_cycle;
use super::id_prefix::IdPrefix;
use super::task_error::{TaskError, Trouble};
use super::task_rows::{ids, log};
use super::task_steps::{existing, forget_where_done};
use super::transitions::changed;
use crate::StoreError;

/// A deleted task with the number of its deleted descendants.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DeletedTask {
    pub id: TaskId,
    pub title: String,
    /// Number of descendants that were deleted with it.
    pub parts: u32,
    #[serde(serialize_with = "serialize_timestamp")]
    pub deleted_at: Timestamp,
}

/// Saves a task that is about to be deleted together with `top`.
pub(super) fn keep(transaction: &Transaction<'_>, task: &TaskId, top: &TaskId, now: Timestamp) -> rusqlite::Result<()> {
    let columns = columns(transaction)?;
    let row: Vec<String> = columns.iter().map(|name| format!("'{name}', {name}")).collect();
    let sql = format!(
        "INSERT INTO deleted_tasks (task, top, at, row, dependencies, evidence)
         SELECT id, ?2, ?3, json_object({}),
                (SELECT json_group_array(json_array(task, after)) FROM dependencies WHERE task = ?1 OR after = ?1),
                (SELECT json_group_array(json_array(name, before, after, in_commits)) FROM evidence_changes WHERE task = ?1)
         FROM tasks WHERE id = ?1",
        row.join(", ")
    );
    transaction
        .prepare_cached(&sql)?
        .execute(params![task.as_str(), top.as_str(), moment(now)])
        .map(drop)
}

fn columns(transaction: &Transaction<'_>) -> rusqlite::Result<Vec<String>> {
    transaction
        .prepare_cached("SELECT name FROM pragma_table_info('tasks')")?
        .query_map([], |row| row.get(0))?
        .collect()
}

impl Store {
    /// The deletions that can be undone, latest first.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn deleted_tasks(&self) -> Result<Vec<DeletedTask>, StoreError> {
        let sql = "SELECT task, row ->> 'title' AS title, at,
                          (SELECT count(*) - 1 FROM deleted_tasks part WHERE part.top = deleted.task) AS parts
                   FROM deleted_tasks deleted WHERE task = top ORDER BY seq DESC";
        let found = self.connection.prepare_cached(sql).and_then(|mut statement| {
            let rows = statement.query_map([], |row| {
                Ok(DeletedTask {
                    id: word_at(row, "task", TaskId::parse)?,
                    title: row.get("title")?,
                    parts: count_at(row, "parts")?,
                    deleted_at: time_at(row, "at")?,
                })
            })?;
            rows.collect()
        });
        self.sql(found)
    }

    /// The deleted task with this id prefix.
    ///
    /// # Errors
    /// When there is none, or several, or the database cannot be read.
    pub fn find_deleted_task(&self, text: &str) -> Result<TaskId, TaskError> {
        let sql = "SELECT task, row ->> 'title' FROM deleted_tasks WHERE task >= ?1 AND task < ?1 || 'g' ORDER BY task";
        match self.id_prefix(text, TaskId::PREFIX, sql, TaskId::parse)? {
            IdPrefix::One(id) => Ok(id),
            IdPrefix::Nothing => Err(TaskError::NotDeleted { text: text.to_owned() }),
            IdPrefix::Several(candidates, more) => Err(TaskError::Ambiguous {
                text: text.to_owned(),
                candidates,
                more,
            }),
        }
    }

    /// Undoes a deletion: restores the task and everything deleted with it. Returns the restored tasks, from the top.
    ///
    /// # Errors
    /// When it is not deleted, its parent is deleted, it would close a dependency cycle, or the database cannot be
    /// written.
    pub fn restore_task(&mut self, id: &TaskId, now: Timestamp) -> Result<Vec<Task>, TaskError> {
        self.change_tasks(|transaction| {
            let top: Option<String> = transaction
                .prepare_cached("SELECT top FROM deleted_tasks WHERE task = ?1")?
                .query_row([id.as_str()], |row| row.get(0))
                .optional()?;
            let top = top.ok_or_else(|| TaskError::NotDeleted { text: id.to_string() })?;
            let all = ids(
                transaction,
                "SELECT task FROM deleted_tasks WHERE top = ?1 ORDER BY seq",
                [&top],
            )?;
            for task in &all {
                restore_row(transaction, task)?;
                log(transaction, task, "Restored.", now)?;
            }
            for task in &all {
                restore_relations(transaction, task)?;
            }
            if let Some(steps) = dependency_cycle(transaction, &all)? {
                return Err(TaskError::DependencyCycle { steps }.into());
            }
            transaction
                .prepare_cached("DELETE FROM deleted_tasks WHERE top = ?1")?
                .execute([&top])?;
            changed(transaction, &all, now)?;
            all.iter().map(|task| existing(transaction, task)).collect()
        })
    }
}

/// Restores the row of a deleted task. Its position in the order and its feature may be taken or deleted.
fn restore_row(transaction: &Transaction<'_>, task: &TaskId) -> Result<(), Trouble> {
    let parent: Option<String> = transaction
        .prepare_cached("SELECT row ->> 'parent' FROM deleted_tasks WHERE task = ?1")?
        .query_row([task.as_str()], |row| row.get(0))?;
    if let Some(parent) = parent.as_deref().and_then(TaskId::parse) {
        let here = "SELECT 1 FROM tasks WHERE id = ?1";
        if !transaction.prepare_cached(here)?.exists([parent.as_str()])? {
            let task = task.clone();
            return Err(TaskError::ParentDeleted { task, parent }.into());
        }
        forget_where_done(transaction, &parent)?;
    }
    // A column added after the deletion gets its default.
    let known = "SELECT name FROM pragma_table_info('tasks'), deleted_tasks
                 WHERE task = ?1 AND json_type(row, '$.' || name) IS NOT NULL";
    let columns: Vec<String> = transaction
        .prepare_cached(known)?
        .query_map([task.as_str()], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    let values: Vec<String> = columns
        .iter()
        .map(|name| match name.as_str() {
            "seq" => "CASE WHEN (row ->> 'seq') IN (SELECT seq FROM tasks) THEN NULL ELSE row ->> 'seq' END".to_owned(),
            // A subtask with a feature gets its parent's.
            "feature" => "CASE WHEN row ->> 'feature' IS NOT NULL
                          THEN coalesce((SELECT feature FROM tasks WHERE id = row ->> 'parent'),
                                        (SELECT id FROM features WHERE id = row ->> 'feature')) END"
                .to_owned(),
            name => format!("row ->> '{name}'"),
        })
        .collect();
    let sql = format!(
        "INSERT INTO tasks ({}) SELECT {} FROM deleted_tasks WHERE task = ?1",
        columns.join(", "),
        values.join(", ")
    );
    transaction.prepare_cached(&sql)?.execute([task.as_str()])?;
    Ok(())
}

/// Restores the dependencies of a task, its dependents, and its evidence changes.
fn restore_relations(transaction: &Transaction<'_>, task: &TaskId) -> rusqlite::Result<()> {
    let dependencies = "INSERT OR IGNORE INTO dependencies (task, after)
        SELECT waits.id, first.id FROM deleted_tasks, json_each(dependencies) AS pair
        CROSS JOIN tasks AS waits ON waits.id = pair.value ->> 0
        CROSS JOIN tasks AS first ON first.id = pair.value ->> 1
        WHERE deleted_tasks.task = ?1";
    let evidence = "INSERT INTO evidence_changes (task, name, before, after, in_commits)
        SELECT task, item.value ->> 0, item.value ->> 1, item.value ->> 2, item.value ->> 3
        FROM deleted_tasks, json_each(evidence) AS item WHERE task = ?1";
    for sql in [dependencies, evidence] {
        transaction.prepare_cached(sql)?.execute([task.as_str()])?;
    }
    Ok(())
}
