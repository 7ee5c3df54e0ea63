//! Results of runs since the user last looked, as text and as JSON.

use std::time::Duration;

use jiff::Timestamp;
use ralph_model::{TaskStatus, Unverified, count, duration, first_line, format_timestamp, preview};
use ralph_store::{FinishedTask, LastSeen, Overview, Pause, Run, TaskSummary};
use serde_json::{Value, json};

use super::open_runs::{RunState, current_task, sentence};
use super::titled;
use crate::commands::task::in_short;
use crate::denied;
use crate::pause_text::status_line as pause_line;

const OPEN_RUNS: usize = 2;
/// Column limits; a title and a reason each fit on a line of 80.
const GOAL_COLUMNS: usize = 24;
const TITLE_COLUMNS: usize = 58;
const REASON_COLUMNS: usize = 66;

/// The lines with their headings; `named` is how many tasks are listed under a heading. Empty without tasks and runs.
pub(super) fn lines(
    status: (&Overview, Option<&LastSeen>, Option<usize>),
    worktree: &str,
    named: usize,
    now: Timestamp,
) -> Vec<(&'static str, String)> {
    let (overview, look, conflicts) = status;
    let mut lines = Vec::new();
    if overview.last_journal > 0 {
        lines.push(("Since", since(overview, look, now)));
    }
    lines.extend(
        overview
            .open_runs
            .iter()
            .take(OPEN_RUNS)
            .map(|run| ("Run", sentence(overview, run, worktree, now))),
    );
    let pauses = overview.pauses.iter().filter_map(|pause| pause_line(pause, now));
    lines.extend(titled("Paused", pauses));
    if let Some(run) = &overview.last_run {
        lines.push(("Run", ended_run(run, now)));
    }
    let done: Vec<&TaskSummary> = overview.done.iter().collect();
    lines.extend(tasks("Done", &done, ("task was done", "tasks were done"), named));
    // Tasks that need attention are listed there, with their reasons.
    let needs_no_attention = |task: &&TaskSummary| !overview.waiting.iter().any(|waiting| waiting.id == task.id);
    let failed: Vec<&TaskSummary> = overview.failed.iter().filter(needs_no_attention).collect();
    lines.extend(tasks(
        "Failed",
        &failed,
        ("task has failed", "tasks have failed"),
        named,
    ));
    lines.extend(learned(overview).map(|learned| ("Learned", learned)));
    lines.extend(spent(overview).map(|spent| ("Spent", spent)));
    lines.extend(waiting(&overview.waiting, named));
    lines.extend(unverified(&overview.unverified, named));
    lines.extend(learnings(overview, conflicts));
    lines.extend(denied(overview, named));
    lines.extend(task_counts(overview).map(|counts| ("Tasks", counts)));
    lines
}

fn since(overview: &Overview, look: Option<&LastSeen>, now: Timestamp) -> String {
    let iterations: u32 = overview.outcomes.values().sum();
    let what = match iterations {
        0 => "nothing new".to_owned(),
        n => count(n as usize, "iteration", "iterations"),
    };
    match look {
        Some(look) => format!("you last looked, {}: {what}", ago(look.at, now)),
        None => format!("the beginning: {what}"),
    }
}

fn ended_run(run: &Run, now: Timestamp) -> String {
    let goal = preview(first_line(&run.begun.goal), GOAL_COLUMNS);
    let (when, why) = match &run.ended {
        Some(end) => (ago(end.at, now), preview(first_line(&end.sentence), REASON_COLUMNS)),
        None => (String::new(), String::new()),
    };
    format!("{} ({goal}) ended {when}: {why}", run.begun.id)
}

/// A count with a heading, and the first few tasks.
fn tasks(
    title: &'static str,
    all: &[&TaskSummary],
    (one, many): (&str, &str),
    named: usize,
) -> Vec<(&'static str, String)> {
    if all.is_empty() {
        return Vec::new();
    }
    let head = count(all.len(), one, many);
    let names = all.iter().take(named).map(|task| name(task));
    titled(title, std::iter::once(head).chain(names).chain(more(all.len(), named)))
}

/// A line with the number of tasks that are not listed.
pub(super) fn more(all: usize, named: usize) -> Option<String> {
    (named > 0 && all > named).then(|| format!("  and {} more", all - named))
}

fn name(task: &TaskSummary) -> String {
    format!("  {}  {}", task.id, preview(first_line(&task.title), TITLE_COLUMNS))
}

/// Denied tool calls, with the configuration lines that would permit them.
fn denied(overview: &Overview, named: usize) -> Vec<(&'static str, String)> {
    if overview.denials.is_empty() {
        return Vec::new();
    }
    let head = count(overview.denials.len(), "tool call was denied", "tool calls were denied");
    let shown = overview.denials.iter().take(named).flat_map(denied::lines);
    let shown = shown.map(|line| format!("  {line}"));
    let more = more(overview.denials.len(), named);
    titled("Denied", std::iter::once(head).chain(shown).chain(more))
}

fn learned(overview: &Overview) -> Option<String> {
    let parts = [
        (overview.learnings, "learning", "learnings"),
        (overview.knowledge, "knowledge entry", "knowledge entries"),
        (
            overview.agent_notes,
            "note stored by the agent",
            "notes stored by the agent",
        ),
    ];
    let counts: Vec<String> = parts
        .into_iter()
        .filter(|(n, ..)| *n > 0)
        .map(|(n, one, many)| count(n as usize, one, many))
        .collect();
    (!counts.is_empty()).then(|| counts.join(", "))
}

fn spent(overview: &Overview) -> Option<String> {
    if overview.outcomes.is_empty() {
        return None;
    }
    let mut parts = vec![duration(Duration::from_millis(overview.duration_ms))];
    if overview.spent.cost_usd > 0.0 {
        parts.push(format!("${:.2}", overview.spent.cost_usd));
    }
    if overview.spent.tokens() > 0 {
        parts.push(format!("{} tokens", overview.spent.tokens()));
    }
    let each = cost_per_accepted(overview);
    parts.extend(each.map(|cost| format!("${cost:.2} per accepted task")));
    Some(parts.join(", "))
}

/// The cost per done and verified task since the last look.
fn cost_per_accepted(overview: &Overview) -> Option<f64> {
    let is_unverified = |task: &&TaskSummary| overview.unverified.iter().any(|other| other.id == task.id);
    let accepted = overview.done.iter().filter(|task| !is_unverified(task)).count();
    overview.spent.cost_per(u32::try_from(accepted).unwrap_or(u32::MAX))
}

/// The tasks that need attention, with their latest reasons.
fn waiting(all: &[TaskSummary], named: usize) -> Vec<(&'static str, String)> {
    if all.is_empty() {
        return Vec::new();
    }
    let head = count(all.len(), "task needs your attention", "tasks need your attention");
    let names = all.iter().take(named).flat_map(|task| {
        let reason = preview(&in_short(&task.reason), REASON_COLUMNS);
        let reason = (!reason.is_empty()).then(|| format!("    {reason}"));
        std::iter::once(name(task)).chain(reason)
    });
    let more = more(all.len(), named).map(|more| format!("{more}: ralph review"));
    titled("Waiting", std::iter::once(head).chain(names).chain(more))
}

/// The done tasks that need review, with their reasons.
fn unverified(all: &[FinishedTask], named: usize) -> Vec<(&'static str, String)> {
    if all.is_empty() {
        return Vec::new();
    }
    let head = count(all.len(), "done task is unverified", "done tasks are unverified");
    let names = all.iter().take(named).flat_map(|task| {
        let name = format!("  {}  {}", task.id, preview(first_line(&task.title), TITLE_COLUMNS));
        let why = task.unverified.as_ref().map(Unverified::words).unwrap_or_default();
        [name, format!("    {}", preview(&why, REASON_COLUMNS))]
    });
    let more = more(all.len(), named).map(|more| format!("{more}: ralph review"));
    titled("Review", std::iter::once(head).chain(names).chain(more))
}

/// Counts of learnings, conflicts and proposals to review. They block nothing, so they are not listed.
fn learnings(overview: &Overview, conflicts: Option<usize>) -> Vec<(&'static str, String)> {
    let what = [
        (overview.waiting_learnings as usize, "learning", "learnings"),
        (conflicts.unwrap_or_default(), "conflict", "conflicts"),
        (overview.proposals as usize, "proposal", "proposals"),
    ];
    let all: usize = what.iter().map(|(n, ..)| n).sum();
    let what = what.into_iter().filter(|(n, ..)| *n > 0);
    let counts: Vec<String> = what.map(|(n, one, many)| count(n, one, many)).collect();
    let need = if all == 1 { "needs" } else { "need" };
    let waiting = (all > 0).then(|| format!("{} {need} review: ralph review", joined(&counts)));
    let unknown = conflicts
        .is_none()
        .then(|| "Too many learnings to check for conflicts here: ralph review".to_owned());
    let title = if overview.waiting.is_empty() { "Waiting" } else { "" };
    titled(title, waiting.into_iter().chain(unknown))
}

/// Joins a list as `a, b and c`.
fn joined(parts: &[String]) -> String {
    match parts {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

fn task_counts(overview: &Overview) -> Option<String> {
    let parts: Vec<String> = [
        (TaskStatus::Proposed, "proposed"),
        (TaskStatus::Pending, "open"),
        (TaskStatus::InProgress, "in progress"),
        (TaskStatus::Blocked, "blocked"),
        (TaskStatus::Failed, "failed"),
        (TaskStatus::Done, "done"),
    ]
    .into_iter()
    .filter_map(|(status, word)| overview.tasks.get(&status).map(|n| format!("{n} {word}")))
    .collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// How long ago something was, in the largest unit.
pub(super) fn ago(then: Timestamp, now: Timestamp) -> String {
    let seconds = now.duration_since(then).as_secs();
    match u64::try_from(seconds).unwrap_or_default() {
        0..=59 => "just now".to_owned(),
        seconds => format!("{} ago", largest_unit(seconds)),
    }
}

fn largest_unit(seconds: u64) -> String {
    let (n, one, many) = match seconds {
        0..3600 => (seconds / 60, "minute", "minutes"),
        3600..86_400 => (seconds / 3600, "hour", "hours"),
        _ => (seconds / 86_400, "day", "days"),
    };
    count(usize::try_from(n).unwrap_or(usize::MAX), one, many)
}

/// All of it as JSON.
pub(super) fn as_json(overview: &Overview, now: Timestamp) -> Value {
    let news = |all: &[TaskSummary]| -> Value {
        all.iter()
            .map(|task| {
                json!({
                    "id": task.id, "title": task.title, "reason": task.reason, "attempts": task.attempts,
                })
            })
            .collect()
    };
    let counts = |counts: Vec<(&str, u32)>| -> Value {
        let map = counts.into_iter().map(|(word, n)| (word.to_owned(), json!(n)));
        Value::Object(map.collect())
    };
    let spent = json!(overview.spent);
    json!({
        "last_journal": overview.last_journal,
        "outcomes": counts(overview.outcomes.iter().map(|(outcome, n)| (outcome.word(), *n)).collect()),
        "done": news(&overview.done),
        "failed": news(&overview.failed),
        "learnings": overview.learnings,
        "knowledge": overview.knowledge,
        "agent_notes": overview.agent_notes,
        "cost_usd": spent["cost_usd"],
        "cost_per_accepted_task": cost_per_accepted(overview),
        "input_tokens": spent["input_tokens"],
        "output_tokens": spent["output_tokens"],
        "duration_ms": overview.duration_ms,
        "open": overview.open_runs.iter().map(|run| open_run_as_json(overview, run, now)).collect::<Value>(),
        "pauses": overview.pauses.iter().filter(|pause| pause.left(now).is_some()).map(pause_as_json).collect::<Value>(),
        "last": overview.last_run.as_ref().map(run_as_json),
        "waiting": news(&overview.waiting),
        "unverified": overview.unverified,
        "to_review": overview.to_review,
        "waiting_learnings": overview.waiting_learnings,
        "proposals": overview.proposals,
        "denials": overview.denials,
        "tasks": counts(overview.tasks.iter().map(|(status, n)| (status.word(), *n)).collect()),
    })
}

fn open_run_as_json(overview: &Overview, run: &Run, now: Timestamp) -> Value {
    let mut value = run_as_json(run);
    if let Some(object) = value.as_object_mut() {
        object.insert("live".to_owned(), json!(RunState::of(run, now) == RunState::Live));
        object.insert("asks".to_owned(), json!(run.asks));
        object.insert(
            "task".to_owned(),
            json!(current_task(overview, run).map(|current| &current.task)),
        );
    }
    value
}

fn pause_as_json(pause: &Pause) -> Value {
    json!({
        "agent": pause.agent,
        "reason": pause.what.reason.word(),
        "until": format_timestamp(pause.what.until),
        "times": pause.what.times,
        "said": pause.what.said,
        "run": pause.run,
    })
}

fn run_as_json(run: &Run) -> Value {
    json!({
        "id": run.begun.id,
        "agent": run.begun.agent,
        "goal": run.begun.goal,
        "worktree": run.begun.worktree,
        "started_at": format_timestamp(run.begun.started_at),
        "heartbeat": format_timestamp(run.heartbeat),
        "ended_at": run.ended.as_ref().map(|end| format_timestamp(end.at)),
        "end_reason": run.ended.as_ref().map(|end| &end.sentence),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_use_the_largest_unit() {
        let now: Timestamp = "2025-01-20T12:00:00Z".parse().unwrap();
        let age = |seconds: i64| ago(now - jiff::SignedDuration::from_secs(seconds), now);
        assert_eq!(
            [-5, 59, 60, 7199, 7200, 86_400, 200_000].map(age),
            [
                "just now",
                "just now",
                "1 minute ago",
                "1 hour ago",
                "2 hours ago",
                "1 day ago",
                "2 days ago"
            ]
        );
    }
}
