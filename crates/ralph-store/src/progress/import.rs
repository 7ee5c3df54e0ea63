//! Imports a list of tasks, without recreating those that exist.

use std::collections::{HashMap, VecDeque};

use jiff::Timestamp;
use ralph_model::{Entropy, FeatureId, NewTask, Priority, TaskId, TaskStatus};
use rusqlite::{Transaction, params};

use super::Store;
use super::columns::{moment, word_at, word_in};
use super::dependency_cycles::dependency_cycle;
use super::task_error::{TaskError, Trouble};
use super::task_rows::{ids, log};
use super::task_steps::{existing, finish, insert, put_update};
use super::tasks::{DoneIn, ParentChange, TaskUpdate};
use super::transitions::changed;

/// An item of a list of tasks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportItem {
    pub title: String,
    /// May be empty.
    pub description: String,
    pub priority: Priority,
    pub checks: Vec<String>,
    /// Whether the list marks it as done.
    pub done: bool,
    /// The index of its parent item, which comes earlier in the list.
    pub parent: Option<usize>,
}

/// Where the tasks of a list go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListPlace<'a> {
    /// At the top level, without a feature.
    Top,
    /// At the top level of this feature.
    In(&'a FeatureId),
    /// As subtasks of this task.
    Under(&'a TaskId),
    /// As subtasks of this task, which represents the list itself: existing top-level tasks of the list become its
    /// subtasks too.
    Gathered(&'a TaskId),
}

impl<'a> ListPlace<'a> {
    fn parent(self) -> Option<&'a TaskId> {
        match self {
            Self::Top | Self::In(_) => None,
            Self::Under(parent) | Self::Gathered(parent) => Some(parent),
        }
    }

    fn feature(self) -> Option<&'a FeatureId> {
        match self {
            Self::In(feature) => Some(feature),
            Self::Top | Self::Under(_) | Self::Gathered(_) => None,
        }
    }
}

/// Result of importing a list.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Imported {
    /// The task of each item, in list order.
    pub tasks: Vec<TaskId>,
    pub added: Vec<TaskId>,
    /// Existing open tasks that were marked as done because the list says so.
    pub finished: Vec<TaskId>,
}

/// Existing tasks by place and title that were not matched to an item yet, oldest first.
type Known = HashMap<(Place, String), VecDeque<TaskId>>;

/// Where a task belongs. A subtask is identified by its parent, whatever its feature.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Place {
    Below(TaskId),
    Top(Option<FeatureId>),
}

impl Place {
    fn of(parent: Option<TaskId>, feature: Option<FeatureId>) -> Self {
        parent.map_or(Self::Top(feature), Self::Below)
    }
}

impl Store {
    /// Imports the tasks of a list, all or none. An item matches an existing task with the same title and parent; at
    /// the top level the feature must match too, because different features may have tasks with the same title.
    ///
    /// # Errors
    /// When the list's parent does not exist, a dependency cycle would result, or the database cannot be written.
    pub fn import_tasks(
        &mut self,
        (items, place): (&[ImportItem], ListPlace<'_>),
        done: &DoneIn,
        entropy: &mut dyn Entropy,
        now: Timestamp,
    ) -> Result<Imported, TaskError> {
        self.change_tasks(|transaction| {
            let under = place.parent();
            if let Some(parent) = under {
                existing(transaction, parent)?;
            }
            let mut known = known_tasks(transaction)?;
            let mut imported = Imported::default();
            let (mut done_already, mut gathered) = (Vec::new(), Vec::new());
            for item in items {
                let parent = item
                    .parent
                    .and_then(|place| imported.tasks.get(place))
                    .or(under)
                    .cloned();
                let here = Place::of(parent.clone(), place.feature().cloned());
                let mut same = take(&mut known, &here, &item.title);
                if let (None, None, ListPlace::Gathered(list)) = (&same, item.parent, place) {
                    same = take(&mut known, &Place::Top(None), &item.title).filter(|id| id != list);
                    gathered.extend(same.clone());
                }
                if let Some(id) = same {
                    if item.done {
                        done_already.push(id.clone());
                    }
                    put_checks(transaction, &id, item, now)?;
                    imported.tasks.push(id);
                    continue;
                }
                let new = NewTask {
                    description: item.description.clone(),
                    priority: item.priority,
                    checks: item.checks.clone(),
                    feature: place.feature().filter(|_| parent.is_none()).cloned(),
                    parent,
                    ..NewTask::titled(&item.title)
                };
                let id = insert(transaction, &new, entropy, now)?;
                if item.done {
                    put_done(transaction, &id, done, now)?;
                }
                imported.added.push(id.clone());
                imported.tasks.push(id);
            }
            gather(transaction, &gathered, under, now)?;
            changed(transaction, &[imported.added.as_slice(), &gathered].concat(), now)?;
            for id in done_already {
                if may_be_finished(transaction, &id)? {
                    finish(transaction, &id, (done, "Done: marked as done in the list."), now)?;
                    imported.finished.push(id);
                }
            }
            Ok(imported)
        })
    }
}

/// Sets a task's checks to those of its item. If the item has none, existing checks stay.
fn put_checks(transaction: &Transaction<'_>, id: &TaskId, item: &ImportItem, now: Timestamp) -> Result<(), Trouble> {
    if item.checks.is_empty() {
        return Ok(());
    }
    let update = TaskUpdate {
        checks: Some(item.checks.clone()),
        ..TaskUpdate::default()
    };
    if let Some(sentence) = put_update(transaction, &existing(transaction, id)?, &update, now)? {
        log(transaction, id, &sentence, now)?;
    }
    Ok(())
}

/// The oldest unmatched task with this title and place.
fn take(known: &mut Known, place: &Place, title: &str) -> Option<TaskId> {
    let same = known.get_mut(&(place.clone(), title.to_owned()));
    same.and_then(VecDeque::pop_front)
}

/// Makes tasks subtasks of the one that represents their list.
fn gather(
    transaction: &Transaction<'_>,
    tasks: &[TaskId],
    list: Option<&TaskId>,
    now: Timestamp,
) -> Result<(), Trouble> {
    let Some(list) = list.filter(|_| !tasks.is_empty()) else {
        return Ok(());
    };
    let update = TaskUpdate {
        parent: ParentChange::Under(list.clone()),
        ..TaskUpdate::default()
    };
    for id in tasks {
        let task = existing(transaction, id)?;
        if let Some(sentence) = put_update(transaction, &task, &update, now)? {
            log(transaction, id, &sentence, now)?;
        }
    }
    match dependency_cycle(transaction, tasks)? {
        Some(steps) => Err(TaskError::DependencyCycle { steps }.into()),
        None => Ok(()),
    }
}

fn known_tasks(transaction: &Transaction<'_>) -> rusqlite::Result<Known> {
    let mut known = Known::new();
    let mut statement = transaction.prepare_cached("SELECT id, parent, feature, title FROM tasks ORDER BY seq")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let parent = word_in(row, "parent", TaskId::parse)?;
        let place = Place::of(parent, word_in(row, "feature", FeatureId::parse)?);
        let key = (place, row.get("title")?);
        let id = word_at(row, "id", TaskId::parse)?;
        known.entry(key).or_default().push_back(id);
    }
    Ok(known)
}

/// Marks a new task as done; the consequences for all tasks are computed at the end.
fn put_done(transaction: &Transaction<'_>, id: &TaskId, done: &DoneIn, now: Timestamp) -> rusqlite::Result<()> {
    transaction
        .prepare_cached(
            "UPDATE tasks SET status = 'done', done_worktree = ?2, done_commit = ?3, updated_at = ?4 WHERE id = ?1",
        )?
        .execute(params![id.as_str(), done.worktree, done.commit, moment(now)])?;
    log(transaction, id, "Done: marked as done in the list.", now)
}

/// A list cannot finish a task that is claimed, failed or has subtasks.
fn may_be_finished(transaction: &Transaction<'_>, id: &TaskId) -> Result<bool, Trouble> {
    let task = existing(transaction, id)?;
    let is_open = matches!(task.status, TaskStatus::Pending | TaskStatus::Blocked);
    let children = ids(
        transaction,
        "SELECT id FROM tasks WHERE parent = ?1 LIMIT 1",
        [id.as_str()],
    )?;
    Ok(is_open && children.is_empty())
}
