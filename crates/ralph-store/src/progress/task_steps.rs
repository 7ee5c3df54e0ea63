//! The steps of task changes, each inside a transaction.

use jiff::Timestamp;
use ralph_model::{Entropy, FeatureId, NewTask, Task, TaskId, TaskStatus, with_guidance};
use rusqlite::{OptionalExtension, Transaction, params};

use super::columns::{moment, to_json};
use super::evidence_changes::forget;
use super::task_error::{TaskError, Trouble};
use super::task_proposals::refuse_proposed;
use super::task_rows::{TASK_COLUMNS, ids, log, read_task};
use super::tasks::{DoneIn, FeatureChange, ParentChange, TaskUpdate};
use super::transitions::{NewState, changed, set_task_state};

/// Reads a task that must exist.
pub(super) fn existing(transaction: &Transaction<'_>, id: &TaskId) -> Result<Task, Trouble> {
    let sql = format!("SELECT {TASK_COLUMNS} FROM tasks t WHERE t.id = ?1");
    let found = transaction
        .prepare_cached(&sql)?
        .query_row([id.as_str()], read_task)
        .optional()?;
    found.ok_or_else(|| TaskError::Unknown { text: id.to_string() }.into())
}

/// Inserts a new task, without its consequences for others.
pub(super) fn insert(
    transaction: &Transaction<'_>,
    new: &NewTask,
    entropy: &mut dyn Entropy,
    now: Timestamp,
) -> Result<TaskId, Trouble> {
    let mut feature = new.feature.clone();
    if let Some(parent) = &new.parent {
        let parent = existing(transaction, parent)?;
        refuse_proposed(&parent)?;
        refuse_two_features(transaction, feature.as_ref(), &parent.id)?;
        feature = feature.or(parent.feature);
        forget_where_done(transaction, &parent.id)?;
    }
    if let Some(feature) = &feature {
        existing_feature(transaction, feature)?;
    }
    let id = loop {
        let id = TaskId::new(entropy.next_bits());
        if is_free(transaction, &id)? {
            break id;
        }
    };
    transaction
        .prepare_cached(
            "INSERT INTO tasks (id, title, description, status, kind, priority, parent, feature, created_at, updated_at, checks)
             VALUES (?1, ?2, ?3, 'pending', ?4, ?5, ?6, ?7, ?8, ?8, ?9)",
        )?
        .execute(params![
            id.as_str(),
            new.title,
            new.description,
            new.kind.word(),
            new.priority.0,
            new.parent.as_ref().map(TaskId::as_str),
            feature.as_ref().map(FeatureId::as_str),
            moment(now),
            to_json(&new.checks)?,
        ])?;
    for after in &new.after {
        add_after(transaction, &id, after)?;
    }
    log(transaction, &id, "Added.", now)?;
    Ok(id)
}

pub(super) fn is_free(transaction: &Transaction<'_>, id: &TaskId) -> rusqlite::Result<bool> {
    let sql = "SELECT EXISTS (SELECT 1 FROM tasks WHERE id = ?1) OR EXISTS (SELECT 1 FROM journal WHERE task_id = ?1)
               OR EXISTS (SELECT 1 FROM iterations WHERE task = ?1) OR EXISTS (SELECT 1 FROM task_log WHERE task = ?1)";
    let is_taken: bool = transaction
        .prepare_cached(sql)?
        .query_row([id.as_str()], |row| row.get(0))?;
    Ok(!is_taken)
}

fn add_after(transaction: &Transaction<'_>, task: &TaskId, after: &TaskId) -> Result<(), Trouble> {
    refuse_proposed(&existing(transaction, after)?)?;
    if task == after {
        let steps = vec![format!("{task} depends on itself")];
        return Err(TaskError::DependencyCycle { steps }.into());
    }
    transaction
        .prepare_cached("INSERT OR IGNORE INTO dependencies (task, after) VALUES (?1, ?2)")?
        .execute([task.as_str(), after.as_str()])?;
    Ok(())
}

/// A task that has become a parent is done where its subtasks are.
pub(super) fn forget_where_done(transaction: &Transaction<'_>, parent: &TaskId) -> rusqlite::Result<()> {
    transaction
        .prepare_cached("UPDATE tasks SET done_worktree = NULL, done_commit = NULL, unverified = NULL, unverified_changed = NULL WHERE id = ?1")?
        .execute([parent.as_str()])
        .map(drop)
}

/// Marks a task as done, unless it already is.
pub(super) fn finish(
    transaction: &Transaction<'_>,
    id: &TaskId,
    (done, sentence): (&DoneIn, &str),
    now: Timestamp,
) -> Result<(), Trouble> {
    let task = existing(transaction, id)?;
    refuse_claimed(&task)?;
    refuse_proposed(&task)?;
    let open = ids(
        transaction,
        "SELECT id FROM tasks WHERE parent = ?1 AND status <> 'done' ORDER BY seq",
        [id.as_str()],
    )?;
    if !open.is_empty() {
        return Err(TaskError::HasOpenSubtasks { task: id.clone(), open }.into());
    }
    if task.status != TaskStatus::Done {
        let state = NewState::Done {
            worktree: Some(&done.worktree),
            commit: done.commit.as_deref(),
            unverified: None,
        };
        raise_fence(transaction, id)?;
        set_task_state(transaction, id, (state, sentence), now)?;
    }
    Ok(())
}

/// Reopens a task with all its retries; its history is kept.
pub(super) fn reopen(
    transaction: &Transaction<'_>,
    id: &TaskId,
    sentence: &str,
    now: Timestamp,
) -> rusqlite::Result<()> {
    raise_fence(transaction, id)?;
    forget(transaction, id)?;
    // Work that has landed is not landed again, and the next attempt begins at the tip of the base.
    transaction
        .prepare_cached("DELETE FROM checkouts WHERE task = ?1 AND landing IS NOT NULL")?
        .execute([id.as_str()])?;
    transaction
        .prepare_cached("UPDATE tasks SET retries_used = 0, reset_after = attempts WHERE id = ?1")?
        .execute([id.as_str()])?;
    set_task_state(transaction, id, (NewState::Open, sentence), now).map(drop)
}

/// Adds a person's guidance to the description and log of a task, if it exists.
pub(super) fn put_guidance(
    transaction: &Transaction<'_>,
    task: &TaskId,
    text: &str,
    now: Timestamp,
) -> rusqlite::Result<()> {
    let description: Option<String> = transaction
        .prepare_cached("SELECT description FROM tasks WHERE id = ?1")?
        .query_row([task.as_str()], |row| row.get(0))
        .optional()?;
    let Some(description) = description else {
        return Ok(());
    };
    transaction
        .prepare_cached("UPDATE tasks SET description = ?2, updated_at = ?3 WHERE id = ?1")?
        .execute(params![
            task.as_str(),
            with_guidance(&description, text, now),
            moment(now)
        ])?;
    log(transaction, task, &format!("Guidance: {text}"), now)
}

/// Accepts a done task that a person has reviewed.
pub(super) fn accept(transaction: &Transaction<'_>, id: &TaskId, now: Timestamp) -> rusqlite::Result<()> {
    let changed_rows = transaction
        .prepare_cached(
            "UPDATE tasks SET unverified = NULL, unverified_changed = NULL, to_review = 0, updated_at = ?2
             WHERE id = ?1 AND (unverified IS NOT NULL OR to_review)",
        )?
        .execute(params![id.as_str(), moment(now)])?;
    if changed_rows > 0 {
        log(transaction, id, "Accepted by a person.", now)?;
        changed(transaction, std::slice::from_ref(id), now)?;
    }
    Ok(())
}

/// Records the commit of a task that was done before there was one.
pub(super) fn add_commit(
    transaction: &Transaction<'_>,
    id: &TaskId,
    done: &DoneIn,
    now: Timestamp,
) -> rusqlite::Result<()> {
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

/// Applies an update; returns a sentence for the log, if anything changed.
pub(super) fn put_update(
    transaction: &Transaction<'_>,
    task: &Task,
    update: &TaskUpdate,
    now: Timestamp,
) -> Result<Option<String>, Trouble> {
    let is_moved = update.parent != ParentChange::Keep || update.feature != FeatureChange::Keep;
    if is_moved || !update.add_after.is_empty() {
        refuse_proposed(task)?;
    }
    let mut what = changes_of_its_own(task, update);
    let parent = match &update.parent {
        ParentChange::Keep => task.parent.clone(),
        ParentChange::Top => None,
        ParentChange::Under(parent) => {
            let parent = existing(transaction, parent)?;
            refuse_proposed(&parent)?;
            Some(parent.id)
        }
    };
    if parent != task.parent {
        what.push(
            parent
                .as_ref()
                .map_or("no parent".to_owned(), |parent| format!("parent to {parent}")),
        );
        if let Some(parent) = &parent {
            forget_where_done(transaction, parent)?;
        }
    }
    what.extend(put_feature(transaction, task, (&update.feature, parent.as_ref()), now)?);
    for after in &update.add_after {
        add_after(transaction, &task.id, after)?;
        what.push(format!("depends on {after}"));
    }
    for after in &update.remove_after {
        transaction
            .prepare_cached("DELETE FROM dependencies WHERE task = ?1 AND after = ?2")?
            .execute([task.id.as_str(), after.as_str()])?;
        what.push(format!("no longer depends on {after}"));
    }
    if what.is_empty() {
        return Ok(None);
    }
    transaction
        .prepare_cached(
            "UPDATE tasks SET title = ?2, description = ?3, priority = ?4, parent = ?5, updated_at = ?6, checks = ?7, max_retries = ?8 WHERE id = ?1",
        )?
        .execute(params![
            task.id.as_str(),
            update.title.as_ref().unwrap_or(&task.title),
            update.description.as_ref().unwrap_or(&task.description),
            update.priority.unwrap_or(task.priority).0,
            parent.as_ref().map(TaskId::as_str),
            moment(now),
            to_json(update.checks.as_ref().unwrap_or(&task.checks))?,
            update.max_retries.or(task.max_retries),
        ])?;
    Ok(Some(format!("Changed: {}.", what.join("; "))))
}

/// The changes that do not involve other tasks.
fn changes_of_its_own(task: &Task, update: &TaskUpdate) -> Vec<String> {
    let mut what = Vec::new();
    if update.title.as_ref().is_some_and(|title| *title != task.title) {
        what.push("title".to_owned());
    }
    if update
        .description
        .as_ref()
        .is_some_and(|text| *text != task.description)
    {
        what.push("description".to_owned());
    }
    if let Some(priority) = update.priority.filter(|priority| *priority != task.priority) {
        what.push(format!("priority to {}", priority.0));
    }
    if update.checks.as_ref().is_some_and(|checks| *checks != task.checks) {
        what.push("checks".to_owned());
    }
    if let Some(retries) = update.max_retries.filter(|retries| task.max_retries != Some(*retries)) {
        what.push(format!("retries to {retries}"));
    }
    what
}

/// Changes the feature of a task and its descendants, if the update says so; returns the text for the log.
fn put_feature(
    transaction: &Transaction<'_>,
    task: &Task,
    (change, parent): (&FeatureChange, Option<&TaskId>),
    now: Timestamp,
) -> Result<Option<String>, Trouble> {
    let wanted = match change {
        FeatureChange::Of(feature) => Some(feature),
        FeatureChange::Keep if task.parent.as_ref() != parent => task.feature.as_ref(),
        FeatureChange::Keep | FeatureChange::Leave => None,
    };
    if let Some(parent) = parent {
        refuse_two_features(transaction, wanted, parent)?;
    }
    let feature = match (change, parent) {
        (FeatureChange::Of(feature), _) => Some(feature.clone()),
        (FeatureChange::Leave, _) => None,
        (FeatureChange::Keep, Some(parent)) if task.feature.is_none() && task.parent.as_ref() != Some(parent) => {
            existing(transaction, parent)?.feature
        }
        (FeatureChange::Keep, _) => return Ok(None),
    };
    if feature == task.feature {
        return Ok(None);
    }
    let summary = match &feature {
        Some(feature) => format!("feature to {}", existing_feature(transaction, feature)?),
        None => "no feature".to_owned(),
    };
    transaction
        .prepare_cached(
            "WITH RECURSIVE inside(id) AS (
                 SELECT ?1
                 UNION SELECT child.id FROM inside CROSS JOIN tasks child ON child.parent = inside.id)
             UPDATE tasks SET feature = ?2, updated_at = ?3 WHERE id IN (SELECT id FROM inside)",
        )?
        .execute(params![
            task.id.as_str(),
            feature.as_ref().map(FeatureId::as_str),
            moment(now),
        ])?;
    Ok(Some(summary))
}

/// A subtask must not belong to another feature than its ancestors: it would be counted, worked on and deleted with
/// both.
fn refuse_two_features(
    transaction: &Transaction<'_>,
    feature: Option<&FeatureId>,
    parent: &TaskId,
) -> Result<(), Trouble> {
    let Some(feature) = feature else { return Ok(()) };
    let sql = "WITH RECURSIVE above(id, parent, feature) AS (
                   SELECT id, parent, feature FROM tasks WHERE id = ?1
                   UNION SELECT task.id, task.parent, task.feature
                         FROM above CROSS JOIN tasks task ON task.id = above.parent)
               SELECT name FROM above CROSS JOIN features ON features.id = above.feature
               WHERE above.feature <> ?2 LIMIT 1";
    let other: Option<String> = transaction
        .prepare_cached(sql)?
        .query_row([parent.as_str(), feature.as_str()], |row| row.get(0))
        .optional()?;
    match other {
        None => Ok(()),
        Some(other) => Err(TaskError::TwoFeatures {
            parent: parent.clone(),
            feature: existing_feature(transaction, feature)?,
            other,
        }
        .into()),
    }
}

/// The name of a feature that must exist.
pub(super) fn existing_feature(transaction: &Transaction<'_>, feature: &FeatureId) -> Result<String, Trouble> {
    let found = transaction
        .prepare_cached("SELECT name FROM features WHERE id = ?1")?
        .query_row([feature.as_str()], |row| row.get(0))
        .optional()?;
    let feature = feature.clone();
    found.ok_or_else(|| TaskError::NoFeature { feature }.into())
}

/// A parent that failed because of its children no longer has a failure once it has no children.
pub(super) fn reopen_if_childless(
    transaction: &Transaction<'_>,
    parent: &TaskId,
    now: Timestamp,
) -> rusqlite::Result<()> {
    let sql = "SELECT id FROM tasks task WHERE id = ?1 AND status = 'failed'
               AND NOT EXISTS (SELECT 1 FROM tasks child WHERE child.parent = task.id)";
    for id in ids(transaction, sql, [parent.as_str()])? {
        set_task_state(transaction, &id, (NewState::Open, "Open: no subtasks left."), now)?;
    }
    Ok(())
}

/// Invalidates the fencing token: a run that still works on the task, or returns to it, must not settle it.
pub(super) fn raise_fence(transaction: &Transaction<'_>, id: &TaskId) -> rusqlite::Result<()> {
    transaction
        .prepare_cached("UPDATE tasks SET fence = fence + 1 WHERE id = ?1")?
        .execute([id.as_str()])
        .map(drop)
}

pub(super) fn refuse_claimed(task: &Task) -> Result<(), TaskError> {
    match &task.claimed_by {
        Some(run) => Err(TaskError::Claimed {
            task: task.id.clone(),
            run: run.clone(),
        }),
        None => Ok(()),
    }
}

pub(super) fn refuse_parent(transaction: &Transaction<'_>, task: &Task) -> Result<(), Trouble> {
    let children = ids(
        transaction,
        "SELECT id FROM tasks WHERE parent = ?1 LIMIT 1",
        [task.id.as_str()],
    )?;
    if children.is_empty() {
        Ok(())
    } else {
        Err(TaskError::HasSubtasks { task: task.id.clone() }.into())
    }
}
