//! What runs have done since a person last looked, in words and for programs.

use jiff::Timestamp;
use ralph_model::{TaskStatus, count, first_line, preview};
use ralph_store::{Look, Overview, Run, TaskNews};
use serde_json::{Value, json};

use super::open_runs::{RunState, at_work, sentence};
use super::titled;

/// How many tasks are named under one heading.
const NAMED: usize = 5;
/// How many columns of a title and of a reason are shown.
const TITLE_COLUMNS: usize = 60;
const REASON_COLUMNS: usize = 100;

/// What there is to say, line by line with its heading; nothing where no task and no run ever was.
pub(super) fn lines(
    overview: &Overview,
    look: Option<&Look>,
    worktree: &str,
    now: Timestamp,
) -> Vec<(&'static str, String)> {
    let mut lines = Vec::new();
    if overview.last_journal > 0 {
        lines.push(("Since", since(overview, look, now)));
    }
    lines.extend(
        overview
            .open_runs
            .iter()
            .take(NAMED)
            .map(|run| ("Run", sentence(overview, run, worktree, now))),
    );
    if let Some(run) = &overview.last_run {
        lines.push(("Run", ended_run(run, now)));
    }
    lines.extend(tasks("Done", &overview.done, "was done", "were done"));
    lines.extend(tasks("Failed", &overview.failed, "has failed", "have failed"));
    lines.extend(learned(overview).map(|learned| ("Learned", learned)));
    lines.extend(spent(overview).map(|spent| ("Spent", spent)));
    lines.extend(waiting(overview));
    lines.extend(standing(overview).map(|standing| ("Tasks", standing)));
    lines
}

fn since(overview: &Overview, look: Option<&Look>, now: Timestamp) -> String {
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
    let goal = preview(first_line(&run.begun.goal), TITLE_COLUMNS);
    let (when, why) = match &run.ended {
        Some((at, why)) => (ago(*at, now), preview(first_line(why), REASON_COLUMNS)),
        None => (String::new(), String::new()),
    };
    format!("{} ({goal}) ended {when}: {why}", run.begun.id)
}

/// A heading with a count, and the first few tasks under it.
fn tasks(title: &'static str, all: &[TaskNews], one: &str, many: &str) -> Vec<(&'static str, String)> {
    if all.is_empty() {
        return Vec::new();
    }
    let head = count(all.len(), &format!("task {one}"), &format!("tasks {many}"));
    let named = all.iter().take(NAMED).map(|task| format!("  {}", name(task)));
    let more = all.len().saturating_sub(NAMED);
    let rest = (more > 0).then(|| format!("  and {}", count(more, "other", "others")));
    titled(title, std::iter::once(head).chain(named).chain(rest))
}

fn name(task: &TaskNews) -> String {
    format!("{}  {}", task.id, preview(first_line(&task.title), TITLE_COLUMNS))
}

fn learned(overview: &Overview) -> Option<String> {
    let parts = [
        (overview.learnings, "lesson", "lessons"),
        (overview.knowledge, "long note", "long notes"),
    ];
    let said: Vec<String> = parts
        .into_iter()
        .filter(|(n, ..)| *n > 0)
        .map(|(n, one, many)| count(n as usize, one, many))
        .collect();
    (!said.is_empty()).then(|| said.join(", "))
}

fn spent(overview: &Overview) -> Option<String> {
    if overview.outcomes.is_empty() {
        return None;
    }
    let mut parts = vec![length(overview.duration_ms / 1000)];
    if overview.spent.cost_usd > 0.0 {
        parts.push(format!("${:.2}", overview.spent.cost_usd));
    }
    if overview.spent.tokens() > 0 {
        parts.push(format!("{} tokens", overview.spent.tokens()));
    }
    Some(parts.join(", "))
}

/// The tasks that wait for a person, each with what was last said about it.
fn waiting(overview: &Overview) -> Vec<(&'static str, String)> {
    let all = &overview.waiting;
    if all.is_empty() {
        return Vec::new();
    }
    let head = count(all.len(), "task waits for you", "tasks wait for you");
    let named = all.iter().take(NAMED).flat_map(|task| {
        let reason = preview(first_line(&task.reason), REASON_COLUMNS);
        let reason = (!reason.is_empty()).then(|| format!("    {reason}"));
        std::iter::once(format!("  {}", name(task))).chain(reason)
    });
    let more = all.len().saturating_sub(NAMED);
    let rest = (more > 0).then(|| {
        let others = count(more, "other", "others");
        format!("  and {others}: ralph task list --status failed")
    });
    titled("Waiting", std::iter::once(head).chain(named).chain(rest))
}

fn standing(overview: &Overview) -> Option<String> {
    let parts: Vec<String> = [
        (TaskStatus::Pending, "open"),
        (TaskStatus::InProgress, "in progress"),
        (TaskStatus::Blocked, "waiting for another"),
        (TaskStatus::Failed, "failed"),
        (TaskStatus::Done, "done"),
    ]
    .into_iter()
    .filter_map(|(status, word)| overview.tasks.get(&status).map(|n| format!("{n} {word}")))
    .collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// How long ago something was, as people say it.
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

/// How long something took.
fn length(seconds: u64) -> String {
    let (hours, minutes) = (seconds / 3600, seconds / 60 % 60);
    match (hours, minutes) {
        (0, 0) => format!("{seconds} s"),
        (0, _) => format!("{minutes} min {} s", seconds % 60),
        _ => format!("{hours} h {minutes} min"),
    }
}

/// The same for programs, all of it.
pub(super) fn as_json(overview: &Overview, now: Timestamp) -> Value {
    let news = |all: &[TaskNews]| -> Value {
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
    json!({
        "last_journal": overview.last_journal,
        "outcomes": counts(overview.outcomes.iter().map(|(outcome, n)| (outcome.word(), *n)).collect()),
        "done": news(&overview.done),
        "failed": news(&overview.failed),
        "learnings": overview.learnings,
        "knowledge": overview.knowledge,
        "cost_usd": overview.spent.cost_usd,
        "input_tokens": overview.spent.input_tokens,
        "output_tokens": overview.spent.output_tokens,
        "duration_ms": overview.duration_ms,
        "open": overview.open_runs.iter().map(|run| open_run_as_json(overview, run, now)).collect::<Value>(),
        "last": overview.last_run.as_ref().map(run_as_json),
        "waiting": news(&overview.waiting),
        "tasks": counts(overview.tasks.iter().map(|(status, n)| (status.word(), *n)).collect()),
    })
}

fn open_run_as_json(overview: &Overview, run: &Run, now: Timestamp) -> Value {
    let mut value = run_as_json(run);
    if let Some(object) = value.as_object_mut() {
        object.insert("live".to_owned(), json!(RunState::of(run, now) == RunState::Live));
        object.insert(
            "task".to_owned(),
            json!(at_work(overview, run).map(|at_work| &at_work.task)),
        );
    }
    value
}

fn run_as_json(run: &Run) -> Value {
    json!({
        "id": run.begun.id,
        "agent": run.begun.agent,
        "goal": run.begun.goal,
        "worktree": run.begun.worktree,
        "started_at": run.begun.started_at,
        "heartbeat": run.heartbeat,
        "ended_at": run.ended.as_ref().map(|(at, _)| at),
        "end_reason": run.ended.as_ref().map(|(_, why)| why),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_said_as_people_say_them() {
        let now: Timestamp = "2025-01-20T12:00:00Z".parse().unwrap();
        let said = |seconds: i64| ago(now - jiff::SignedDuration::from_secs(seconds), now);
        assert_eq!(
            [-5, 59, 60, 7199, 7200, 86_400, 200_000].map(said),
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
        assert_eq!([0, 61, 7260].map(length), ["0 s", "1 min 1 s", "2 h 1 min"]);
    }
}
