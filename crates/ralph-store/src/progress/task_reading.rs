//! Finding and listing tasks.

use std::collections::BTreeSet;

use ralph_model::{FeatureId, Task, TaskId, TaskLogLine, TaskStatus};
use rusqlite::{OptionalExtension, ToSql, named_params};

use super::Store;
use super::authorship::author_at;
use super::claims::{IN_SCOPE, READY};
use super::columns::time_at;
use super::id_prefix::IdPrefix;
use super::task_error::TaskError;
use super::task_rows::{TASK_COLUMNS, ids, read_task};
use super::transitions::blockers;
use crate::StoreError;

#[derive(Debug, Clone, Default)]
pub struct TaskFilter<'a> {
    pub which: Which<'a>,
    pub parent: Option<&'a TaskId>,
    /// With all descendants.
    pub feature: Option<&'a FeatureId>,
}

/// Which tasks to list.
#[derive(Debug, Clone, Copy, Default)]
pub enum Which<'a> {
    /// Tasks that are not done, and done ones that are unverified.
    #[default]
    Open,
    /// Tasks that a run could begin at once.
    Ready {
        /// The worktree's name; empty for the main one.
        worktree: &'a str,
        /// Commits of other worktrees' tasks that the checked-out commit contains.
        commits_here: &'a BTreeSet<String>,
    },
    Status(TaskStatus),
    Unverified,
    All,
}

/// An unfinished dependency.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitsFor {
    pub task: TaskId,
    /// Whether it has failed or is behind a failed task, so that a person has to act.
    pub needs_person: bool,
}

impl Store {
    /// The task with this id or id prefix; the `t-` may be omitted.
    ///
    /// # Errors
    /// When there is none or more than one, or the database cannot be read.
    pub fn find_task(&self, text: &str) -> Result<TaskId, TaskError> {
        let sql = "SELECT id, title FROM tasks WHERE id >= ?1 AND id < ?1 || 'g' ORDER BY id";
        match self.id_prefix(text, TaskId::PREFIX, sql, TaskId::parse)? {
            IdPrefix::One(id) => Ok(id),
            IdPrefix::Nothing => Err(TaskError::Unknown { text: text.to_owned() }),
            IdPrefix::Several(candidates, more) => Err(TaskError::Ambiguous {
                text: text.to_owned(),
                candidates,
                more,
            }),
        }
    }

    /// A task by its id, if it exists.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn task(&self, id: &TaskId) -> Result<Option<Task>, StoreError> {
        let sql = format!("SELECT {TASK_COLUMNS} FROM tasks t WHERE t.id = ?1");
        self.sql(
            self.connection
                .prepare_cached(&sql)
                .and_then(|mut statement| statement.query_row([id.as_str()], read_task).optional()),
        )
    }

    /// Whether any task exists.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn has_tasks(&self) -> Result<bool, StoreError> {
        let found = self
            .connection
            .prepare_cached("SELECT 1 FROM tasks")
            .and_then(|mut statement| statement.exists([]));
        self.sql(found)
    }

    /// Lists tasks, most urgent first, then oldest.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn tasks(&self, filter: &TaskFilter<'_>) -> Result<Vec<Task>, StoreError> {
        let parent = filter.parent.map(TaskId::as_str);
        let under = "(:parent IS NULL OR t.parent = :parent)";
        let (condition, worktree, commits, status) = match filter.which {
            Which::Open => (
                "(t.status <> 'done' OR t.unverified IS NOT NULL)",
                "",
                String::new(),
                None,
            ),
            Which::All => ("TRUE", "", String::new(), None),
            Which::Unverified => ("t.unverified IS NOT NULL", "", String::new(), None),
            Which::Status(status) => ("t.status = :status", "", String::new(), Some(status.word())),
            Which::Ready { worktree, commits_here } => (READY, worktree, json_list(commits_here), None),
        };
        let feature = filter.feature.map(FeatureId::as_str);
        let inside = feature.map_or("TRUE", |_| IN_SCOPE);
        let sql = format!(
            "SELECT {TASK_COLUMNS} FROM tasks t WHERE {condition} AND {under} AND {inside} ORDER BY t.priority, t.seq"
        );
        let all = named_params! {
            ":parent": parent, ":worktree": worktree, ":commits": commits, ":status": status,
            ":feature": feature, ":task": None::<&str>,
        };
        self.sql(self.connection.prepare_cached(&sql).and_then(|mut statement| {
            // SQLite rejects parameters that a statement does not use.
            let mut used: Vec<(&str, &dyn ToSql)> = Vec::new();
            for (name, value) in all {
                if statement.parameter_index(name)?.is_some() {
                    used.push((name, *value));
                }
            }
            statement.query_map(used.as_slice(), read_task)?.collect()
        }))
    }

    /// The children of a task, most urgent first, then oldest.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn children(&self, parent: &TaskId) -> Result<Vec<Task>, StoreError> {
        self.tasks(&TaskFilter {
            which: Which::All,
            parent: Some(parent),
            feature: None,
        })
    }

    /// The log of a task, oldest line first.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn task_log(&self, id: &TaskId) -> Result<Vec<TaskLogLine>, StoreError> {
        let sql = "SELECT at, text, author, run, iteration FROM task_log WHERE task = ?1 ORDER BY seq";
        self.sql(self.connection.prepare_cached(sql).and_then(|mut statement| {
            statement
                .query_map([id.as_str()], |row| {
                    Ok(TaskLogLine {
                        at: time_at(row, "at")?,
                        text: row.get("text")?,
                        author: author_at(row)?,
                    })
                })?
                .collect()
        }))
    }

    /// The unfinished dependencies of a task and of its ancestors.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn waits_for(&self, id: &TaskId) -> Result<Vec<WaitsFor>, StoreError> {
        let found = self.sql(blockers(&self.connection, id))?;
        let found = found.into_iter();
        Ok(found
            .map(|(task, needs_person)| WaitsFor { task, needs_person })
            .collect())
    }

    /// The direct dependents of a task, by id.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn waiting_for(&self, id: &TaskId) -> Result<Vec<TaskId>, StoreError> {
        let sql = "SELECT task FROM dependencies WHERE after = ?1 ORDER BY task";
        self.sql(ids(&self.connection, sql, [id.as_str()]))
    }
}

/// A set of texts as a JSON list for SQLite.
pub(super) fn json_list(texts: &BTreeSet<String>) -> String {
    serde_json::Value::from_iter(texts.iter().map(String::as_str)).to_string()
}
