//! `task show`: shows a task with its attempts and log.

use clap::Args;
use ralph_model::{Attempt, Denial, Evidence, Outcome, Task, TaskId, TaskLogLine, TaskStatus};
use ralph_store::{RollbackTarget, Store, TaskFilter, Which};
use serde::Serialize;

use super::attempts::Attempts;
use super::{blockers, commits_of_others_here, find_to_read, view};
use crate::commands::rollback::short_commit;
use crate::context::Context;
use crate::denied;
use crate::error::CommandError;
use crate::ui::{Line, Style};

/// Show a task with its attempts and log
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph task show t-1a2b3c
  ralph task show 1a --json")]
pub(crate) struct ShowArgs {
    /// Id, or a unique prefix
    #[arg(value_name = "ID")]
    id: String,
    /// Print as JSON
    #[arg(long)]
    json: bool,
}

/// The JSON form of a task.
#[derive(Serialize)]
struct TaskDetails {
    #[serde(flatten)]
    task: Task,
    ready: bool,
    /// None if it is ready.
    why_not_ready: Option<String>,
    parts: Vec<TaskId>,
    /// What confirmed the work; none unless a run did the task.
    evidence: Option<Evidence>,
    /// The commit with the work, once it landed.
    commit: Option<String>,
    /// The branch with work that has not landed.
    branch: Option<String>,
    /// Denied actions of agents, newest first.
    denials: Vec<Denial>,
    /// Attempts that failed since it was last done, oldest first.
    failed_attempts: Vec<Attempt>,
    log: Vec<TaskLogLine>,
}

pub(super) fn cmd_show(context: &Context<'_>, args: &ShowArgs) -> Result<(), CommandError> {
    let (store, id) = find_to_read(context, &args.id)?;
    let Some(task) = store.task(&id)? else {
        return Err(ralph_store::TaskError::Unknown { text: args.id.clone() }.into());
    };
    let parts = store.children(&id)?;
    let why_not_ready = why_not_ready(context, &store, &task, &parts)?;
    if args.json {
        return context.ui.json(&TaskDetails {
            ready: why_not_ready.is_none(),
            why_not_ready,
            parts: parts.into_iter().map(|part| part.id).collect(),
            evidence: evidence(&store, &task)?,
            commit: commit_of(&store, &id)?,
            branch: store.checkout_of(&id)?.map(|checkout| checkout.branch),
            denials: store.denials_of_task(&id)?,
            failed_attempts: store.failed_attempts(&id)?,
            log: store.task_log(&id)?,
            task,
        });
    }
    let mut lines = head(&store, &task, context.config.execution.max_retries)?;
    let ready = why_not_ready.map_or_else(|| "yes".to_owned(), |why| format!("no: {why}"));
    lines.push((None, format!("ready: {ready}")));
    if !task.description.is_empty() {
        lines.push((None, String::new()));
        lines.extend(task.description.lines().map(|line| (None, line.to_owned())));
    }
    if !task.checks.is_empty() {
        lines.push((None, String::new()));
        lines.push((Some(Style::Strong), "Checks".to_owned()));
        lines.extend(task.checks.iter().map(|check| (None, format!("  {check}"))));
    }
    let denials = store.denials_of_task(&id)?;
    if !denials.is_empty() {
        lines.push((None, String::new()));
        lines.push((Some(Style::Strong), "Denied".to_owned()));
        let denied = denials.iter().flat_map(denied::lines);
        lines.extend(denied.map(|line| (None, format!("  {line}"))));
    }
    if !parts.is_empty() {
        lines.push((None, String::new()));
        lines.push((Some(Style::Strong), "Subtasks".to_owned()));
        lines.extend(parts.iter().map(|part| (None, format!("  {}", view::named(part)))));
    }
    let attempts = Attempts::read(&store, &task)?;
    lines.extend(attempts.lines(&task, context.ui.width()));
    lines.extend(log(context, &store.task_log(&id)?, &task, &attempts));
    lines.extend(attempts.help(&task, context.ui.width()));
    context.ui.lines(&lines)
}

/// Log entries shown below the attempts, which repeat much of the log.
const LOG_BELOW_ATTEMPTS: usize = 3;

/// The log; only its end if there are attempts, with one row per entry on a terminal.
fn log(context: &Context<'_>, all: &[TaskLogLine], task: &Task, attempts: &Attempts) -> Vec<Line> {
    const INDENT: &str = "  ";
    let limit = if attempts.is_empty() {
        usize::MAX
    } else {
        LOG_BELOW_ATTEMPTS
    };
    let on_rows = |entry: &TaskLogLine| -> Vec<String> {
        match !attempts.is_empty() && context.ui.is_terminal() {
            true => vec![view::log_row(entry, context.ui.width().saturating_sub(INDENT.len()))],
            false => view::log_lines(entry),
        }
    };
    let earlier = all.len().saturating_sub(limit);
    let mut lines = vec![(None, String::new()), (Some(Style::Strong), "Log".to_owned())];
    if earlier > 0 {
        let before = format!("{INDENT}{earlier} earlier: ralph task log {}", task.id);
        lines.push((Some(Style::Faint), before));
    }
    let shown = all.iter().skip(earlier).flat_map(on_rows);
    lines.extend(shown.map(|line| (None, format!("{INDENT}{line}"))));
    lines
}

fn head(store: &Store, task: &Task, max_retries: u32) -> Result<Vec<Line>, CommandError> {
    let mut lines = vec![
        (Some(Style::Strong), format!("{}  {}", task.id, task.title)),
        (None, format!("status: {}", view::status(task))),
        (None, format!("priority: {}", task.priority.0)),
    ];
    let mut line = |text: String| lines.push((None, text));
    if let Some(evidence) = evidence(store, task)? {
        line(format!("evidence: {evidence}"));
    }
    let id = &task.id;
    if let Some(commit) = commit_of(store, id)? {
        let commit = short_commit(&commit);
        line(format!(
            "commit: {commit}: see `ralph diff {id}`, revert with `ralph undo {id}`"
        ));
    } else if let Some(checkout) = store.checkout_of(id)? {
        line(format!("branch: {}: see `ralph diff {id}`", checkout.branch));
    }
    if let Some(unverified) = &task.unverified {
        line(format!("unverified: {}", unverified.words()));
        line(format!(
            "review: accept with `ralph task done {id}`, reopen with `ralph task reset {id}`",
            id = task.id
        ));
    }
    if let Some(parent) = task.parent.as_ref().map(|id| store.task(id)).transpose()?.flatten() {
        line(format!("parent: {}", view::named(&parent)));
    }
    if let Some(feature) = task
        .feature
        .as_ref()
        .map(|id| store.feature_of_id(id))
        .transpose()?
        .flatten()
    {
        line(format!("feature: {} ({})", feature.name, feature.id));
    }
    for id in &task.after {
        if let Some(other) = store.task(id)? {
            line(format!("after: {}", view::named(&other)));
        }
    }
    for id in store.waiting_for(&task.id)? {
        if let Some(other) = store.task(&id)? {
            line(format!("before: {}", view::named(&other)));
        }
    }
    if task.attempts > 0 {
        // The last attempt at a failed task is not followed by a retry.
        let max_retries = task.max_retries.unwrap_or(max_retries);
        let (all, used) = (task.attempts, task.retries_used.min(max_retries));
        line(format!("attempts: {all}, retries used: {used} of {max_retries}"));
    }
    if let Some(run) = &task.claimed_by {
        line(format!("claimed by: {run}"));
    }
    line(format!("created: {:.0}", task.created_at));
    line(format!("updated: {:.0}", task.updated_at));
    Ok(lines)
}

/// The commit with the work of a task.
fn commit_of(store: &Store, task: &TaskId) -> Result<Option<String>, CommandError> {
    let commits = store.commits_of(&RollbackTarget::Task(task.clone()))?;
    Ok(commits.into_iter().next().map(|commit| commit.commit))
}

/// What confirmed the work, if a run did the task.
fn evidence(store: &Store, task: &Task) -> Result<Option<Evidence>, CommandError> {
    if task.status != TaskStatus::Done {
        return Ok(None);
    }
    let last = store.journal_last_counted(&task.id)?;
    let done = last.filter(|row| row.row.outcome == Outcome::Done);
    Ok(done.map(|row| row.row.evidence))
}

/// Why no run could start the task now; none if one could.
fn why_not_ready(
    context: &Context<'_>,
    store: &Store,
    task: &Task,
    parts: &[Task],
) -> Result<Option<String>, CommandError> {
    let why = match task.status {
        TaskStatus::Done => "it is done".to_owned(),
        TaskStatus::Failed if parts.is_empty() => {
            format!("it failed; reopen with `ralph task reset {}`", task.id)
        }
        TaskStatus::Proposed => format!("it is proposed; accept with `ralph review --accept {}`", task.id),
        TaskStatus::InProgress => "a run is working on it".to_owned(),
        TaskStatus::Blocked => format!("it depends on {}", blockers(store, task)?.join(", ")),
        _ if !parts.is_empty() => "its subtasks are done instead".to_owned(),
        TaskStatus::Pending | TaskStatus::Failed => {
            let commits_here = commits_of_others_here(context, store)?;
            let ready = store.tasks(&TaskFilter {
                which: Which::Ready {
                    worktree: context.project.worktree_name(),
                    commits_here: &commits_here,
                },
                parent: task.parent.as_ref(),
                feature: None,
            })?;
            if ready.iter().any(|other| other.id == task.id) {
                return Ok(None);
            }
            "a dependency was done in another worktree, and its commit is not here yet".to_owned()
        }
    };
    Ok(Some(why))
}
