//! What waits, in words: each thing as lines, the same in the list and one by one.

use ralph_memory::learn::Conflict;
use ralph_model::{
    Denial, ErrorCategory, FailedGate, JournalRow, Learning, Task, TaskId, TaskType, Unverified, count, with_figures,
};
use ralph_store::{FailedTask, FinishedTask, Proposal};

use super::super::rollback::short_commit;
use super::super::task::{attempts_in_short, in_short};
use super::inbox::{FileProblem, GoneNote, Proposed};
use super::proposals::command_line;
use crate::denied;
use crate::ui::{Line, text_columns};
use crate::wrap::{folded, folded_within};

/// How many lines a sentence may have.
const SENTENCE_LINES: usize = 3;
/// How many each of a failed task may have: with all its attempts it stands on a screen of 24.
const LINES_OF_FAILED: usize = 2;
/// How many denials of a task are shown.
const MOST_DENIALS: usize = 2;
/// How many iterations are named that told a lesson, the last ones.
const MOST_TOLD: usize = 3;
/// What stands before a title, and before a text below it.
const TITLE: &str = "  ";
const TEXT: &str = "    ";

/// A failed task: how often it was tried, what was said last, and how each attempt failed.
pub(super) fn failed(task: &FailedTask, width: usize) -> Vec<Line> {
    let mut lines = within(&format!("{}  {}", task.id, task.title), width, (TITLE, LINES_OF_FAILED));
    for text in [tries(task), in_short(&task.reason)] {
        lines.extend(within(&text, width, (TEXT, LINES_OF_FAILED)));
    }
    let indent = TEXT.len() - TITLE.len();
    let attempts = attempts_in_short(task, width.saturating_sub(indent)).into_iter();
    lines.extend(attempts.map(|(style, line)| (style, format!("{:indent$}{line}", ""))));
    lines.extend(sentence(&held_up(&task.holds_up), width));
    lines.extend(denied(&task.denials, width));
    lines
}

fn denied(denials: &[Denial], width: usize) -> Vec<Line> {
    let denials = denials.iter().take(MOST_DENIALS);
    denials
        .flat_map(|denial| sentence(&format!("denied: {}", denied::line(denial)), width))
        .collect()
}

/// A done task: why it is unverified, what confirmed the work, what it cost, and which memory it used.
pub(super) fn finished(task: &FinishedTask, width: usize) -> Vec<Line> {
    let mut lines = within(&format!("{}  {}", task.id, task.title), width, (TITLE, LINES_OF_FAILED));
    if let Some(unverified) = &task.unverified {
        lines.extend(sentence(&unverified.words(), width));
        if matches!(unverified, Unverified::EvidenceChanged(_)) {
            lines.extend(sentence("tasks that depend on it wait for your review", width));
        }
    }
    let mut parts = vec![format!("evidence: {}", task.evidence)];
    parts.extend(
        task.commit
            .as_deref()
            .map(|commit| format!("commit {}", short_commit(commit))),
    );
    parts.push(count(task.attempts as usize, "attempt", "attempts"));
    parts.extend(task.usage.told_cost().map(|cost| format!("${cost:.2}")));
    let tokens = task.usage.input_tokens.saturating_add(task.usage.output_tokens);
    parts.extend((tokens > 0).then(|| format!("{tokens} tokens")));
    lines.extend(sentence(&parts.join(", "), width));
    lines.extend(sentence(&labelled("memory used", &task.memory_used.join(", ")), width));
    lines.extend(denied(&task.denials, width));
    lines
}

fn labelled(label: &str, text: &str) -> String {
    match text {
        "" => String::new(),
        text => format!("{label}: {text}"),
    }
}

/// How often it was tried, and whether it fails in the same way each time.
fn tries(task: &FailedTask) -> String {
    let attempts = count(task.attempts as usize, "attempt", "attempts");
    let last = task.failed_attempts.last().and_then(|last| last.report.as_ref());
    let kind = last.and_then(|kept| match kept.report.category {
        // It would say nothing.
        ErrorCategory::Unknown => None,
        kind => Some(format!(" ({})", kind.word().replace('_', " "))),
    });
    let kind = kind.unwrap_or_default();
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

/// Two lessons that contradict each other, the second below the first.
pub(crate) fn conflict(conflict: &Conflict, width: usize) -> Vec<Line> {
    let mut lines = title(&conflict.why.to_string(), width);
    for (number, learning) in [(1, &conflict.one), (2, &conflict.other)] {
        let head = format!("{number}  {}", about(learning));
        lines.extend(sentence(&head, width));
        lines.extend(words(&said(learning), width, "       "));
    }
    lines
}

/// A lesson that waits, whole, with what speaks for it.
pub(super) fn proposed(proposed: &Proposed, width: usize) -> Vec<Line> {
    let learning = &proposed.learning;
    let mut lines = title(&about(learning), width);
    lines.extend(words(&said(learning), width, TEXT));
    let tags = labelled("tags", &learning.tags.join(", "));
    lines.extend(words(&tags, width, TEXT));
    let evidence = evidence(proposed);
    lines.extend(evidence.iter().flat_map(|text| sentence(text, width)));
    lines
}

/// What a lesson says.
fn said(learning: &Learning) -> String {
    if !learning.has_text() {
        return "(no text)".to_owned();
    }
    with_figures(&learning.content, learning.facts.as_ref())
}

fn about(learning: &Learning) -> String {
    let kind = match learning.category.as_str() {
        "" => learning.kind.word(),
        category => category,
    };
    // Of what is good for every kind of work nothing more is said.
    let work = learning.task_type.filter(|kind| *kind != TaskType::General);
    let work = work.map(|kind| format!(", {kind}")).unwrap_or_default();
    format!("{}  {kind}{work}, confidence {:.2}", learning.id, learning.confidence)
}

/// Where a lesson comes from: the iterations that told it and how they ended, else the runs, else who said it.
fn evidence(proposed: &Proposed) -> Vec<String> {
    let Proposed { learning, told } = proposed;
    let earlier = told.len().saturating_sub(MOST_TOLD);
    let mut lines: Vec<String> = told
        .iter()
        .skip(earlier)
        .map(|(row, gate)| told_in(row, gate.as_ref()))
        .collect();
    if earlier > 0 {
        lines.push(format!("and {} before", count(earlier, "iteration", "iterations")));
    }
    if !lines.is_empty() {
        return lines;
    }
    match (learning.source_loops.as_slice(), &learning.task) {
        ([], Some(task)) => vec![format!("from {task}")],
        ([], None) => vec![format!("source: {}", learning.source)],
        (runs, _) => vec![format!("{}, from {}", learning.source, runs.join(", "))],
    }
}

fn told_in(row: &JournalRow, gate: Option<&FailedGate>) -> String {
    let row = &row.row;
    let gate = gate
        .map(|gate| format!(", gate `{}`: {}", gate.command, gate.end))
        .unwrap_or_default();
    format!(
        "from {}/{} [{}{gate}] {}",
        row.run, row.iteration, row.outcome, row.task_title
    )
}

/// A note that is gone from its file, as it last was.
pub(super) fn vanished(gone: &GoneNote, width: usize) -> Vec<Line> {
    let note = &gone.note;
    let head = format!("{}  {}, {}, gone from {}", note.id, note.kind, note.created, gone.file);
    let mut lines = title(&head, width);
    lines.extend(words(&note.content, width, TEXT));
    lines.extend(words(&labelled("tags", &note.tags.to_string()), width, TEXT));
    lines
}

/// A task that an agent proposes.
pub(super) fn proposed_task(task: &Task, width: usize) -> Vec<Line> {
    let mut lines = title(&format!("{}  {}", task.id, task.title), width);
    lines.extend(words(&task.description, width, TEXT));
    let proposal = task.proposal.clone().unwrap_or_default();
    let parent = proposal.parent.map_or(String::new(), |parent| parent.to_string());
    let after: Vec<&str> = proposal.after.iter().map(TaskId::as_str).collect();
    for (label, text) in [("subtask of", parent), ("depends on", after.join(", "))] {
        lines.extend(sentence(&labelled(label, &text), width));
    }
    lines
}

/// A command that an agent proposes.
pub(super) fn proposal(proposal: &Proposal, width: usize) -> Vec<Line> {
    let mut lines = title(&format!("{}  by {}", proposal.id, proposal.author), width);
    lines.extend(words(&command_line(proposal), width, TEXT));
    let input = proposal.command.input.as_deref().unwrap_or_default();
    lines.extend(words(&labelled("input", input), width, TEXT));
    lines
}

/// An entry that cannot be read.
pub(super) fn problem(problem: &FileProblem, width: usize) -> Vec<Line> {
    let FileProblem { file, line, problem } = problem;
    words(&format!("{file}:{line}: {problem}"), width, TITLE)
}

/// The line that names what waits.
fn title(text: &str, width: usize) -> Vec<Line> {
    within(text, width, (TITLE, SENTENCE_LINES))
}

/// A sentence on as many lines as it may have; none for an empty one.
fn sentence(text: &str, width: usize) -> Vec<Line> {
    within(text, width, (TEXT, SENTENCE_LINES))
}

/// A text behind an indent, on so many lines at most.
fn within(text: &str, width: usize, (indent, most): (&str, usize)) -> Vec<Line> {
    let lines = folded_within(text, text_columns(width, indent.len()), most);
    lines
        .into_iter()
        .map(|line| (None, format!("{indent}{line}")))
        .collect()
}

/// All of a text.
fn words(text: &str, width: usize, indent: &str) -> Vec<Line> {
    let lines = folded(text, text_columns(width, indent.len()));
    lines
        .into_iter()
        .map(|line| (None, format!("{indent}{line}")))
        .collect()
}
