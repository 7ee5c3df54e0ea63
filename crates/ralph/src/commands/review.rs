//! `ralph review`: what waits for a person, with what can be done about it.

use clap::Args;
use ralph_model::{Learning, TaskId, count, preview};
use ralph_store::{FailedTask, Review, Store};

use super::task::in_short;
use crate::context::Context;
use crate::error::CommandError;
use crate::ui::{Style, commands};
use crate::wrap::wrapped;

/// Show what waits for you: failed tasks, and lessons that nothing has confirmed yet
///
/// A failed task is tried again once it is reset. A lesson that an agent drew from work which was not done stands in no
/// prompt but those of its own task, until another iteration teaches the same or you promote it; with
/// `[learning] promote = "review"` every lesson waits for you.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph review
  ralph review --json            # all of it, for programs")]
pub(crate) struct ReviewArgs {
    /// Write it as JSON
    #[arg(long)]
    json: bool,
}

/// How many tasks and how many lessons are shown.
const MOST_SHOWN: usize = 10;
/// How many lines of a lesson are shown.
const LESSON_LINES: usize = 3;
/// How many lines a sentence may have.
const SENTENCE_LINES: usize = 2;
/// What stands before a text, and the most and the least columns that it has.
const INDENT: &str = "    ";
const MOST_COLUMNS: usize = 100;
const LEAST_COLUMNS: usize = 20;

/// A line, and how it is set apart.
type Line = (Option<Style>, String);

pub(crate) fn cmd_review(context: &Context<'_>, args: &ReviewArgs) -> Result<(), CommandError> {
    let store = context.facts()?;
    let review = match &store {
        Some(store) => store.review()?,
        None => Review::default(),
    };
    if args.json {
        return context.ui.json(&review);
    }
    if review == Review::default() {
        return context.ui.data("Nothing waits for you.\n");
    }
    let width = context.ui.width();
    let mut lines = failed(&review.failed_tasks, width);
    if let Some(store) = &store {
        let lessons = lessons(store, &review.learnings, width)?;
        if !lines.is_empty() && !lessons.is_empty() {
            lines.push((None, String::new()));
        }
        lines.extend(lessons);
    }
    context.ui.lines(&lines)
}

fn failed(tasks: &[FailedTask], width: usize) -> Vec<Line> {
    let Some(first) = tasks.first() else {
        return Vec::new();
    };
    let columns = columns(width);
    let head = count(tasks.len(), "task has failed", "tasks have failed");
    let mut lines = vec![(Some(Style::Strong), head)];
    for task in tasks.iter().take(MOST_SHOWN) {
        lines.push((
            None,
            format!("  {}", preview(&format!("{}  {}", task.id, task.title), columns + 2)),
        ));
        let texts = [tries(task), in_short(&task.reason), held_up(&task.holds_up)];
        let texts = texts.iter().filter(|text| !text.is_empty());
        lines.extend(texts.flat_map(|text| indented(text, columns)));
    }
    if let Some(more) = tasks.len().checked_sub(MOST_SHOWN).filter(|more| *more > 0) {
        lines.push((None, format!("  and {more} more: ralph task list --status failed")));
    }
    let help = [
        (format!("ralph task show {}", first.id), "every attempt at it"),
        (format!("ralph task reset {}", first.id), "let it be tried again"),
    ];
    lines.extend(helping(&help, width));
    lines
}

/// How many columns a text has within a width.
fn columns(width: usize) -> usize {
    width.saturating_sub(INDENT.len()).clamp(LEAST_COLUMNS, MOST_COLUMNS)
}

/// A sentence on as many lines as it may have.
fn indented(text: &str, columns: usize) -> impl Iterator<Item = Line> {
    let lines = wrapped(&preview(text, columns * SENTENCE_LINES), columns).into_iter();
    lines.map(move |line| (None, format!("{INDENT}{}", preview(&line, columns))))
}

/// How often it was tried, and whether it fails in the same way each time.
fn tries(task: &FailedTask) -> String {
    let attempts = count(task.attempts as usize, "attempt", "attempts");
    let last = task.failed_attempts.last().and_then(|last| last.report.as_ref());
    let kind = last.map(|report| report.report.category.word().replace('_', " "));
    let kind = kind.map(|kind| format!(" ({kind})")).unwrap_or_default();
    match (task.attempts, task.same as usize) {
        (0, _) => "nothing was tried".to_owned(),
        (_, same @ 2..) if same == task.failed_attempts.len() => {
            format!("{attempts}, and all {same} failed the same way{kind}")
        }
        (_, same @ 2..) => format!("{attempts}, and the last {same} failed the same way{kind}"),
        _ => format!("{attempts}{kind}"),
    }
}

fn held_up(tasks: &[TaskId]) -> String {
    match tasks {
        [] => String::new(),
        [task] => format!("{task} waits for it"),
        tasks => format!("{} tasks wait for it", tasks.len()),
    }
}

fn lessons(store: &Store, learnings: &[Learning], width: usize) -> Result<Vec<Line>, CommandError> {
    let Some(first) = learnings.first() else {
        return Ok(Vec::new());
    };
    let columns = columns(width);
    let head = count(learnings.len(), "lesson waits", "lessons wait");
    let mut lines = vec![(Some(Style::Strong), head)];
    for learning in learnings.iter().take(MOST_SHOWN) {
        let head = format!("{}  {}{}", learning.id, learning.category, origin(store, learning)?);
        lines.push((None, format!("  {}", preview(&head, columns + 2))));
        let text = learning.content.lines().map(str::trim).filter(|line| !line.is_empty());
        let tags = (!learning.tags.is_empty()).then(|| format!("tags: {}", learning.tags.join(", ")));
        let text = text.take(LESSON_LINES).map(str::to_owned).chain(tags);
        lines.extend(text.map(|line| (None, format!("{INDENT}{}", preview(&line, columns)))));
    }
    if let Some(more) = learnings.len().checked_sub(MOST_SHOWN).filter(|more| *more > 0) {
        lines.push((
            None,
            format!("  and {more} more: ralph learnings list --status validated"),
        ));
    }
    let help = [
        (format!("ralph learnings promote {}", first.id), "it holds"),
        (format!("ralph learnings reject {}", first.id), "it does not"),
    ];
    lines.extend(helping(&help, width));
    Ok(lines)
}

/// Where a lesson comes from, to follow what it is about.
fn origin(store: &Store, learning: &Learning) -> Result<String, CommandError> {
    let row = learning
        .journal
        .map(|row| store.journal_row(row))
        .transpose()?
        .flatten();
    Ok(match (row, &learning.task) {
        (Some(row), _) => format!(", from {}/{} ({})", row.row.run, row.row.iteration, row.row.task_title),
        (None, Some(task)) => format!(", from {task}"),
        (None, None) => format!(", {}", learning.source),
    })
}

/// Commands that help, below what they help with.
fn helping(all: &[(String, &str)], width: usize) -> Vec<Line> {
    let lines = commands(all, width).into_iter().map(|line| (Some(Style::Faint), line));
    std::iter::once((None, String::new())).chain(lines).collect()
}
