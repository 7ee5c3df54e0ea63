//! `ralph journal show`.

use std::path::Path;
use std::time::Duration;

use clap::Args;
use ralph_model::{Evidence, JournalRow, Outcome, ReportOrigin, StopReason, count, duration};
use ralph_store::RowCaptures;
use serde::Serialize;

use super::WhichIteration;
use crate::context::Context;
use crate::error::CommandError;
use crate::ui::Style;

/// Show the details of an iteration
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph journal show                        # the last iteration
  ralph journal show 12
  ralph journal show run-1a2b3c4d/3 --json")]
pub(crate) struct ShowArgs {
    #[command(flatten)]
    which: WhichIteration,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// A journal entry with everything captured from the agent.
#[derive(Serialize)]
struct Whole {
    #[serde(flatten)]
    row: JournalRow,
    #[serde(flatten)]
    captures: RowCaptures,
}

pub(super) fn cmd_show(context: &Context<'_>, args: &ShowArgs) -> Result<(), CommandError> {
    let store = context.facts()?;
    let row = args.which.find(store.as_ref())?;
    let captures = store
        .map(|store| store.captures(row.id))
        .transpose()?
        .unwrap_or_default();
    if args.json {
        return context.ui.json(&Whole { row, captures });
    }
    let title = format!(
        "Iteration {} of {} [{}]",
        row.row.iteration, row.row.run, row.row.outcome
    );
    let mut lines = vec![(Some(Style::Strong), title)];
    let details = details(context, &row).into_iter().chain(captured(&captures));
    for (label, value) in details.filter(|(_, value)| !value.is_empty()) {
        let labels = std::iter::once(label).chain(std::iter::repeat(""));
        for (label, line) in labels.zip(value.trim_end().lines()) {
            lines.push((None, format!("{label:<LABEL$}{line}").trim_end().to_owned()));
        }
    }
    context.ui.lines(&lines)
}

const LABEL: usize = 12;

/// What confirmed or refused the work.
fn evidence(row: &ralph_model::NewJournalRow) -> String {
    match (row.outcome, row.evidence) {
        (Outcome::Done, evidence) => evidence.to_string(),
        (Outcome::Retried, Evidence::None) => String::new(),
        (Outcome::Retried, evidence) => format!("refused by {evidence}"),
        _ => String::new(),
    }
}

/// The verdict of the verifier, if the folder of the iteration has it.
fn verifier(folder: &Path) -> String {
    let result = std::fs::read(folder.join("result.json")).unwrap_or_default();
    let result: serde_json::Value = serde_json::from_slice(&result).unwrap_or_default();
    let found = &result["verification"];
    let Some(agent) = found["agent"].as_str() else {
        return String::new();
    };
    let verdict = match &found["verdict"] {
        serde_json::Value::String(_) => "passed",
        serde_json::Value::Object(_) => "refused",
        _ => "gave no verdict",
    };
    format!("{agent}: {verdict}")
}

fn details(context: &Context<'_>, row: &JournalRow) -> Vec<(&'static str, String)> {
    let JournalRow { id, row, .. } = row;
    let task = match &row.task {
        Some(task) => format!("{task} {}", row.task_title),
        None => row.task_title.clone(),
    };
    let folder = context.project.iteration_folder(&row.run, row.iteration);
    let folder = folder.path();
    let shown = context.project.shown(folder);
    let mut details = vec![
        ("journal", id.to_string()),
        ("task", format!("{task} (attempt {})", row.attempt)),
        (
            "ended",
            format!("{:.0}, {}", row.created_at, row.stop.word().replace('_', " ")),
        ),
        ("reason", row.reason.clone()),
        ("evidence", evidence(row)),
        ("verifier", verifier(folder)),
        ("model", model(row.model.as_deref(), &row.model_rationale)),
        ("duration", duration(Duration::from_millis(row.duration_ms))),
        ("used", used(row)),
        (
            "difficulty",
            row.difficulty
                .map(|difficulty| difficulty.to_string())
                .unwrap_or_default(),
        ),
        (
            "error",
            row.error_category
                .map(|category| category.to_string())
                .unwrap_or_default(),
        ),
        ("files", row.files_modified.join("\n")),
        ("notes", row.notes.clone().unwrap_or_default()),
        (
            "folder",
            if folder.is_dir() {
                shown.to_string()
            } else {
                format!("{shown} (pruned or in another worktree)")
            },
        ),
    ];
    if row.changed_nothing && row.stop == StopReason::TaskDone {
        details.push(("note", "the agent reported done, but nothing changed".to_owned()));
    }
    if row.malformed_sigils > 0 {
        let tags = count(row.malformed_sigils as usize, "tag", "tags");
        details.push(("malformed", format!("could not parse {tags}")));
    }
    details
}

/// What was captured from the agent, besides its notes.
fn captured(captures: &RowCaptures) -> Vec<(&'static str, String)> {
    let mut details = Vec::new();
    if let Some(report) = &captures.report {
        let whose = match report.origin {
            ReportOrigin::Agent => "written by the agent",
            ReportOrigin::Ralph => "written by ralph",
        };
        let signature = captures.signature.as_ref();
        let signature = signature.map(|signature| format!(", signature {signature}"));
        details.push(("report", format!("{whose}{}", signature.unwrap_or_default())));
        details.push(("tried", report.what_tried.clone()));
        details.push(("failed", report.why_failed.clone()));
        details.push(("about", report.relevant_files.join("\n")));
        let gate = report.gate.as_ref();
        let gate = gate.map(|gate| format!("{} ({})", gate.command, gate.end));
        details.push(("gate", gate.unwrap_or_default()));
        details.push(("output", report.error_output.clone().unwrap_or_default()));
    }
    details.push(("suggestion", captures.suggestion.clone().unwrap_or_default()));
    for learning in &captures.learnings {
        let tags = in_brackets(&learning.tags);
        details.push(("learned", format!("[{}] {}{tags}", learning.category, learning.content)));
    }
    for note in &captures.knowledge {
        details.push((
            "knowledge",
            format!("{}{}\n{}", note.title, in_brackets(&note.tags), note.body),
        ));
    }
    details
}

fn in_brackets(tags: &[String]) -> String {
    if tags.is_empty() {
        String::new()
    } else {
        format!(" ({})", tags.join(", "))
    }
}

fn model(name: Option<&str>, rationale: &str) -> String {
    match (name, rationale) {
        (None, "") => String::new(),
        (None, why) => format!("agent's default ({why})"),
        (Some(name), "") => name.to_owned(),
        (Some(name), why) => format!("{name} ({why})"),
    }
}

fn used(row: &ralph_model::NewJournalRow) -> String {
    let usage = &row.usage;
    let mut parts = Vec::new();
    if usage.tokens() > 0 {
        parts.push(format!(
            "{} tokens ({} read, {} written)",
            usage.tokens(),
            usage.input_tokens,
            usage.output_tokens
        ));
    }
    if usage.cost_usd > 0.0 {
        parts.push(format!("${:.4}", usage.cost_usd));
    }
    parts.join(", ")
}
