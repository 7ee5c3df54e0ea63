//! How tasks are shown in lists.

use std::collections::HashSet;

use ralph_model::{Task, TaskId, TaskLogLine, TaskStatus, preview};

use super::attempts::in_short;
use super::tree::{Placed, place};
use crate::cli::Format;
use crate::context::Context;
use crate::error::CommandError;
use crate::table::Column;

const COLUMNS: [Column; 5] = [
    Column::whole("ID"),
    Column::whole("STATUS"),
    Column::optional("PRIORITY"),
    Column::optional("PARENT"),
    Column::cut("TITLE"),
];

/// Shows tasks in a list, or the message `nothing` if there are none.
pub(super) fn list(context: &Context<'_>, tasks: &[Task], nothing: &str, format: Format) -> Result<(), CommandError> {
    match format {
        Format::Json => context.ui.json(&tasks),
        Format::Quiet => context.ui.data(&lines(tasks, |task| task.id.to_string())),
        Format::Markdown => context.ui.text(&checklist(tasks)),
        Format::Table => context.ui.list((&COLUMNS, tasks), row, ("task", "tasks"), nothing),
    }
}

/// A log entry as lines; further lines of its text are indented.
pub(super) fn log_lines(line: &TaskLogLine) -> Vec<String> {
    let at = format!("{:.0}", line.at);
    let starts = std::iter::once(at.clone()).chain(std::iter::repeat(" ".repeat(at.len())));
    starts
        .zip(line.text.lines())
        .map(|(start, text)| format!("{start}  {text}"))
        .collect()
}

/// A log entry cut to one row.
pub(super) fn log_row(line: &TaskLogLine, columns: usize) -> String {
    preview(&format!("{:.0}  {}", line.at, in_short(&line.text)), columns)
}

/// Tasks in the format that `task import` reads, with subtasks indented by two columns.
fn checklist(tasks: &[Task]) -> String {
    let listed: HashSet<&TaskId> = tasks.iter().map(|task| &task.id).collect();
    let is_top = |task: &&Task| task.parent.as_ref().is_none_or(|parent| !listed.contains(parent));
    let placed = place(tasks, tasks.iter().filter(is_top).collect());
    let lines = placed.iter().map(|Placed { depth, task, .. }| {
        let ticked = if task.status == TaskStatus::Done { 'x' } else { ' ' };
        format!("{}- [{ticked}] {}\n", "  ".repeat(*depth), task.title)
    });
    lines.collect()
}

pub(super) fn status(task: &Task) -> String {
    match &task.unverified {
        Some(_) => format!("{}, unverified", task.status),
        None => task.status.word().replace('_', " "),
    }
}

fn mark(status: TaskStatus) -> char {
    match status {
        TaskStatus::Proposed => '?',
        TaskStatus::Pending => '○',
        TaskStatus::InProgress => '▶',
        TaskStatus::Done => '✓',
        TaskStatus::Blocked => '◌',
        TaskStatus::Failed => '✗',
    }
}

/// A task with its status mark, id and title.
pub(super) fn named(task: &Task) -> String {
    let unverified = match task.unverified {
        Some(_) => format!(" ({})", status(task)),
        None => String::new(),
    };
    format!("{} {}{unverified}  {}", mark(task.status), task.id, task.title)
}

/// A task on one row, after a prefix.
pub(crate) fn task_row(before: &str, task: &Task, columns: usize) -> String {
    preview(&format!("{before}{}", named(task)), columns)
}

fn row(task: &Task) -> Vec<String> {
    let parent = task.parent.as_ref();
    vec![
        task.id.to_string(),
        status(task),
        task.priority.0.to_string(),
        parent.map(ToString::to_string).unwrap_or_default(),
        task.title.clone(),
    ]
}

fn lines(tasks: &[Task], line: impl Fn(&Task) -> String) -> String {
    tasks.iter().map(|task| line(task) + "\n").collect()
}
