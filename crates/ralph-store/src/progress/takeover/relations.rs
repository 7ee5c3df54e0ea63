//! How imported tasks hang together: their parents, and what they wait for. What leads nowhere or in a ring is left out.

use std::collections::HashMap;

use ralph_model::TaskId;
use rusqlite::params;

use super::ForeignTask;
use super::importing::Import;
use crate::progress::rings::ring;

/// A task and one that it waits for.
struct Wait<'h> {
    task: (&'h str, TaskId),
    after: (&'h str, TaskId),
}

/// Gives the new tasks their parents, and what they wait for.
pub(super) fn add(import: &mut Import<'_>, new: &[&ForeignTask]) -> rusqlite::Result<()> {
    for (task, parent) in parents(import, new) {
        import
            .transaction
            .prepare_cached("UPDATE tasks SET parent = ?2 WHERE id = ?1")?
            .execute(params![task.as_str(), parent.as_str()])?;
    }
    let waits = waits(import, new);
    for wait in &waits {
        put(import, wait)?;
    }
    let tasks: Vec<TaskId> = new
        .iter()
        .filter_map(|task| import.tasks.get(&task.id).cloned())
        .collect();
    if ring(import.transaction, &tasks)?.is_some() {
        leave_rings_out(import, &waits)?;
    } else {
        import.done.dependencies += waits.len();
    }
    Ok(())
}

/// The parents that the new tasks can have.
fn parents(import: &mut Import<'_>, new: &[&ForeignTask]) -> Vec<(TaskId, TaskId)> {
    let mut named: HashMap<&str, &str> = HashMap::new();
    for task in new {
        let Some(parent) = task.parent.as_deref() else { continue };
        if import.tasks.contains_key(parent) {
            named.insert(&task.id, parent);
        } else {
            import.remark(
                &task.id,
                format!("it is a part of {parent}, which is not there: it stands alone here"),
            );
        }
    }
    for task in new {
        if is_above_itself(&named, &task.id) {
            named.remove(task.id.as_str());
            import.remark(&task.id, "it is a part of itself in the end: it stands alone here");
        }
    }
    let here = |id: &str| import.tasks.get(id).cloned();
    let found = new.iter().filter_map(|task| {
        let parent = named.get(task.id.as_str())?;
        Some((here(&task.id)?, here(parent)?))
    });
    found.collect()
}

fn is_above_itself(parents: &HashMap<&str, &str>, task: &str) -> bool {
    let mut above = parents.get(task);
    // A ring that the task only leads into is found from one of its own tasks.
    for _ in 0..parents.len() {
        match above {
            None => return false,
            Some(parent) if *parent == task => return true,
            Some(parent) => above = parents.get(parent),
        }
    }
    false
}

/// What the new tasks can wait for.
fn waits<'h>(import: &mut Import<'_>, new: &[&'h ForeignTask]) -> Vec<Wait<'h>> {
    let mut waits = Vec::new();
    for task in new {
        let Some(here) = import.tasks.get(&task.id).cloned() else {
            continue;
        };
        for after in &task.after {
            match import.tasks.get(after).cloned() {
                Some(other) if other != here => waits.push(Wait {
                    task: (&task.id, here.clone()),
                    after: (after, other),
                }),
                Some(_) => import.remark(&task.id, "it waits for itself: left out"),
                None => import.remark(&task.id, format!("it waits for {after}, which is not there: left out")),
            }
        }
    }
    waits
}

fn put(import: &Import<'_>, wait: &Wait<'_>) -> rusqlite::Result<()> {
    import
        .transaction
        .prepare_cached("INSERT OR IGNORE INTO dependencies (task, after) VALUES (?1, ?2)")?
        .execute([wait.task.1.as_str(), wait.after.1.as_str()])
        .map(drop)
}

fn take_away(import: &Import<'_>, wait: &Wait<'_>) -> rusqlite::Result<()> {
    import
        .transaction
        .prepare_cached("DELETE FROM dependencies WHERE task = ?1 AND after = ?2")?
        .execute([wait.task.1.as_str(), wait.after.1.as_str()])
        .map(drop)
}

/// Adds them one after the other, and leaves out each that would close a ring.
fn leave_rings_out(import: &mut Import<'_>, waits: &[Wait<'_>]) -> rusqlite::Result<()> {
    for wait in waits {
        take_away(import, wait)?;
    }
    for wait in waits {
        put(import, wait)?;
        let Some(steps) = ring(import.transaction, std::slice::from_ref(&wait.task.1))? else {
            import.done.dependencies += 1;
            continue;
        };
        take_away(import, wait)?;
        let (after, steps) = (wait.after.0, steps.join(", "));
        import.remark(
            wait.task.0,
            format!("it waits for {after}, which would never end ({steps}): left out"),
        );
    }
    Ok(())
}
