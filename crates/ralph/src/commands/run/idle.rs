//! A run that is asked for a task or a file with which nothing can be begun: it is said why, and no run begins.

use std::process::ExitCode;

use ralph_model::{Task, TaskId, TaskKind, count};
use ralph_store::{Scope, Store};

use crate::commands::task::{blockers, commits_of_others_here};
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

/// Why a run of this scope would do nothing; none when it would do something, or when it is not about a single task. `file`
/// is the file that the task stands for, as it was typed.
pub(super) fn idle(
    context: &Context<'_>,
    store: &Store,
    scope: &Scope,
    file: Option<&str>,
) -> Result<Option<Idle>, CommandError> {
    let Scope::Task(id) = scope else { return Ok(None) };
    let Some(task) = store.task(id)? else { return Ok(None) };
    let commits_here = commits_of_others_here(context, store)?;
    let standing = store.standing(scope, context.project.worktree_name(), &commits_here)?;
    if standing.open > 0 {
        return Ok(None);
    }
    let has_parts = !store.children(id)?.is_empty();
    let is_list = file.is_some() && task.kind == TaskKind::Once;
    let name = file.map_or_else(|| id.to_string(), str::to_owned);
    Ok(Some(match (standing.failed, standing.waiting) {
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
