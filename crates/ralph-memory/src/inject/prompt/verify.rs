//! The verifier's prompt: the task, its feature, the changes and the gates. The agent's notes and the memory are left
//! out, so that the verifier judges the work itself.

use ralph_model::{Budget, Task, Tokens, count};

use super::feature::for_verification;
use super::markdown::{fenced, one_line};
use super::section::visible;
use super::task::{named, push_description, push_parent, shortened};
use crate::inject::feature_texts::FeatureTexts;

/// The maximum size of the diff.
const DIFF: Tokens = Tokens(8000);
/// The maximum size of a gate's output.
const GATE_OUTPUT: Tokens = Tokens(300);
/// The maximum number of files.
const MAX_FILES: usize = 200;
/// The start of a file's changes in a diff.
const FILE_PREFIX: &str = "diff --git ";

const INSTRUCTIONS: &str = include_str!("texts/verify.md");

/// Work that was reported done.
#[derive(Debug, Clone, Copy)]
pub struct Finished<'a> {
    /// As it was when the work began.
    pub task: &'a Task,
    /// Whether its text was changed since.
    pub is_rewritten: bool,
    pub parent: Option<&'a Task>,
    pub feature: Option<&'a FeatureTexts>,
    /// The files changed by this attempt.
    pub files: &'a [String],
    /// The files changed only by earlier attempts.
    pub earlier_files: &'a [String],
    /// The files changed by this and earlier attempts.
    pub files_of_both: &'a [String],
    /// The unified diff of this attempt, if known.
    pub diff: Option<&'a str>,
    pub gates: &'a [GateReport<'a>],
}

#[derive(Debug, Clone, Copy)]
pub struct GateReport<'a> {
    pub command: &'a str,
    pub is_green: bool,
    pub output: &'a str,
}

#[must_use]
pub fn verification_prompt(work: &Finished<'_>) -> String {
    let parts = [
        INSTRUCTIONS.to_owned(),
        task(work),
        work.feature
            .map(|feature| for_verification(feature, work.files))
            .unwrap_or_default(),
        gates(work.gates),
        changed_files(work),
        diff(work.diff),
    ];
    let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    visible(&parts.join("\n"))
}

fn task(work: &Finished<'_>) -> String {
    let mut text = format!("## Task\n\n{}\n", named(work.task));
    push_description(&mut text, work.task);
    if work.is_rewritten {
        text.push_str(
            "\nThis is the task as it was when the work began. It was changed since, possibly by the agent that did it.\n",
        );
    }
    if let Some(parent) = work.parent {
        push_parent(&mut text, parent, "not part of this work");
    }
    text
}

fn gates(gates: &[GateReport<'_>]) -> String {
    let mut text = "## Gates\n\n".to_owned();
    if gates.is_empty() {
        text.push_str("None are configured: you are the only check of this work.\n");
        return text;
    }
    text.push_str("They ran after the work was done:\n");
    for gate in gates {
        let how = if gate.is_green {
            "passed"
        } else {
            "fails, as before the work began"
        };
        text.push_str(&format!("\n- `{}`: {how}\n", one_line(gate.command)));
        if !gate.is_green && !gate.output.trim().is_empty() {
            text.push('\n');
            text.push_str(&fenced(&shortened(gate.output, GATE_OUTPUT)));
        }
    }
    text
}

fn changed_files(work: &Finished<'_>) -> String {
    let mut text = "## Changed Files\n\n".to_owned();
    match work.files {
        [] => text.push_str("This attempt changed no file.\n"),
        files => push_names(&mut text, files),
    }
    if !work.earlier_files.is_empty() {
        text.push_str("\nEarlier attempts at the task also changed these files; their changes are still there:\n\n");
        push_names(&mut text, work.earlier_files);
    }
    if !work.files_of_both.is_empty() {
        text.push_str(
            "\nThe diff below shows only this attempt. Earlier attempts also changed these files, so it may remove their \
             changes:\n\n",
        );
        push_names(&mut text, work.files_of_both);
    }
    text
}

fn push_names(text: &mut String, files: &[String]) {
    for file in files.iter().take(MAX_FILES) {
        text.push_str(&format!("- {}\n", one_line(file)));
    }
    match files.len().saturating_sub(MAX_FILES) {
        0 => {}
        more => text.push_str(&format!("- and {more} more\n")),
    }
}

/// The changes of as many whole files as fit; if none fits, the beginning of the first.
fn diff(diff: Option<&str>) -> String {
    let heading = "## Diff\n\n";
    let Some(diff) = diff.filter(|diff| !diff.trim().is_empty()) else {
        return format!("{heading}No diff is available; read the files.\n");
    };
    let mut budget = Budget::of(DIFF);
    let (mut kept, mut left_out) = (String::new(), 0);
    let files = split_by_file(diff);
    for file in &files {
        if budget.take(file.chars().count()) {
            kept.push_str(file);
        } else {
            left_out += 1;
        }
    }
    if kept.is_empty() {
        let first = files.first().copied().unwrap_or_default();
        let lines = first.split_inclusive('\n');
        kept.extend(lines.take_while(|line| budget.take(line.chars().count())));
        let all = count(files.len(), "file", "files");
        let note = format!(
            "The diff is too long: this is the beginning of the changes to the first of {all}. Read the files.\n"
        );
        return format!("{heading}{note}\n{}", fenced(&kept));
    }
    let note = match left_out {
        0 => String::new(),
        _ => format!(
            "The diff is too long: the changes to {} of {} are left out. Read those files.\n\n",
            left_out,
            count(files.len(), "file", "files")
        ),
    };
    format!("{heading}{note}{}", fenced(&kept))
}

/// A diff, split by file.
fn split_by_file(diff: &str) -> Vec<&str> {
    let starts = diff.match_indices(FILE_PREFIX).map(|(at, _)| at);
    let starts = starts.filter(|at| *at == 0 || diff.get(..*at).is_some_and(|before| before.ends_with('\n')));
    let mut bounds: Vec<usize> = starts.collect();
    if bounds.first() != Some(&0) {
        bounds.insert(0, 0);
    }
    bounds.push(diff.len());
    bounds
        .windows(2)
        .filter_map(|pair| diff.get(*pair.first()?..*pair.last()?))
        .filter(|file| !file.is_empty())
        .collect()
}
