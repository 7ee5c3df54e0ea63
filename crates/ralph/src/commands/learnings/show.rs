//! `learnings show`: all that is known of a learning, and what speaks for it.

use clap::Args;
use ralph_model::{JournalRow, Learning, LearningKind, count, display_width, moment_text, whole_percent, with_figures};
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

/// How many iterations are listed of those that saw it, the last ones; JSON has all.
const LISTED: usize = 10;
/// How wide the labels are.
const LABEL: usize = 12;
/// So much room there is beside them however narrow the terminal is.
const LEAST_ROOM: usize = 20;

/// Show all of a learning, with the iterations that taught it and those that saw it
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph learnings show learn-1a2b3c4d
  ralph learnings show 1a2b --json")]
pub(crate) struct ShowArgs {
    /// Its id, or the beginning of it
    #[arg(value_name = "ID")]
    id: String,
    /// Write it as JSON
    #[arg(long)]
    json: bool,
}

/// A learning with its evidence.
#[derive(Serialize)]
struct Whole {
    #[serde(flatten)]
    learning: Learning,
    /// Nothing where it may stand there.
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
    let standing = match &learning.superseded_by {
        Some(other) if learning.is_superseded() => format!("superseded by {other}"),
        _ => learning.status.to_string(),
    };
    let title = format!("{} [{standing}]", learning.id);
    let mut lines = vec![(Some(Style::Strong), title)];
    for (label, value) in details(&learning).into_iter().filter(|(_, value)| !value.is_empty()) {
        let labels = std::iter::once(label).chain(std::iter::repeat(""));
        for (label, line) in labels.zip(value.trim_end().lines().flat_map(|line| within(context, line))) {
            lines.push((None, format!("{label:<LABEL$}{line}").trim_end().to_owned()));
        }
    }
    lines.extend(told(&evidence));
    if !earlier.is_empty() {
        lines.push((None, String::new()));
        lines.push((Some(Style::Strong), "Earlier".to_owned()));
        lines.extend(earlier.iter().map(|version| (None, format!("  {}", said(version)))));
    }
    context.ui.lines(&lines)
}

/// A line of a value as lines that fit beside the labels of a terminal; other programs get it whole.
fn within(context: &Context<'_>, line: &str) -> Vec<String> {
    let room = context.ui.width().saturating_sub(LABEL).max(LEAST_ROOM);
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

/// How often what it says succeeds. What it warns of does not, which is no figure about those who were warned.
fn success(learning: &Learning) -> String {
    let rate = format!("{:.2}", whole_percent(learning.success_rate) / 100.0);
    match learning.kind {
        LearningKind::Antipattern => format!("{rate} (of what it warns of)"),
        LearningKind::Strategy | LearningKind::Estimate | LearningKind::Convention => rate,
    }
}

/// Why it stands in no prompt; nothing where it may.
fn in_prompts(learning: &Learning) -> String {
    why_in_no_prompt(learning)
        .map(|why| {
            let gives = match learning.is_superseded() {
                true => "gives it its place back",
                false => "gives it another chance",
            };
            let again = format!("`ralph learnings promote {}` {gives}", learning.id);
            format!("none: {why}; {again}")
        })
        .unwrap_or_default()
}

/// How many iterations saw it, and how they ended.
fn uses(learning: &Learning) -> String {
    let (here, before) = (learning.uses_here(), learning.first_use_count);
    let iterations = |uses: u32| count(uses as usize, "iteration", "iterations");
    let told_here = (here > 0).then(|| format!("to {}, {} of them done", iterations(here), learning.successes));
    let uses_before = match here {
        0 => iterations(before),
        _ => format!("{before} more"),
    };
    let told_before = (before > 0).then(|| format!("to {uses_before} elsewhere, or before it was last rated"));
    let parts: Vec<String> = told_here.into_iter().chain(told_before).collect();
    match parts.as_slice() {
        [] => "never".to_owned(),
        parts => parts.join("; "),
    }
}

/// What speaks for it, as lines.
fn told(evidence: &LearningEvidence) -> Vec<(Option<Style>, String)> {
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

/// What it said once, on a line.
fn said(version: &LearningVersion) -> String {
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

/// The category with the kind, unless that says no more.
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

/// An iteration that taught a learning, for programs.
pub(crate) fn iteration_as_json(row: &JournalRow) -> Value {
    let JournalRow { id, row, .. } = row;
    json!({
        "journal": id,
        "run": row.run,
        "iteration": row.iteration,
        "task": row.task,
        "task_title": row.task_title,
        "outcome": row.outcome,
        "created_at": moment_text(row.created_at),
    })
}

fn shown_object(shown: &Showing) -> Value {
    let mut object = iteration_as_json(&shown.row);
    if let Some(object) = object.as_object_mut() {
        object.insert("used".to_owned(), json!(shown.used));
    }
    object
}
