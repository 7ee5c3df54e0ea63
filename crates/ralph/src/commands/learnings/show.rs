//! `learnings show`: shows one learning with its evidence and earlier versions.

use clap::Args;
use ralph_model::{
    JournalRow, Learning, LearningKind, count, display_width, format_timestamp, whole_percent, with_figures,
};
use ralph_store::{LearningError, LearningEvidence, LearningVersion, Showing};
use serde::Serialize;
use serde_json::{Value, json};

use super::super::journal::what;
use super::super::task::in_short;
use super::view::why_in_no_prompt;
use crate::context::Context;
use crate::error::CommandError;
use crate::ui::Style;
use crate::wrap::wrapped;

/// How many of the latest iterations that got it are listed; JSON has all.
const LISTED: usize = 10;
/// Width of the labels.
const LABEL: usize = 12;
/// The least width of the values, however narrow the terminal is.
const MIN_VALUE_WIDTH: usize = 20;

/// Show a learning with its evidence and uses
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph learnings show learn-1a2b3c4d
  ralph learnings show 1a2b --json")]
pub(crate) struct ShowArgs {
    /// Id, or a unique prefix
    #[arg(value_name = "ID")]
    id: String,
    /// Print as JSON
    #[arg(long)]
    json: bool,
}

/// The JSON form: a learning with its evidence.
#[derive(Serialize)]
struct Whole {
    #[serde(flatten)]
    learning: Learning,
    /// None if it can be injected.
    why_in_no_prompt: Option<String>,
    taught_in: Vec<Value>,
    shown_in: Vec<Value>,
    earlier: Vec<LearningVersion>,
}

pub(super) fn cmd_show(context: &Context<'_>, args: &ShowArgs) -> Result<(), CommandError> {
    let unknown = || LearningError::Unknown { text: args.id.clone() };
    let store = context.facts()?.ok_or_else(unknown)?;
    let id = store.find_learning(&args.id)?;
    let learning = store.learning(&id)?.ok_or_else(unknown)?;
    let evidence = store.learning_evidence(&id)?;
    let earlier = store.learning_versions(&id)?;
    if args.json {
        return context.ui.json(&Whole {
            why_in_no_prompt: why_in_no_prompt(&learning),
            learning,
            taught_in: evidence.taught.iter().map(iteration_as_json).collect(),
            shown_in: evidence.shown.iter().map(shown_object).collect(),
            earlier,
        });
    }
    let status = match &learning.superseded_by {
        Some(other) if learning.is_superseded() => format!("superseded by {other}"),
        _ => learning.status.to_string(),
    };
    let title = format!("{} [{status}]", learning.id);
    let mut lines = vec![(Some(Style::Strong), title)];
    for (label, value) in details(&learning).into_iter().filter(|(_, value)| !value.is_empty()) {
        let labels = std::iter::once(label).chain(std::iter::repeat(""));
        for (label, line) in labels.zip(value.trim_end().lines().flat_map(|line| fit_value(context, line))) {
            lines.push((None, format!("{label:<LABEL$}{line}").trim_end().to_owned()));
        }
    }
    lines.extend(evidence_lines(&evidence));
    if !earlier.is_empty() {
        lines.push((None, String::new()));
        lines.push((Some(Style::Strong), "Earlier".to_owned()));
        lines.extend(
            earlier
                .iter()
                .map(|version| (None, format!("  {}", version_line(version)))),
        );
    }
    context.ui.lines(&lines)
}

/// Wraps a line of a value next to the labels on a terminal; other output gets it whole.
fn fit_value(context: &Context<'_>, line: &str) -> Vec<String> {
    let room = context.ui.width().saturating_sub(LABEL).max(MIN_VALUE_WIDTH);
    if !context.ui.is_terminal() || display_width(line) <= room {
        return vec![line.to_owned()];
    }
    wrapped(line, room)
}

fn details(learning: &Learning) -> Vec<(&'static str, String)> {
    let mut details = vec![
        ("learned", with_figures(&learning.content, learning.facts.as_ref())),
        ("category", kind_of(&learning.category, learning.kind)),
        ("tags", learning.tags.join(", ")),
        (
            "task type",
            learning.task_type.map(|kind| kind.to_string()).unwrap_or_default(),
        ),
        (
            "task",
            learning.task.as_ref().map(ToString::to_string).unwrap_or_default(),
        ),
        ("source", learning.source.to_string()),
        ("runs", learning.source_loops.join(", ")),
        ("confidence", format!("{:.2}", learning.confidence)),
        ("success", success(learning)),
        ("shown", uses(learning)),
        ("in prompts", in_prompts(learning)),
        (
            "last shown",
            learning.last_used_at.map(|at| format!("{at:.0}")).unwrap_or_default(),
        ),
        ("created", format!("{:.0}", learning.created_at)),
        ("changed", format!("{:.0}", learning.updated_at)),
        ("reason", learning.reason.clone().unwrap_or_default()),
        (
            "instead",
            learning
                .superseded_by
                .as_ref()
                .filter(|_| !learning.is_superseded())
                .map(ToString::to_string)
                .unwrap_or_default(),
        ),
    ];
    for example in &learning.examples {
        details.push(("example", example.clone()));
    }
    details
}

/// The success rate. For an anti-pattern it is the rate of the practice it warns against, not of the tasks that were
/// warned.
fn success(learning: &Learning) -> String {
    let rate = format!("{:.2}", whole_percent(learning.success_rate) / 100.0);
    match learning.kind {
        LearningKind::Antipattern => format!("{rate} (of what it warns against)"),
        LearningKind::Strategy | LearningKind::Estimate | LearningKind::Convention => rate,
    }
}

/// Why it is not injected; empty if it can be.
fn in_prompts(learning: &Learning) -> String {
    why_in_no_prompt(learning)
        .map(|why| {
            let again = format!("reactivate with `ralph learnings promote {}`", learning.id);
            format!("none: {why}; {again}")
        })
        .unwrap_or_default()
}

/// How many iterations got it, and how they ended.
fn uses(learning: &Learning) -> String {
    let (here, before) = (learning.uses_here(), learning.first_use_count);
    let iterations = |uses: u32| count(uses as usize, "iteration", "iterations");
    let uses_here = (here > 0).then(|| format!("to {}, {} of them done", iterations(here), learning.successes));
    let uses_before = match here {
        0 => iterations(before),
        _ => format!("{before} more"),
    };
    let earlier_uses =
        (before > 0).then(|| format!("to {uses_before} elsewhere, or before the success rate was last set"));
    let parts: Vec<String> = uses_here.into_iter().chain(earlier_uses).collect();
    match parts.as_slice() {
        [] => "never".to_owned(),
        parts => parts.join("; "),
    }
}

/// The iterations that taught it and that got it.
fn evidence_lines(evidence: &LearningEvidence) -> Vec<(Option<Style>, String)> {
    let mut lines = Vec::new();
    let mut part = |title: String, rows: Vec<String>| {
        if !rows.is_empty() {
            lines.push((None, String::new()));
            lines.push((Some(Style::Strong), title));
            lines.extend(rows.into_iter().map(|row| (None, format!("  {row}"))));
        }
    };
    part("Learned in".to_owned(), evidence.taught.iter().map(line).collect());
    let earlier = evidence.shown.len().saturating_sub(LISTED);
    let title = match earlier {
        0 => "Shown in".to_owned(),
        _ => format!("Shown in (the last {LISTED} of {})", evidence.shown.len()),
    };
    let shown = evidence.shown.iter().skip(earlier).map(|Showing { row, used }| {
        let relied = if *used { ", relied on" } else { "" };
        format!("{}{relied}", line(row))
    });
    part(title, shown.collect());
    lines
}

/// An earlier version on one line.
fn version_line(version: &LearningVersion) -> String {
    let LearningVersion {
        kind,
        category,
        content,
        tags,
        until,
        ..
    } = version;
    let tags = match tags.as_slice() {
        [] => String::new(),
        tags => format!(" [{}]", tags.join(", ")),
    };
    let kind = kind_of(category, *kind);
    format!("until {until:.0}  {kind}  {}{tags}", in_short(content))
}

/// The category with the kind, unless both are the same word.
fn kind_of(category: &str, kind: LearningKind) -> String {
    match category == kind.word() {
        true => category.to_owned(),
        false => format!("{category} ({kind})"),
    }
}

fn line(row: &JournalRow) -> String {
    let JournalRow { row, .. } = row;
    format!("{}/{}  {}  {}", row.run, row.iteration, row.outcome, what(row))
}

/// The JSON form of an iteration that taught a learning.
pub(crate) fn iteration_as_json(row: &JournalRow) -> Value {
    let JournalRow { id, row, .. } = row;
    json!({
        "journal": id,
        "run": row.run,
        "iteration": row.iteration,
        "task": row.task,
        "task_title": row.task_title,
        "outcome": row.outcome,
        "created_at": format_timestamp(row.created_at),
    })
}

fn shown_object(shown: &Showing) -> Value {
    let mut object = iteration_as_json(&shown.row);
    if let Some(object) = object.as_object_mut() {
        object.insert("used".to_owned(), json!(shown.used));
    }
    object
}
