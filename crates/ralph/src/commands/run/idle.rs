//! A run that is asked for a task, a feature or a file with which nothing can be begun: it is said why, and no run begins.

use std::collections::BTreeSet;
use std::process::ExitCode;

use ralph_model::{FeatureId, Task, TaskId, TaskKind, TaskStatus, count, preview};
use ralph_store::{Scope, Store, TaskFilter, Which};

use crate::commands::task::{MENTION_COLUMNS, blockers, commits_of_others_here};
use crate::context::Context;
use crate::error::CommandError;

/// The exit codes of a run that has nothing to do, and of one that a person has to help.
const NOTHING_TO_DO: u8 = 3;
const LEFT_FOR_PERSON: u8 = 4;

/// Why a run would do nothing.
pub(super) struct Idle {
    /// Why, as a sentence.
    pub(super) why: String,
    pub(super) hint: String,
    pub(super) code: u8,
}

impl Idle {
    /// Says it.
    pub(super) fn tell(self, context: &Context<'_>) -> Result<ExitCode, CommandError> {
        context.ui.data(&format!("{}\n", self.why))?;
        context.ui.hint(&self.hint);
        Ok(ExitCode::from(self.code))
    }
}

/// Why a run of this scope would do nothing; none when it would do something, or when it is about all tasks. `file`
/// is the file that the task stands for, as it was typed.
pub(super) fn idle(
    context: &Context<'_>,
    store: &Store,
    scope: &Scope,
    file: Option<&str>,
) -> Result<Option<Idle>, CommandError> {
    let id = match scope {
        Scope::All => return Ok(None),
        Scope::Feature(id) => return idle_feature(context, store, id),
        Scope::Task(id) => id,
    };
    let Some(task) = store.task(id)? else { return Ok(None) };
    if task.status == TaskStatus::Proposed {
        return Ok(Some(Idle {
            why: format!("{id} is proposed and needs review."),
            hint: format!("`ralph review --accept {id}` accepts it, `ralph review` shows all that needs review."),
            code: LEFT_FOR_PERSON,
        }));
    }
    let commits_here = commits_of_others_here(context, store)?;
    let standing = store.standing(scope, context.project.worktree_name(), &commits_here)?;
    if standing.open > 0 {
        return Ok(None);
    }
    let has_parts = !store.children(id)?.is_empty();
    let is_list = file.is_some() && task.kind == TaskKind::Once;
    let name = file.map_or_else(|| id.to_string(), str::to_owned);
    Ok(Some(match (standing.failed, standing.waiting) {
        (0, 0) if standing.unverified.all() > 0 => unverified(standing.unverified.all(), &name),
        (0, 0) => Idle {
            why: match is_list {
                true => format!("All items of {name} are done."),
                false => format!("{name} is done already."),
            },
            hint: reset_hint(id, has_parts),
            code: NOTHING_TO_DO,
        },
        (0, _) => Idle {
            why: waits(store, &task, &name)?,
            hint: "`ralph run` works on what is ready.".to_owned(),
            code: LEFT_FOR_PERSON,
        },
        (failed, _) => Idle {
            why: match has_parts {
                true => format!(
                    "{} of {name} failed, and nothing else of it is ready.",
                    count(failed as usize, "task", "tasks")
                ),
                false => format!("{name} has failed."),
            },
            hint: match has_parts {
                true => {
                    format!("`ralph task reset {id} --all` opens what has failed, `ralph task tree {id}` shows it.")
                }
                false => format!("`ralph task reset {id}` opens it again, `ralph task show {id}` shows what happened."),
            },
            code: LEFT_FOR_PERSON,
        },
    }))
}

/// Why a run of a feature would do nothing.
fn idle_feature(context: &Context<'_>, store: &Store, id: &FeatureId) -> Result<Option<Idle>, CommandError> {
    let Some(feature) = store.feature_of_id(id)? else {
        return Ok(None);
    };
    let (name, scope) = (&feature.name, Scope::Feature(id.clone()));
    let commits_here = commits_of_others_here(context, store)?;
    let standing = store.standing(&scope, context.project.worktree_name(), &commits_here)?;
    let tasks = store.tasks(&TaskFilter {
        which: Which::All,
        feature: Some(id),
        parent: None,
    })?;
    if standing.open > 0 {
        return Ok(None);
    }
    let show = format!("`ralph feature show {name}` shows its tasks, `ralph task reset ID` opens one again.");
    let (why, hint, code) = match (standing.failed, standing.waiting) {
        _ if tasks.is_empty() => (
            format!("The feature {name} has no tasks."),
            format!(
                "`ralph task import --feature {name}` makes them of its plan, `ralph task add TEXT --feature {name}` adds one."
            ),
            NOTHING_TO_DO,
        ),
        (0, 0) if standing.unverified.all() > 0 => {
            return Ok(Some(unverified(
                standing.unverified.all(),
                &format!("the feature {name}"),
            )));
        }
        (0, 0) => (
            format!("All tasks of the feature {name} are done."),
            show,
            NOTHING_TO_DO,
        ),
        (0, _) => (
            waits_outside(store, &tasks, &format!("The feature {name}"))?,
            "`ralph run` works on what is ready.".to_owned(),
            LEFT_FOR_PERSON,
        ),
        (failed, _) => {
            let failed = count(failed as usize, "task", "tasks");
            let why = format!("{failed} of the feature {name} failed, and nothing else of it is ready.");
            (why, show, LEFT_FOR_PERSON)
        }
    };
    Ok(Some(Idle { why, hint, code }))
}

/// Everything is done, and a person has to review tasks of it.
fn unverified(tasks: u32, name: &str) -> Idle {
    Idle {
        why: format!("{} of {name} done, unverified.", count(tasks as usize, "task", "tasks")),
        hint: "`ralph review` shows why; it accepts a task or reopens it.".to_owned(),
        code: LEFT_FOR_PERSON,
    }
}

/// What tasks wait for that is none of them.
fn waits_outside(store: &Store, tasks: &[Task], name: &str) -> Result<String, CommandError> {
    let inside: BTreeSet<&TaskId> = tasks.iter().map(|task| &task.id).collect();
    let mut found = BTreeSet::new();
    for task in tasks {
        let waits = store.waits_for(&task.id)?.into_iter();
        found.extend(
            waits
                .map(|before| before.task)
                .filter(|before| !inside.contains(before)),
        );
    }
    let mut named = Vec::new();
    for id in found {
        let title = store.task(&id)?.map(|task| preview(&task.title, MENTION_COLUMNS));
        named.push(format!("{id} ({})", title.unwrap_or_default()));
    }
    Ok(match named.as_slice() {
        [] => format!("{name} waits for what was done in another worktree, and its commit is not here yet."),
        some => format!("{name} waits for {}.", some.join(", ")),
    })
}

fn reset_hint(id: &TaskId, has_parts: bool) -> String {
    match has_parts {
        true => format!("`ralph task tree {id}` shows its parts, `ralph task reset ID` opens one again."),
        false => format!("`ralph task reset {id}` opens it again."),
    }
}

fn waits(store: &Store, task: &Task, name: &str) -> Result<String, CommandError> {
    let blockers = blockers(store, task)?;
    Ok(match blockers.as_slice() {
        [] => format!("{name} waits for what was done in another worktree, and its commit is not here yet."),
        some => format!("{name} waits for {}.", some.join(", ")),
    })
}
