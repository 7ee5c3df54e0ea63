//! Explains why a run of a task, a feature or a file would do nothing; then no run begins.

use std::collections::BTreeSet;
use std::process::ExitCode;

use ralph_model::{FeatureId, Task, TaskId, TaskKind, TaskStatus, count, preview};
use ralph_store::{Scope, Store, TaskFilter, Which};

use crate::commands::task::{MENTION_COLUMNS, blockers, commits_of_others_here};
use crate::context::Context;
use crate::error::CommandError;

/// Exit codes: nothing to do, and something needs the user's attention.
const NOTHING_TO_DO: u8 = 3;
const NEEDS_ATTENTION: u8 = 4;

/// Why a run would do nothing.
pub(super) struct Idle {
    pub(super) why: String,
    pub(super) hint: String,
    pub(super) code: u8,
}

impl Idle {
    pub(super) fn report(self, context: &Context<'_>) -> Result<ExitCode, CommandError> {
        context.ui.data(&format!("{}\n", self.why))?;
        context.ui.hint(&self.hint);
        Ok(ExitCode::from(self.code))
    }
}

/// Why a run of this scope would do nothing; none if it would do something, or if the scope is all tasks. `file` is the
/// file that the task represents, as typed.
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
            hint: format!("Run `ralph review --accept {id}` to accept it, or `ralph review` to see all proposals."),
            code: NEEDS_ATTENTION,
        }));
    }
    let commits_here = commits_of_others_here(context, store)?;
    let standing = store.scope_counts(scope, context.project.worktree_name(), &commits_here)?;
    if standing.open > 0 {
        return Ok(None);
    }
    let has_subtasks = !store.children(id)?.is_empty();
    let is_list = file.is_some() && task.kind == TaskKind::Once;
    let name = file.map_or_else(|| id.to_string(), str::to_owned);
    Ok(Some(match (standing.failed, standing.waiting) {
        (0, 0) if standing.unverified.all() > 0 => unverified(standing.unverified.all(), &name),
        (0, 0) => Idle {
            why: match is_list {
                true => format!("All items of {name} are done."),
                false => format!("{name} is already done."),
            },
            hint: reset_hint(id, has_subtasks),
            code: NOTHING_TO_DO,
        },
        (0, _) => Idle {
            why: waits(store, &task, &name)?,
            hint: "Run `ralph run` to work on the tasks that are ready.".to_owned(),
            code: NEEDS_ATTENTION,
        },
        (failed, _) => Idle {
            why: match has_subtasks {
                true => format!(
                    "{} of {name} failed, and nothing else in it is ready.",
                    count(failed as usize, "task", "tasks")
                ),
                false => format!("{name} has failed."),
            },
            hint: match has_subtasks {
                true => {
                    format!("Run `ralph task tree {id}` to see failures, `ralph task reset {id} --all` to reopen them.")
                }
                false => {
                    format!("Run `ralph task show {id}` to see what happened, or `ralph task reset {id}` to reopen it.")
                }
            },
            code: NEEDS_ATTENTION,
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
    let standing = store.scope_counts(&scope, context.project.worktree_name(), &commits_here)?;
    let tasks = store.tasks(&TaskFilter {
        which: Which::All,
        feature: Some(id),
        parent: None,
    })?;
    if standing.open > 0 {
        return Ok(None);
    }
    let show = format!("Run `ralph feature show {name}` to see its tasks, or `ralph task reset ID` to reopen one.");
    let (why, hint, code) = match (standing.failed, standing.waiting) {
        _ if tasks.is_empty() => (
            format!("The feature {name} has no tasks."),
            format!(
                "Run `ralph task import --feature {name}` to import its plan, or `ralph task add TEXT --feature \
                 {name}` to add a task."
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
            outside_dependencies(store, &tasks, &format!("The feature {name}"))?,
            "Run `ralph run` to work on the tasks that are ready.".to_owned(),
            NEEDS_ATTENTION,
        ),
        (failed, _) => {
            let failed = count(failed as usize, "task", "tasks");
            let why = format!("{failed} of the feature {name} failed, and nothing else in it is ready.");
            (why, show, NEEDS_ATTENTION)
        }
    };
    Ok(Some(Idle { why, hint, code }))
}

/// Everything is done, but some tasks need review.
fn unverified(tasks: u32, name: &str) -> Idle {
    Idle {
        why: format!(
            "Done but unverified: {} of {name}.",
            count(tasks as usize, "task", "tasks")
        ),
        hint: "Run `ralph review` to see why, and to accept or reopen tasks.".to_owned(),
        code: NEEDS_ATTENTION,
    }
}

/// The dependencies of tasks that are not among the tasks themselves.
fn outside_dependencies(store: &Store, tasks: &[Task], name: &str) -> Result<String, CommandError> {
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
        [] => format!("{name} depends on work done in another worktree whose commit is not here yet."),
        some => format!("{name} waits for {}.", some.join(", ")),
    })
}

fn reset_hint(id: &TaskId, has_subtasks: bool) -> String {
    match has_subtasks {
        true => format!("Run `ralph task tree {id}` to see its subtasks, or `ralph task reset ID` to reopen one."),
        false => format!("Run `ralph task reset {id}` to reopen it."),
    }
}

fn waits(store: &Store, task: &Task, name: &str) -> Result<String, CommandError> {
    let blockers = blockers(store, task)?;
    Ok(match blockers.as_slice() {
        [] => format!("{name} depends on work done in another worktree whose commit is not here yet."),
        some => format!("{name} waits for {}.", some.join(", ")),
    })
}
