//! Renders inbox items as lines, both for the list and one by one.

use ralph_memory::learn::Conflict;
use ralph_model::{
    Denial, ErrorCategory, FailedGate, JournalRow, Learning, Task, TaskId, TaskType, Unverified, count, with_figures,
};
use ralph_store::{FailedTask, FinishedTask, Proposal};

use super::super::rollback::short_commit;
use super::super::task::{attempts_in_short, in_short};
use super::inbox::{FileProblem, MissingNote, Proposed};
use super::proposals::command_line;
use crate::denied;
use crate::ui::{Line, text_columns};
use crate::wrap::{folded, folded_within};

const SENTENCE_LINES: usize = 3;
/// The lines of each text of a failed task, so that it fits on a screen of 24 rows with all its attempts.
const LINES_OF_FAILED: usize = 2;
const MAX_DENIALS: usize = 2;
/// How many of the latest iterations that taught a learning are listed.
const MAX_ITERATIONS: usize = 3;
/// Indents of a title and of the text below it.
const TITLE: &str = "  ";
const TEXT: &str = "    ";

/// A failed task: the number of attempts, the last reason, and how each attempt failed.
pub(super) fn failed(task: &FailedTask, width: usize) -> Vec<Line> {
    let mut lines = within(&format!("{}  {}", task.id, task.title), width, (TITLE, LINES_OF_FAILED));
    for text in [tries(task), in_short(&task.reason)] {
        lines.extend(within(&text, width, (TEXT, LINES_OF_FAILED)));
    }
    let indent = TEXT.len() - TITLE.len();
    let attempts = attempts_in_short(task, width.saturating_sub(indent)).into_iter();
    lines.extend(attempts.map(|(style, line)| (style, format!("{:indent$}{line}", ""))));
    lines.extend(sentence(&dependents(&task.holds_up), width));
    lines.extend(denied(&task.denials, width));
    lines
}

fn denied(denials: &[Denial], width: usize) -> Vec<Line> {
    let denials = denials.iter().take(MAX_DENIALS);
    denials
        .flat_map(|denial| sentence(&format!("denied: {}", denied::line(denial)), width))
        .collect()
}

/// A done task: why it is unverified, its evidence, its cost, and the memory it used.
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
    parts.extend(task.usage.known_cost().map(|cost| format!("${cost:.2}")));
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

/// The number of attempts, and whether they fail the same way.
fn tries(task: &FailedTask) -> String {
    let attempts = count(task.attempts as usize, "attempt", "attempts");
    let last = task.failed_attempts.last().and_then(|last| last.report.as_ref());
    let kind = last.and_then(|kept| match kept.report.category {
        ErrorCategory::Unknown => None,
        kind => Some(format!(" ({})", kind.word().replace('_', " "))),
    });
    let kind = kind.unwrap_or_default();
    match (task.attempts, task.same as usize) {
        (0, _) => "no attempts".to_owned(),
        (_, same @ 2..) if same == task.failed_attempts.len() => {
            format!("{attempts}, and all {same} failed the same way{kind}")
        }
        (_, same @ 2..) => format!("{attempts}, and the last {same} failed the same way{kind}"),
        _ => format!("{attempts}{kind}"),
    }
}

fn dependents(tasks: &[TaskId]) -> String {
    match tasks {
        [] => String::new(),
        [task] => format!("{task} depends on it"),
        tasks => format!("{} tasks depend on it", tasks.len()),
    }
}

/// Two conflicting learnings, one below the other.
pub(crate) fn conflict(conflict: &Conflict, width: usize) -> Vec<Line> {
    let mut lines = title(&conflict.why.to_string(), width);
    for (number, learning) in [(1, &conflict.one), (2, &conflict.other)] {
        let head = format!("{number}  {}", about(learning));
        lines.extend(sentence(&head, width));
        lines.extend(words(&text_of(learning), width, "       "));
    }
    lines
}

/// A proposed learning with its full text and evidence.
pub(super) fn proposed(proposed: &Proposed, width: usize) -> Vec<Line> {
    let learning = &proposed.learning;
    let mut lines = title(&about(learning), width);
    lines.extend(words(&text_of(learning), width, TEXT));
    let tags = labelled("tags", &learning.tags.join(", "));
    lines.extend(words(&tags, width, TEXT));
    let evidence = evidence(proposed);
    lines.extend(evidence.iter().flat_map(|text| sentence(text, width)));
    lines
}

fn text_of(learning: &Learning) -> String {
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
    // The general type of work is not shown.
    let work = learning.task_type.filter(|kind| *kind != TaskType::General);
    let work = work.map(|kind| format!(", {kind}")).unwrap_or_default();
    format!("{}  {kind}{work}, confidence {:.2}", learning.id, learning.confidence)
}

/// The origin of a learning: the iterations that taught it and their outcomes, else the runs, else the source.
fn evidence(proposed: &Proposed) -> Vec<String> {
    let Proposed { learning, taught_in } = proposed;
    let earlier = taught_in.len().saturating_sub(MAX_ITERATIONS);
    let mut lines: Vec<String> = taught_in
        .iter()
        .skip(earlier)
        .map(|(row, gate)| taught_in_line(row, gate.as_ref()))
        .collect();
    if earlier > 0 {
        lines.push(format!(
            "and {}",
            count(earlier, "earlier iteration", "earlier iterations")
        ));
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

fn taught_in_line(row: &JournalRow, gate: Option<&FailedGate>) -> String {
    let row = &row.row;
    let gate = gate
        .map(|gate| format!(", gate `{}`: {}", gate.command, gate.end))
        .unwrap_or_default();
    format!(
        "from {}/{} [{}{gate}] {}",
        row.run, row.iteration, row.outcome, row.task_title
    )
}

/// A note that is missing from its file, as it last was.
pub(super) fn vanished(missing: &MissingNote, width: usize) -> Vec<Line> {
    let note = &missing.note;
    let head = format!(
        "{}  {}, {}, missing from {}",
        note.id, note.kind, note.created, missing.file
    );
    let mut lines = title(&head, width);
    lines.extend(words(&note.content, width, TEXT));
    lines.extend(words(&labelled("tags", &note.tags.to_string()), width, TEXT));
    lines
}

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

pub(super) fn proposal(proposal: &Proposal, width: usize) -> Vec<Line> {
    let mut lines = title(&format!("{}  by {}", proposal.id, proposal.author), width);
    lines.extend(words(&command_line(proposal), width, TEXT));
    let input = proposal.command.input.as_deref().unwrap_or_default();
    lines.extend(words(&labelled("input", input), width, TEXT));
    lines
}

pub(super) fn problem(problem: &FileProblem, width: usize) -> Vec<Line> {
    let FileProblem { file, line, problem } = problem;
    words(&format!("{file}:{line}: {problem}"), width, TITLE)
}

fn title(text: &str, width: usize) -> Vec<Line> {
    within(text, width, (TITLE, SENTENCE_LINES))
}

/// A sentence folded to its line limit; none if it is empty.
fn sentence(text: &str, width: usize) -> Vec<Line> {
    within(text, width, (TEXT, SENTENCE_LINES))
}

/// A text with an indent and a limit of lines.
fn within(text: &str, width: usize, (indent, most): (&str, usize)) -> Vec<Line> {
    let lines = folded_within(text, text_columns(width, indent.len()), most);
    lines
        .into_iter()
        .map(|line| (None, format!("{indent}{line}")))
        .collect()
}

fn words(text: &str, width: usize, indent: &str) -> Vec<Line> {
    let lines = folded(text, text_columns(width, indent.len()));
    lines
        .into_iter()
        .map(|line| (None, format!("{indent}{line}")))
        .collect()
}
