//! `task show`: all that is known of a task.

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

/// Show all of a task: every attempt at it and how it failed, why it is not ready, its log
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph task show t-1a2b3c
  ralph task show 1a --json")]
pub(crate) struct ShowArgs {
    /// Its id, or the beginning of it
    #[arg(value_name = "ID")]
    id: String,
    /// Write it as JSON
    #[arg(long)]
    json: bool,
}

/// A task with everything around it.
#[derive(Serialize)]
struct Whole {
    #[serde(flatten)]
    task: Task,
    ready: bool,
    /// Why it is not ready; nothing when it is.
    why_not_ready: Option<String>,
    parts: Vec<TaskId>,
    /// What confirmed the work; none where the task is not done by a run.
    evidence: Option<Evidence>,
    /// The commit that holds the work; none where none has landed.
    commit: Option<String>,
    /// The branch of work that has not landed.
    branch: Option<String>,
    /// What agents were not allowed to do, the newest first.
    denials: Vec<Denial>,
    /// The attempts that failed since it was last done, the oldest first.
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
        return context.ui.json(&Whole {
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
        lines.push((Some(Style::Strong), "Parts".to_owned()));
        lines.extend(parts.iter().map(|part| (None, format!("  {}", view::named(part)))));
    }
    let attempts = Attempts::read(&store, &task)?;
    lines.extend(attempts.lines(&task, context.ui.width()));
    lines.extend(log(context, &store.task_log(&id)?, &task, &attempts));
    lines.extend(attempts.help(&task, context.ui.width()));
    context.ui.lines(&lines)
}

/// How many lines of the log stand below the attempts, which tell more of the same.
const LOG_BELOW_ATTEMPTS: usize = 3;

/// The log; below attempts, its end, where a person at a terminal gets a row of each entry.
fn log(context: &Context<'_>, all: &[TaskLogLine], task: &Task, attempts: &Attempts) -> Vec<Line> {
    const INDENT: &str = "  ";
    let most = if attempts.is_empty() {
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
    let earlier = all.len().saturating_sub(most);
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
            "commit: {commit}: `ralph diff {id}` shows it, `ralph undo {id}` reverts it"
        ));
    } else if let Some(checkout) = store.checkout_of(id)? {
        line(format!("branch: {}: `ralph diff {id}` shows it", checkout.branch));
    }
    if let Some(unverified) = &task.unverified {
        line(format!("unverified: {}", unverified.words()));
        line(format!(
            "review: `ralph task done {id}` accepts it, `ralph task reset {id}` reopens it",
            id = task.id
        ));
    }
    if let Some(parent) = task.parent.as_ref().map(|id| store.task(id)).transpose()?.flatten() {
        line(format!("part of: {}", view::named(&parent)));
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
        // The last attempt at a task that has failed for good is followed by no retry.
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

/// The commit that holds the work of a task.
fn commit_of(store: &Store, task: &TaskId) -> Result<Option<String>, CommandError> {
    let commits = store.commits_of(&RollbackTarget::Task(task.clone()))?;
    Ok(commits.into_iter().next().map(|commit| commit.commit))
}

/// What confirmed the work of a task that a run has done.
fn evidence(store: &Store, task: &Task) -> Result<Option<Evidence>, CommandError> {
    if task.status != TaskStatus::Done {
        return Ok(None);
    }
    let last = store.journal_last_counted(&task.id)?;
    let done = last.filter(|row| row.row.outcome == Outcome::Done);
    Ok(done.map(|row| row.row.evidence))
}

/// Why no run could begin with a task now; nothing when one could.
fn why_not_ready(
    context: &Context<'_>,
    store: &Store,
    task: &Task,
    parts: &[Task],
) -> Result<Option<String>, CommandError> {
    let why = match task.status {
        TaskStatus::Done => "it is done".to_owned(),
        TaskStatus::Failed if parts.is_empty() => {
            format!("it failed; `ralph task reset {}` opens it again", task.id)
        }
        TaskStatus::Proposed => format!("it is proposed; `ralph review --accept {}` accepts it", task.id),
        TaskStatus::InProgress => "a run works on it".to_owned(),
        TaskStatus::Blocked => format!("it waits for {}", blockers(store, task)?.join(", ")),
        _ if !parts.is_empty() => "its parts are what is to be done".to_owned(),
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
            "what it waits for was done in another worktree, and its commit is not here yet".to_owned()
        }
    };
    Ok(Some(why))
}
