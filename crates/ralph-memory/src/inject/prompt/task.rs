//! `## Assigned Task` and `## Retry Information`.

use std::collections::HashSet;

use ralph_model::{Budget, Guidance, Task, TaskKind, Tokens, first_line, preview, split_guidance};
use ralph_notes::normalise_line_breaks;

use super::PromptRequest;
use super::attempts::OutputAbove;
use super::markdown::{fenced, one_line, quote};
use super::section::Section;
use crate::inject::tail::tail;

/// The maximum size of a reason; of longer ones the end is the most useful.
const REASON: Tokens = Tokens(500);
/// The maximum length of a long reason's first line, in characters.
const FIRST_LINE: usize = 200;

/// Information for agents that work in a checkout.
const IN_CHECKOUT: &str = "\nThis folder is a checkout of the project for this task alone. ralph commits your changes and lands them when the \
                           task is done; do not push or switch branches.\n";

pub(super) fn assigned(request: &PromptRequest<'_>) -> Section {
    let task = request.task;
    let mut text = format!("## Assigned Task\n\n{}\n", named(task));
    push_description(&mut text, task);
    if let Some(parent) = request.parent {
        push_parent(&mut text, parent, "not yours to do");
    }
    if !request.prerequisites.is_empty() {
        text.push_str("\nCompleted prerequisites:\n\n");
        for done in request.prerequisites {
            text.push_str(&format!("- {}\n", named(done)));
        }
    }
    if request.in_checkout {
        text.push_str(IN_CHECKOUT);
    }
    push_gates(&mut text, request);
    Section {
        heading: "Assigned Task",
        text,
        ..Section::default()
    }
}

/// The attempt number and why the last attempt failed, without repeating program output.
pub(super) fn retry(request: &PromptRequest<'_>, above: Option<OutputAbove<'_>>) -> Section {
    let mut section = Section {
        heading: "Retry Information",
        ..Section::default()
    };
    let attempt = request.attempt;
    if attempt.number <= 1 && request.last_reason.is_none() {
        return section;
    }
    let mut text = "## Retry Information\n".to_owned();
    // A prompt loop has unlimited attempts.
    if request.task.kind == TaskKind::Once {
        text.push_str(&format!("\nThis is attempt {attempt}.\n"));
    }
    if let Some(reason) = request.last_reason {
        text.push_str("\nWhy the last attempt did not succeed:\n\n");
        match above.filter(|above| is_covered_by(above, reason)) {
            Some(OutputAbove { attempt, .. }) => {
                text.push_str(&quote(&preview(&without_colon(first_line(reason)), FIRST_LINE)));
                text.push_str(&format!("\nThe output is above, under attempt {attempt}.\n"));
            }
            None => text.push_str(&quote(&shortened(reason, REASON))),
        }
    }
    section.text = text;
    section
}

/// An introducing line as a sentence of its own.
pub(super) fn without_colon(line: &str) -> String {
    match line.trim_end().strip_suffix(':') {
        Some(sentence) => format!("{sentence}."),
        None => line.to_owned(),
    }
}

/// Whether everything after a reason's first line is part of the output above. A single line may match by chance.
fn is_covered_by(above: &OutputAbove<'_>, reason: &str) -> bool {
    let lines = |text| str::lines(text).map(str::trim).filter(|line| !line.is_empty());
    let printed: HashSet<&str> = lines(above.text).collect();
    let mut further = lines(reason).skip(1).peekable();
    further.peek().is_some() && further.all(|line| printed.contains(line))
}

pub(super) fn named(task: &Task) -> String {
    format!("**{}** ({})", one_line(&task.title), task.id)
}

/// The parent task, and whose its other subtasks are.
pub(super) fn push_parent(text: &mut String, parent: &Task, others: &str) {
    let mut about = String::new();
    push_description(&mut about, parent);
    let end = if about.is_empty() { '.' } else { ':' };
    let parent = named(parent);
    text.push_str(&format!(
        "\nIt is a subtask of {parent}, whose other subtasks are {others}{end}\n{about}"
    ));
}

pub(super) fn push_description(text: &mut String, task: &Task) {
    let description = normalise_line_breaks(&task.description);
    let (description, guidance) = split_guidance(&description);
    if !description.trim().is_empty() {
        text.push('\n');
        text.push_str(&fenced(description.trim_end()));
    }
    for guidance in guidance {
        let Guidance { at, text: instruction } = guidance;
        text.push_str(&format!("\nGuidance from the user, given on {at} UTC. Follow it:\n\n"));
        text.push_str(&fenced(instruction));
    }
}

fn push_gates(text: &mut String, request: &PromptRequest<'_>) {
    if !request.task.checks.is_empty() {
        text.push_str("\nChecks: this task is done only when these commands pass:\n\n");
        text.push_str(&fenced(&request.task.checks.join("\n")));
    }
    if !request.gates.is_empty() {
        text.push_str("\nGates: run these before you report the task done; they must pass:\n\n");
        text.push_str(&fenced(&request.gates.join("\n")));
    }
    if !request.red_gates.is_empty() {
        text.push_str("\nThese gates already failed before the run. Only new failures count against you:\n\n");
        text.push_str(&fenced(&request.red_gates.join("\n")));
    }
    if !request.broken_gates.is_empty() {
        text.push_str("\nThese gates fail because of earlier attempts. They must pass before your task is done:\n\n");
        let gates = request.broken_gates.iter();
        let gates: Vec<String> = gates
            .map(|gate| format!("{}    # since {}", gate.command, gate.since))
            .collect();
        text.push_str(&fenced(&gates.join("\n")));
    }
}

/// The reason or, if it is too long, its first line and its end.
pub(super) fn shortened(reason: &str, most: Tokens) -> String {
    let reason = normalise_line_breaks(reason);
    let reason = reason.trim_end();
    if Budget::of(most).take(reason.chars().count()) {
        return reason.to_owned();
    }
    let first = preview(first_line(reason), FIRST_LINE);
    format!("{first}\n{}", tail(reason, Budget::of(most)).text)
}
