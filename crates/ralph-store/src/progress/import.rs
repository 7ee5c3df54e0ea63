//! Many tasks at once, as a list says them: what is there already is not made again.

use std::collections::{HashMap, VecDeque};

use jiff::Timestamp;
use ralph_model::{Entropy, FeatureId, NewTask, Priority, TaskId, TaskStatus};
use rusqlite::{Transaction, params};

use super::Store;
use super::columns::{moment, word_at, word_in};
use super::rings::ring;
use super::task_error::{TaskError, Trouble};
use super::task_rows::{ids, log};
use super::task_steps::{existing, finish, insert, put_update};
use super::tasks::{DoneIn, ParentChange, TaskUpdate};
use super::transitions::changed;

/// An item of a list of tasks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportItem {
    /// What is to be done, in one line.
    pub title: String,
    /// All that there is to say about it; may be empty.
    pub description: String,
    /// How urgent it is.
    pub priority: Priority,
    /// The commands that must pass for it.
    pub checks: Vec<String>,
    /// Whether the list says that it is done.
    pub done: bool,
    /// The place in the list of the item that it is a part of, which stands before it.
    pub parent: Option<usize>,
}

/// Where the tasks of a list belong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListPlace<'a> {
    /// To no other task, and to no feature.
    Top,
    /// To no other task, but to this feature.
    In(&'a FeatureId),
    /// They are parts of this one.
    Under(&'a TaskId),
    /// They are parts of this one, which stands for the list itself: those of the list that are parts of nothing yet become
    /// parts of it.
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

/// What became of a list of tasks.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Imported {
    /// The task of every item, in the order of the list.
    pub tasks: Vec<TaskId>,
    /// Those that were made.
    pub added: Vec<TaskId>,
    /// Those that were there and open, and are done in the list, so that they are done now.
    pub finished: Vec<TaskId>,
}

/// The tasks of one title and place that no item was found to be yet, the oldest first.
type Known = HashMap<(Place, String), VecDeque<TaskId>>;

/// Where a task stands among others: what is a part of another is known by that one, whatever its feature is.
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
    /// Makes the tasks of a list, all or none. An item whose title a task of the same parent has is that task; at the top
    /// it must be of the same feature too, since other features may well have something of that title.
    ///
    /// # Errors
    /// When the parent of the whole list is not there, when a task of it could never be done then, or the database cannot be
    /// written.
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
                    finish(transaction, &id, (done, "Done: the list says so."), now)?;
                    imported.finished.push(id);
                }
            }
            Ok(imported)
        })
    }
}

/// Gives a task the checks that its item has now; those that a person gave to a task without any in the list stay.
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

/// The oldest task of a title and place that no item was found to be yet.
fn take(known: &mut Known, place: &Place, title: &str) -> Option<TaskId> {
    let same = known.get_mut(&(place.clone(), title.to_owned()));
    same.and_then(VecDeque::pop_front)
}

/// Makes tasks parts of the one that stands for their list.
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
    match ring(transaction, tasks)? {
        Some(steps) => Err(TaskError::Ring { steps }.into()),
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

/// A new task is done from the beginning; what follows from all of them is worked out at the end.
fn put_done(transaction: &Transaction<'_>, id: &TaskId, done: &DoneIn, now: Timestamp) -> rusqlite::Result<()> {
    transaction
        .prepare_cached(
            "UPDATE tasks SET status = 'done', done_worktree = ?2, done_commit = ?3, updated_at = ?4 WHERE id = ?1",
        )?
        .execute(params![id.as_str(), done.worktree, done.commit, moment(now)])?;
    log(transaction, id, "Done: the list says so.", now)
}

/// A task that somebody works on, gave up or cut into parts is not the list's to finish.
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
