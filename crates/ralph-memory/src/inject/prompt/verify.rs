//! The prompt of a session that looks at finished work: the task, its feature, what changed, what the gates say. What the agent noted,
//! and what memory holds, is not in it: whoever looks should see the work as it is.

use ralph_model::{Budget, Task, Tokens, count};

use super::feature::around_finished_work;
use super::markdown::{fenced, one_line};
use super::section::visible;
use super::task::{named, push_description, push_parent, shortened};
use crate::inject::feature_texts::FeatureTexts;

/// The most of a diff that stands in the prompt.
const DIFF: Tokens = Tokens(8000);
/// The most of what a gate printed.
const GATE_OUTPUT: Tokens = Tokens(300);
/// How many files are named.
const MOST_FILES: usize = 200;
/// How the changes of a file begin in a diff.
const FILE_BEGINS: &str = "diff --git ";

const INSTRUCTIONS: &str = include_str!("texts/verify.md");

/// Work that is said to be finished.
#[derive(Debug, Clone, Copy)]
pub struct Finished<'a> {
    /// The task, as it was when the work began.
    pub task: &'a Task,
    /// Whether its text has been changed since.
    pub is_rewritten: bool,
    /// The task that it is a part of.
    pub parent: Option<&'a Task>,
    /// What is written about the task's feature.
    pub feature: Option<&'a FeatureTexts>,
    /// The files that this attempt changed.
    pub files: &'a [String],
    /// The files that only earlier attempts at it changed.
    pub earlier_files: &'a [String],
    /// Those of this attempt's that earlier ones changed, too.
    pub files_of_both: &'a [String],
    /// What this attempt changed, as a unified diff; none where nobody can tell.
    pub diff: Option<&'a str>,
    /// What the gates say.
    pub gates: &'a [GateWord<'a>],
}

/// What a gate says.
#[derive(Debug, Clone, Copy)]
pub struct GateWord<'a> {
    /// Its command.
    pub command: &'a str,
    /// Whether it passed.
    pub is_green: bool,
    /// What it printed.
    pub output: &'a str,
}

/// The prompt of a session that looks at finished work.
#[must_use]
pub fn verification_prompt(work: &Finished<'_>) -> String {
    let parts = [
        INSTRUCTIONS.to_owned(),
        task(work),
        work.feature
            .map(|feature| around_finished_work(feature, work.files))
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
            "\nThis is what the task said when the work began. It says something else by now: somebody, maybe whoever did \
             the work, has changed it since.\n",
        );
    }
    if let Some(parent) = work.parent {
        push_parent(&mut text, parent, "other tasks");
    }
    text
}

fn gates(gates: &[GateWord<'_>]) -> String {
    let mut text = "## Gates\n\n".to_owned();
    if gates.is_empty() {
        text.push_str("None is configured: nothing but you looks at this work.\n");
        return text;
    }
    text.push_str("They ran after the work was done:\n");
    for gate in gates {
        let how = if gate.is_green {
            "passed"
        } else {
            "red, as it was before the work began"
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
        text.push_str("\nEarlier attempts at the task, whose changes are still there, also changed:\n\n");
        push_names(&mut text, work.earlier_files);
    }
    if !work.files_of_both.is_empty() {
        text.push_str(
            "\nThe diff below shows this attempt alone. Earlier attempts at the task changed these files, too, so what it \
             removes may be theirs:\n\n",
        );
        push_names(&mut text, work.files_of_both);
    }
    text
}

fn push_names(text: &mut String, files: &[String]) {
    for file in files.iter().take(MOST_FILES) {
        text.push_str(&format!("- {}\n", one_line(file)));
    }
    match files.len().saturating_sub(MOST_FILES) {
        0 => {}
        more => text.push_str(&format!("- and {more} more\n")),
    }
}

/// The changes of as many files as there is room for, each of them whole; only where there is room for none the beginning of
/// the first.
fn diff(diff: Option<&str>) -> String {
    let heading = "## Diff\n\n";
    let Some(diff) = diff.filter(|diff| !diff.trim().is_empty()) else {
        return format!("{heading}There is none to show; read the files.\n");
    };
    let mut budget = Budget::of(DIFF);
    let (mut kept, mut left_out) = (String::new(), 0);
    let files = of_each_file(diff);
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
        let note =
            format!("It is too long: this is the beginning of what changed in the first of {all}. Read the files.\n");
        return format!("{heading}{note}\n{}", fenced(&kept));
    }
    let note = match left_out {
        0 => String::new(),
        _ => format!(
            "It is too long: what changed in {} of {} is left out. Read those.\n\n",
            left_out,
            count(files.len(), "file", "files")
        ),
    };
    format!("{heading}{note}{}", fenced(&kept))
}

/// A diff, file by file.
fn of_each_file(diff: &str) -> Vec<&str> {
    let starts = diff.match_indices(FILE_BEGINS).map(|(at, _)| at);
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
