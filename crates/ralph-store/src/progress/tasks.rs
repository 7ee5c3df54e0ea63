//! Tasks are made, changed, finished, given up and deleted.

use jiff::Timestamp;
use ralph_model::{Entropy, NewTask, Priority, Task, TaskId, TaskStatus};
use rusqlite::{OptionalExtension, Transaction, TransactionBehavior, params};

use super::Store;
use super::rings::ring;
use super::rows::{TASK_COLUMNS, ids, log, moment, read_task};
use super::task_error::{TaskError, Trouble};
use super::transitions::{Said, changed, say};

/// Where a task was done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DoneIn {
    /// The worktree's name; empty for the main one.
    pub worktree: String,
    /// The commit that was checked out; none without git.
    pub commit: Option<String>,
}

/// What changes about a task; what is not named stays.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TaskUpdate {
    /// Another title.
    pub title: Option<String>,
    /// Another description.
    pub description: Option<String>,
    /// Another urgency.
    pub priority: Option<Priority>,
    /// Another parent.
    pub parent: ParentChange,
    /// What it has to wait for from now on.
    pub add_after: Vec<TaskId>,
    /// What it does not have to wait for any more.
    pub remove_after: Vec<TaskId>,
}

/// What becomes of the parent of a task.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum ParentChange {
    /// It stays.
    #[default]
    Keep,
    /// This one.
    Under(TaskId),
    /// None.
    Top,
}

/// Which tasks are meant by one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// The task itself.
    Itself,
    /// The task and everything below it that has failed.
    FailedBelow,
}

impl Store {
    /// Makes a task. An id that is taken is never used.
    ///
    /// # Errors
    /// When its parent or what it comes after is not there, when it could never be done, or the database cannot be written.
    pub fn add_task(&mut self, new: &NewTask, entropy: &mut dyn Entropy, now: Timestamp) -> Result<Task, TaskError> {
        self.change_tasks(|transaction| {
            let id = insert(transaction, new, entropy, now)?;
            if !new.after.is_empty()
                && let Some(steps) = ring(transaction, std::slice::from_ref(&id))?
            {
                // The person has not seen its id.
                let steps = steps.iter().map(|step| step.replace(id.as_str(), "the new task"));
                return Err(TaskError::Ring { steps: steps.collect() }.into());
            }
            changed(transaction, std::slice::from_ref(&id), now)?;
            existing(transaction, &id)
        })
    }

    /// Changes a task.
    ///
    /// # Errors
    /// When a task that is named is not there, when it could never be done then, or the database cannot be written.
    pub fn update_task(&mut self, id: &TaskId, update: &TaskUpdate, now: Timestamp) -> Result<Task, TaskError> {
        self.change_tasks(|transaction| {
            let before = existing(transaction, id)?;
            let sentence = put_update(transaction, &before, update, now)?;
            if let Some(steps) = ring(transaction, std::slice::from_ref(id))? {
                return Err(TaskError::Ring { steps }.into());
            }
            if let Some(sentence) = sentence {
                log(transaction, id, &sentence, now)?;
            }
            let mut touched = vec![id.clone()];
            if update.parent != ParentChange::Keep
                && let Some(parent) = &before.parent
            {
                reopen_if_childless(transaction, parent, now)?;
                touched.push(parent.clone());
            }
            changed(transaction, &touched, now)?;
            existing(transaction, id)
        })
    }

    /// Deletes a task with everything below it; the deleted ones, from the top. What was recorded about their iterations
    /// stays. What waited for them does not any more.
    ///
    /// # Errors
    /// When a run has claimed one of them, or the database cannot be written.
    pub fn delete_task(&mut self, id: &TaskId, now: Timestamp) -> Result<Vec<Task>, TaskError> {
        self.change_tasks(|transaction| {
            let top = existing(transaction, id)?;
            let mut doomed = vec![id.clone()];
            doomed.extend(ids(transaction, BELOW_BY_DEPTH, [id.as_str()])?);
            let mut deleted = Vec::new();
            let mut touched: Vec<TaskId> = top.parent.iter().cloned().collect();
            for id in &doomed {
                let task = existing(transaction, id)?;
                refuse_claimed(&task)?;
                deleted.push(task);
                touched.extend(ids(
                    transaction,
                    "SELECT task FROM dependencies WHERE after = ?1 ORDER BY task",
                    [id.as_str()],
                )?);
            }
            // From below, so that SQLite has no deep chain to follow.
            for id in doomed.iter().rev() {
                transaction
                    .prepare_cached("DELETE FROM tasks WHERE id = ?1")?
                    .execute([id.as_str()])?;
            }
            if let Some(parent) = &top.parent {
                reopen_if_childless(transaction, parent, now)?;
            }
            changed(transaction, &touched, now)?;
            Ok(deleted)
        })
    }

    /// Says that a task is done, here. One that is done already stays as it is, except that a commit is written down where
    /// there was none yet.
    ///
    /// # Errors
    /// When a run has claimed it, when parts of it are open, or the database cannot be written.
    pub fn finish_task(&mut self, id: &TaskId, done: &DoneIn, now: Timestamp) -> Result<Task, TaskError> {
        self.change_tasks(|transaction| {
            finish(transaction, id, (done, "Done: a person said so."), now)?;
            add_commit(transaction, id, done, now)?;
            existing(transaction, id)
        })
    }

    /// Gives a task up: it has failed, for this reason.
    ///
    /// # Errors
    /// When a run has claimed it, when it has parts, or the database cannot be written.
    pub fn fail_task(&mut self, id: &TaskId, reason: &str, now: Timestamp) -> Result<Task, TaskError> {
        self.change_tasks(|transaction| {
            let task = existing(transaction, id)?;
            refuse_claimed(&task)?;
            refuse_parent(transaction, &task)?;
            let sentence = match reason.trim() {
                "" => "Failed: a person gave it up.".to_owned(),
                reason => format!("Failed: {reason}"),
            };
            raise_fence(transaction, id)?;
            say(transaction, id, (Said::Failed, &sentence), now)?;
            existing(transaction, id)
        })
    }

    /// Opens tasks again, as if nothing had been tried; those that were, in the order of their ids.
    ///
    /// # Errors
    /// When a run has claimed one, when only the task itself is meant and it has parts, or the database cannot be written.
    pub fn reset_task(&mut self, id: &TaskId, reach: Reach, now: Timestamp) -> Result<Vec<Task>, TaskError> {
        self.change_tasks(|transaction| {
            let task = existing(transaction, id)?;
            let leaves = match reach {
                Reach::Itself => {
                    refuse_parent(transaction, &task)?;
                    vec![id.clone()]
                }
                Reach::FailedBelow => ids(transaction, FAILED_LEAVES, [id.as_str()])?,
            };
            for leaf in &leaves {
                refuse_claimed(&existing(transaction, leaf)?)?;
                raise_fence(transaction, leaf)?;
                transaction
                    .prepare_cached("UPDATE tasks SET retries_used = 0 WHERE id = ?1")?
                    .execute([leaf.as_str()])?;
                say(transaction, leaf, (Said::Open, "Reset: it is to be done anew."), now)?;
            }
            leaves.iter().map(|leaf| existing(transaction, leaf)).collect()
        })
    }

    /// Runs one unit of work on tasks: all of it happens, or nothing.
    pub(super) fn change_tasks<T>(
        &mut self,
        work: impl FnOnce(&Transaction<'_>) -> Result<T, Trouble>,
    ) -> Result<T, TaskError> {
        let worked = self
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(Trouble::from)
            .and_then(|transaction| {
                let answer = work(&transaction)?;
                transaction.commit()?;
                Ok(answer)
            });
        let answer = match worked {
            Ok(answer) => answer,
            Err(Trouble::Task(error)) => return Err(error),
            Err(Trouble::Sql(error)) => return Ok(self.sql(Err(error))?),
        };
        self.fold_log_in();
        Ok(answer)
    }
}

/// Everything below a task, what is higher first.
const BELOW_BY_DEPTH: &str = "WITH RECURSIVE below(id, depth) AS (
        SELECT id, 1 FROM tasks WHERE parent = ?1
        UNION ALL SELECT child.id, depth + 1 FROM below CROSS JOIN tasks child ON child.parent = below.id)
    SELECT id FROM below ORDER BY depth, id";

/// The failed tasks among a task and everything below it that have no children.
const FAILED_LEAVES: &str = "WITH RECURSIVE below(id) AS (
        SELECT ?1
        UNION ALL SELECT child.id FROM below CROSS JOIN tasks child ON child.parent = below.id)
    SELECT task.id FROM below CROSS JOIN tasks task ON task.id = below.id
    WHERE task.status = 'failed' AND NOT EXISTS (SELECT 1 FROM tasks child WHERE child.parent = task.id)
    ORDER BY task.id";

/// A task that must be there.
pub(super) fn existing(transaction: &Transaction<'_>, id: &TaskId) -> Result<Task, Trouble> {
    let sql = format!("SELECT {TASK_COLUMNS} FROM tasks t WHERE t.id = ?1");
    let found = transaction
        .prepare_cached(&sql)?
        .query_row([id.as_str()], read_task)
        .optional()?;
    found.ok_or_else(|| TaskError::Unknown { text: id.to_string() }.into())
}

/// Puts a new task in, without what follows from it.
pub(super) fn insert(
    transaction: &Transaction<'_>,
    new: &NewTask,
    entropy: &mut dyn Entropy,
    now: Timestamp,
) -> Result<TaskId, Trouble> {
    let mut feature = new.feature.clone();
    if let Some(parent) = &new.parent {
        let parent = existing(transaction, parent)?;
        feature = feature.or(parent.feature);
        forget_where_done(transaction, &parent.id)?;
    }
    let id = loop {
        let id = TaskId::new(entropy.next_bits());
        if is_free(transaction, &id)? {
            break id;
        }
    };
    transaction
        .prepare_cached(
            "INSERT INTO tasks (id, title, description, status, kind, priority, parent, feature, created_at, updated_at)
             VALUES (?1, ?2, ?3, 'pending', ?4, ?5, ?6, ?7, ?8, ?8)",
        )?
        .execute(params![
            id.as_str(),
            new.title,
            new.description,
            new.kind.word(),
            new.priority.0,
            new.parent.as_ref().map(TaskId::as_str),
            feature.as_ref().map(ralph_model::FeatureId::as_str),
            moment(now),
        ])?;
    for after in &new.after {
        add_after(transaction, &id, after)?;
    }
    log(transaction, &id, "Added.", now)?;
    Ok(id)
}

/// Whether an id was never used: the journal speaks of deleted tasks too.
fn is_free(transaction: &Transaction<'_>, id: &TaskId) -> rusqlite::Result<bool> {
    let sql = "SELECT EXISTS (SELECT 1 FROM tasks WHERE id = ?1) OR EXISTS (SELECT 1 FROM journal WHERE task_id = ?1)
               OR EXISTS (SELECT 1 FROM iterations WHERE task = ?1)";
    let is_taken: bool = transaction
        .prepare_cached(sql)?
        .query_row([id.as_str()], |row| row.get(0))?;
    Ok(!is_taken)
}

fn add_after(transaction: &Transaction<'_>, task: &TaskId, after: &TaskId) -> Result<(), Trouble> {
    existing(transaction, after)?;
    if task == after {
        let steps = vec![format!("{task} waits for itself")];
        return Err(TaskError::Ring { steps }.into());
    }
    transaction
        .prepare_cached("INSERT OR IGNORE INTO dependencies (task, after) VALUES (?1, ?2)")?
        .execute([task.as_str(), after.as_str()])?;
    Ok(())
}

/// A task that has become a parent was done where its parts are.
fn forget_where_done(transaction: &Transaction<'_>, parent: &TaskId) -> rusqlite::Result<()> {
    transaction
        .prepare_cached("UPDATE tasks SET done_worktree = NULL, done_commit = NULL WHERE id = ?1")?
        .execute([parent.as_str()])
        .map(drop)
}

/// Marks a task done, unless it is.
pub(super) fn finish(
    transaction: &Transaction<'_>,
    id: &TaskId,
    (done, sentence): (&DoneIn, &str),
    now: Timestamp,
) -> Result<(), Trouble> {
    let task = existing(transaction, id)?;
    refuse_claimed(&task)?;
    let open = ids(
        transaction,
        "SELECT id FROM tasks WHERE parent = ?1 AND status <> 'done' ORDER BY seq",
        [id.as_str()],
    )?;
    if !open.is_empty() {
        return Err(TaskError::HasOpenParts { task: id.clone(), open }.into());
    }
    if task.status != TaskStatus::Done {
        let said = Said::Done {
            worktree: &done.worktree,
            commit: done.commit.as_deref(),
        };
        raise_fence(transaction, id)?;
        say(transaction, id, (said, sentence), now)?;
    }
    Ok(())
}

/// Writes down in which commit a task is done that was done before there was one.
fn add_commit(transaction: &Transaction<'_>, id: &TaskId, done: &DoneIn, now: Timestamp) -> rusqlite::Result<()> {
    let Some(commit) = &done.commit else { return Ok(()) };
    let changed_rows = transaction
        .prepare_cached(
            "UPDATE tasks SET done_worktree = ?2, done_commit = ?3, updated_at = ?4
             WHERE id = ?1 AND status = 'done' AND done_worktree IS NOT NULL AND done_commit IS NULL",
        )?
        .execute(params![id.as_str(), done.worktree, commit, moment(now)])?;
    if changed_rows > 0 {
        log(transaction, id, &format!("Committed as {commit}."), now)?;
    }
    Ok(())
}

/// Writes what an update names; a sentence for the log, if anything changed.
pub(super) fn put_update(
    transaction: &Transaction<'_>,
    task: &Task,
    update: &TaskUpdate,
    now: Timestamp,
) -> Result<Option<String>, Trouble> {
    let mut what = Vec::new();
    if update.title.as_ref().is_some_and(|title| *title != task.title) {
        what.push("its title".to_owned());
    }
    if update
        .description
        .as_ref()
        .is_some_and(|text| *text != task.description)
    {
        what.push("its description".to_owned());
    }
    if let Some(priority) = update.priority.filter(|priority| *priority != task.priority) {
        what.push(format!("its priority, to {}", priority.0));
    }
    let parent = match &update.parent {
        ParentChange::Keep => task.parent.clone(),
        ParentChange::Top => None,
        ParentChange::Under(parent) => Some(existing(transaction, parent)?.id),
    };
    if parent != task.parent {
        what.push(
            parent
                .as_ref()
                .map_or("it is no part of another any more".to_owned(), |parent| {
                    format!("its parent, to {parent}")
                }),
        );
        if let Some(parent) = &parent {
            forget_where_done(transaction, parent)?;
        }
    }
    for after in &update.add_after {
        add_after(transaction, &task.id, after)?;
        what.push(format!("it waits for {after}"));
    }
    for after in &update.remove_after {
        transaction
            .prepare_cached("DELETE FROM dependencies WHERE task = ?1 AND after = ?2")?
            .execute([task.id.as_str(), after.as_str()])?;
        what.push(format!("it waits for {after} no longer"));
    }
    if what.is_empty() {
        return Ok(None);
    }
    transaction
        .prepare_cached(
            "UPDATE tasks SET title = ?2, description = ?3, priority = ?4, parent = ?5, updated_at = ?6 WHERE id = ?1",
        )?
        .execute(params![
            task.id.as_str(),
            update.title.as_ref().unwrap_or(&task.title),
            update.description.as_ref().unwrap_or(&task.description),
            update.priority.unwrap_or(task.priority).0,
            parent.as_ref().map(TaskId::as_str),
            moment(now),
        ])?;
    Ok(Some(format!("Changed: {}.", what.join("; "))))
}

/// A parent that failed with its children has nothing that failed when it has none left.
fn reopen_if_childless(transaction: &Transaction<'_>, parent: &TaskId, now: Timestamp) -> rusqlite::Result<()> {
    let sql = "SELECT id FROM tasks task WHERE id = ?1 AND status = 'failed'
               AND NOT EXISTS (SELECT 1 FROM tasks child WHERE child.parent = task.id)";
    for id in ids(transaction, sql, [parent.as_str()])? {
        say(transaction, &id, (Said::Open, "Open: it has no parts any more."), now)?;
    }
    Ok(())
}

/// A run that still works on the task, or comes back to it, must not settle it any more.
fn raise_fence(transaction: &Transaction<'_>, id: &TaskId) -> rusqlite::Result<()> {
    transaction
        .prepare_cached("UPDATE tasks SET fence = fence + 1 WHERE id = ?1")?
        .execute([id.as_str()])
        .map(drop)
}

fn refuse_claimed(task: &Task) -> Result<(), TaskError> {
    match &task.claimed_by {
        Some(run) => Err(TaskError::Claimed {
            task: task.id.clone(),
            run: run.clone(),
        }),
        None => Ok(()),
    }
}

fn refuse_parent(transaction: &Transaction<'_>, task: &Task) -> Result<(), Trouble> {
    let children = ids(
        transaction,
        "SELECT id FROM tasks WHERE parent = ?1 LIMIT 1",
        [task.id.as_str()],
    )?;
    if children.is_empty() {
        Ok(())
    } else {
        Err(TaskError::HasParts { task: task.id.clone() }.into())
    }
}
