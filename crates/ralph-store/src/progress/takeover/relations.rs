//! Imports the parents and dependencies of tasks. Dangling references and dependency cycles are skipped.

use std::collections::HashMap;

use ralph_model::TaskId;
use rusqlite::params;

use super::ForeignTask;
use super::importing::Import;
use crate::progress::dependency_cycles::break_cycles;
use crate::progress::task_rows::ids;

/// A dependency; each side has its original id and ours.
struct Dependency<'h> {
    task: (&'h str, TaskId),
    after: (&'h str, TaskId),
}

/// Adds the parents and dependencies of the new tasks.
pub(super) fn add(import: &mut Import<'_>, new: &[&ForeignTask]) -> rusqlite::Result<()> {
    for (task, parent) in parents(import, new) {
        import
            .transaction
            .prepare_cached("UPDATE tasks SET parent = ?2 WHERE id = ?1")?
            .execute(params![task.as_str(), parent.as_str()])?;
    }
    give_features_of_parents(import)?;
    let dependencies = dependencies(import, new);
    for dependency in &dependencies {
        insert(import, dependency)?;
    }
    let tasks: Vec<TaskId> = new
        .iter()
        .filter_map(|task| import.tasks.here(&task.id).cloned())
        .collect();
    drop_cycles(import, &tasks, &dependencies)
}

/// The valid parents of the new tasks.
fn parents(import: &mut Import<'_>, new: &[&ForeignTask]) -> Vec<(TaskId, TaskId)> {
    let mut named: HashMap<&str, &str> = HashMap::new();
    for task in new {
        let Some(parent) = task.parent.as_deref() else { continue };
        if import.tasks.here(parent).is_some() {
            named.insert(&task.id, parent);
        } else {
            let why = why_missing(import, parent);
            import.remark(
                &task.id,
                format!("its parent {parent} {why}: imported as a top-level task"),
            );
        }
    }
    for task in new {
        if is_above_itself(&named, &task.id) {
            named.remove(task.id.as_str());
            import.remark(&task.id, "its parents form a cycle: imported as a top-level task");
        }
    }
    let here = |id: &str| import.tasks.here(id).cloned();
    let found = new.iter().filter_map(|task| {
        let parent = named.get(task.id.as_str())?;
        Some((here(&task.id)?, here(parent)?))
    });
    found.collect()
}

/// Sets the feature of subtasks to that of their parents.
fn give_features_of_parents(import: &mut Import<'_>) -> rusqlite::Result<()> {
    let sql = "UPDATE tasks SET feature = parent.feature FROM tasks parent
               WHERE parent.id = tasks.parent AND parent.feature <> tasks.feature RETURNING tasks.id";
    // Their own subtasks follow in the next round.
    loop {
        let changed = ids(import.transaction, sql, [])?;
        if changed.is_empty() {
            return Ok(());
        }
        for task in changed {
            let text = "its feature differs from its parent's: moved to the parent's feature";
            import.remark(task.as_str(), text);
        }
    }
}

fn is_above_itself(parents: &HashMap<&str, &str>, task: &str) -> bool {
    let mut above = parents.get(task);
    // A cycle that the task only leads into is found from one of the cycle's tasks.
    for _ in 0..parents.len() {
        match above {
            None => return false,
            Some(parent) if *parent == task => return true,
            Some(parent) => above = parents.get(parent),
        }
    }
    false
}

/// Why a referenced task does not exist here.
fn why_missing(import: &Import<'_>, there: &str) -> &'static str {
    if import.tasks.any(there).is_some() {
        "was deleted here"
    } else {
        "is missing"
    }
}

/// The valid dependencies of the new tasks.
fn dependencies<'h>(import: &mut Import<'_>, new: &[&'h ForeignTask]) -> Vec<Dependency<'h>> {
    let mut dependencies = Vec::new();
    for task in new {
        let Some(here) = import.tasks.here(&task.id).cloned() else {
            continue;
        };
        for after in &task.after {
            match import.tasks.here(after).cloned() {
                Some(other) if other != here => dependencies.push(Dependency {
                    task: (&task.id, here.clone()),
                    after: (after, other),
                }),
                Some(_) => import.remark(&task.id, "depends on itself: skipped"),
                None => {
                    let why = why_missing(import, after);
                    import.remark(&task.id, format!("its dependency {after} {why}: skipped"));
                }
            }
        }
    }
    dependencies
}

fn insert(import: &Import<'_>, dependency: &Dependency<'_>) -> rusqlite::Result<()> {
    import
        .transaction
        .prepare_cached("INSERT OR IGNORE INTO dependencies (task, after) VALUES (?1, ?2)")?
        .execute([dependency.task.1.as_str(), dependency.after.1.as_str()])
        .map(drop)
}

/// Removes one of the new dependencies from each cycle.
fn drop_cycles(import: &mut Import<'_>, tasks: &[TaskId], dependencies: &[Dependency<'_>]) -> rusqlite::Result<()> {
    let names: HashMap<(&TaskId, &TaskId), (&str, &str)> = dependencies
        .iter()
        .map(|dependency| {
            (
                (&dependency.task.1, &dependency.after.1),
                (dependency.task.0, dependency.after.0),
            )
        })
        .collect();
    let broken = break_cycles(import.transaction, tasks, |task, after| {
        names.contains_key(&(task, after))
    })?;
    import.done.dependencies += names.len() - broken.len();
    for cycle in broken {
        let Some((task, after)) = names.get(&(&cycle.task, &cycle.after)) else {
            continue;
        };
        let steps = cycle.steps.join(", ");
        import.remark(
            task,
            format!("its dependency {after} closes a cycle ({steps}): skipped"),
        );
    }
    Ok(())
}
