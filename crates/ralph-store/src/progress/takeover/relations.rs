//! How imported tasks hang together: their parents, and what they wait for. What leads nowhere or in a ring is left out.

use std::collections::HashMap;

use ralph_model::TaskId;
use rusqlite::params;

use super::ForeignTask;
use super::importing::Import;
use crate::progress::rings::break_rings;
use crate::progress::task_rows::ids;

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
    give_features_of_parents(import)?;
    let waits = waits(import, new);
    for wait in &waits {
        put(import, wait)?;
    }
    let tasks: Vec<TaskId> = new
        .iter()
        .filter_map(|task| import.tasks.here(&task.id).cloned())
        .collect();
    leave_rings_out(import, &tasks, &waits)
}

/// The parents that the new tasks can have.
fn parents(import: &mut Import<'_>, new: &[&ForeignTask]) -> Vec<(TaskId, TaskId)> {
    let mut named: HashMap<&str, &str> = HashMap::new();
    for task in new {
        let Some(parent) = task.parent.as_deref() else { continue };
        if import.tasks.here(parent).is_some() {
            named.insert(&task.id, parent);
        } else {
            let why = why_not_here(import, parent);
            import.remark(
                &task.id,
                format!("it is a part of {parent}, which {why}: it stands alone here"),
            );
        }
    }
    for task in new {
        if is_above_itself(&named, &task.id) {
            named.remove(task.id.as_str());
            import.remark(&task.id, "it is a part of itself in the end: it stands alone here");
        }
    }
    let here = |id: &str| import.tasks.here(id).cloned();
    let found = new.iter().filter_map(|task| {
        let parent = named.get(task.id.as_str())?;
        Some((here(&task.id)?, here(parent)?))
    });
    found.collect()
}

/// A part belongs to the feature of its parent.
fn give_features_of_parents(import: &mut Import<'_>) -> rusqlite::Result<()> {
    let sql = "UPDATE tasks SET feature = parent.feature FROM tasks parent
               WHERE parent.id = tasks.parent AND parent.feature <> tasks.feature RETURNING tasks.id";
    // What one of them is given its own parts are given next.
    loop {
        let changed = ids(import.transaction, sql, [])?;
        if changed.is_empty() {
            return Ok(());
        }
        for task in changed {
            let text = "its feature is another than that of its parent: it belongs to its parent's here";
            import.remark(task.as_str(), text);
        }
    }
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

/// Why a task that another one names is none here.
fn why_not_here(import: &Import<'_>, there: &str) -> &'static str {
    if import.tasks.any(there).is_some() {
        "was deleted here"
    } else {
        "is not there"
    }
}

/// What the new tasks can wait for.
fn waits<'h>(import: &mut Import<'_>, new: &[&'h ForeignTask]) -> Vec<Wait<'h>> {
    let mut waits = Vec::new();
    for task in new {
        let Some(here) = import.tasks.here(&task.id).cloned() else {
            continue;
        };
        for after in &task.after {
            match import.tasks.here(after).cloned() {
                Some(other) if other != here => waits.push(Wait {
                    task: (&task.id, here.clone()),
                    after: (after, other),
                }),
                Some(_) => import.remark(&task.id, "it waits for itself: left out"),
                None => {
                    let why = why_not_here(import, after);
                    import.remark(&task.id, format!("it waits for {after}, which {why}: left out"));
                }
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

/// Takes one of the new waits out of each ring.
fn leave_rings_out(import: &mut Import<'_>, tasks: &[TaskId], waits: &[Wait<'_>]) -> rusqlite::Result<()> {
    let names: HashMap<(&TaskId, &TaskId), (&str, &str)> = waits
        .iter()
        .map(|wait| ((&wait.task.1, &wait.after.1), (wait.task.0, wait.after.0)))
        .collect();
    let broken = break_rings(import.transaction, tasks, |task, after| {
        names.contains_key(&(task, after))
    })?;
    import.done.dependencies += names.len() - broken.len();
    for ring in broken {
        let Some((task, after)) = names.get(&(&ring.task, &ring.after)) else {
            continue;
        };
        let steps = ring.steps.join(", ");
        import.remark(
            task,
            format!("it waits for {after}, which would never end ({steps}): left out"),
        );
    }
    Ok(())
}
