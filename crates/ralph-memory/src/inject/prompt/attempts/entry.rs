//! An attempt as an entry of the section. None of its texts can be trusted.

use std::time::Duration;

use ralph_model::{Attempt, ErrorCategory, FailureReport, NewJournalRow, ReportOrigin, duration, first_line, preview};

use crate::inject::origin::Origin;
use crate::inject::prompt::journal::{files, noted_by};
use crate::inject::prompt::markdown::{code, in_item, one_line, quote};

/// Maximum width of a model name.
const MODEL: usize = 60;
/// Maximum width of a gate command and of its result.
const GATE: usize = 200;
/// Maximum width of a shortened reason.
const REASON: usize = 200;
/// Maximum length of the agent's notes, in characters.
const NOTES: usize = 500;

/// How much of an attempt is included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Detail {
    Whole,
    /// Without the program's output.
    WithoutOutput,
    /// With a shortened reason.
    Short,
    /// Without details.
    HeadingAlone,
}

pub(super) fn entry(attempt: &Attempt, detail: Detail) -> String {
    let row = &attempt.row.row;
    let model = preview(&one_line(row.model.as_deref().unwrap_or_default()), MODEL);
    let model = if model.is_empty() {
        "agent's default model"
    } else {
        &model
    };
    let mut text = format!("#### Attempt {} ({model}, {})\n", row.attempt, row.outcome);
    let report = attempt.report.as_ref().map(|kept| &kept.report);
    match (report.filter(|report| has_text(report)), detail) {
        (Some(report), Detail::Whole | Detail::WithoutOutput) => {
            push_report(&mut text, report);
            push_changed(&mut text, &row.files_modified, &report.relevant_files);
            push_item(&mut text, "Notes", &notes(row));
            push_output(&mut text, report, detail);
        }
        (_, Detail::HeadingAlone) => {}
        (Some(report), Detail::Short) => push_reason(&mut text, &report.why_failed),
        (None, _) => {
            let took = duration(Duration::from_millis(row.duration_ms));
            text.push_str(&format!(
                "- **Outcome**: {} after {took}, without a report\n",
                row.outcome
            ));
            push_reason(&mut text, &row.reason);
            push_changed(&mut text, &row.files_modified, &[]);
            push_item(&mut text, "Notes", &notes(row));
        }
    }
    text
}

/// Whether the entry covers the reason and notes that the journal entry would have.
pub(super) fn covers_all(attempt: &Attempt, detail: Detail) -> bool {
    let row = &attempt.row.row;
    let length = row.notes.as_deref().map_or(0, |notes| notes.trim().chars().count());
    let has_report = attempt.report.as_ref().is_some_and(|kept| has_text(&kept.report));
    match detail {
        Detail::Whole | Detail::WithoutOutput => length <= NOTES,
        Detail::Short if has_report => length == 0,
        Detail::Short => length <= NOTES,
        Detail::HeadingAlone => false,
    }
}

/// The agent's notes, unless they are too long.
fn notes(row: &NewJournalRow) -> String {
    let notes = row.notes.as_deref().unwrap_or_default().trim();
    if notes.chars().count() > NOTES {
        return String::new();
    }
    match in_item(notes) {
        notes if notes.is_empty() => notes,
        notes => format!("{} {notes}", noted_by(row)),
    }
}

fn has_text(report: &FailureReport) -> bool {
    let texts = [
        report.what_tried.as_str(),
        report.why_failed.as_str(),
        report.error_output.as_deref().unwrap_or_default(),
    ];
    texts.iter().any(|text| !text.trim().is_empty()) || report.gate.is_some()
}

fn push_report(text: &mut String, report: &FailureReport) {
    let tried = if report.quotes_last_message() {
        "Approach (last message)"
    } else {
        "Approach"
    };
    let is_agents = report.origin == ReportOrigin::Agent;
    let with_origin = |words: &str, is_agents: bool| match in_item(words) {
        words if is_agents && !words.is_empty() => format!("{} {words}", Origin::Agent),
        words => words,
    };
    let tried_words = with_origin(&report.what_tried, is_agents || report.quotes_last_message());
    push_item(text, tried, &tried_words);
    push_item(text, "Why it failed", &with_origin(&report.why_failed, is_agents));
    if report.category != ErrorCategory::Unknown {
        push_item(text, "Error type", report.category.word());
    }
    push_item(text, "Files", &files(&report.relevant_files));
    if let Some(gate) = &report.gate {
        let end = preview(&one_line(&gate.end), GATE);
        let end = if end.is_empty() { "refused".to_owned() } else { end };
        let command = code(&preview(&one_line(&gate.command), GATE));
        push_item(text, "Gate", &format!("{command}, {end}"));
    }
}

fn push_output(text: &mut String, report: &FailureReport, detail: Detail) {
    let output = quote(report.error_output.as_deref().unwrap_or_default());
    if detail == Detail::Whole && !output.is_empty() {
        text.push_str("\nError output:\n\n");
        text.push_str(&output);
    }
}

/// The changed files, if they differ from the reported ones.
fn push_changed(text: &mut String, changed: &[String], named: &[String]) {
    let is_same = changed.len() == named.len() && changed.iter().all(|file| named.contains(file));
    if !is_same {
        push_item(text, "Files changed", &files(changed));
    }
}

/// The first line of a reason.
fn push_reason(text: &mut String, reason: &str) {
    push_item(text, "Why it failed", &preview(&one_line(first_line(reason)), REASON));
}

fn push_item(text: &mut String, name: &str, value: &str) {
    if !value.is_empty() {
        text.push_str(&format!("- **{name}**: {value}\n"));
    }
}
