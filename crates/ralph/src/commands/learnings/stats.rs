//! `learnings stats`: counts and averages of learnings.

use clap::Args;
use jiff::Timestamp;
use ralph_model::{Learning, LearningKind, LearningSource, LearningStatus, TaskType, count, serialize_timestamp};
use ralph_store::LearningStats;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::view;
use crate::context::Context;
use crate::error::CommandError;
use crate::ui::{Line, Style};

/// Width of the labels.
const LABEL: usize = 16;
/// The word for learnings that apply to every task type.
const ANY_WORK: &str = "any";

/// Show counts and averages of learnings
///
/// Counts active learnings; superseded ones are counted separately. Pending, validated and rejected ones are in the
/// staging area.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph learnings stats
  ralph learnings stats --json | jq .byType")]
pub(crate) struct StatsArgs {
    /// Print as JSON
    #[arg(long)]
    json: bool,
}

/// The JSON form, with the keys that other tools use.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Figures {
    total_size: u64,
    #[serde(serialize_with = "serialize_timestamp")]
    last_updated: Option<Timestamp>,
    average_confidence: f64,
    average_success_rate: f64,
    most_used_learning: Option<Value>,
    by_type: Map<String, Value>,
    by_task_type: Map<String, Value>,
    by_source: Map<String, Value>,
    by_status: Map<String, Value>,
    superseded: u64,
    staging: Staging,
}

/// Counts of pending, validated and rejected learnings.
#[derive(Debug, Serialize)]
pub(super) struct Staging {
    pub(super) total: u64,
    pending: u64,
    validated: u64,
    rejected: u64,
}

impl Staging {
    pub(super) fn of(stats: &LearningStats) -> Self {
        let [pending, validated, rejected] = [
            LearningStatus::Pending,
            LearningStatus::Validated,
            LearningStatus::Rejected,
        ]
        .map(|status| stats.of_status(status));
        Self {
            total: pending + validated + rejected,
            pending,
            validated,
            rejected,
        }
    }

    pub(super) fn sentence(&self) -> String {
        let Self {
            total,
            pending,
            validated,
            rejected,
        } = self;
        format!("{total}: {pending} pending, {validated} validated, {rejected} rejected")
    }
}

pub(super) fn cmd_stats(context: &Context<'_>, args: &StatsArgs) -> Result<(), CommandError> {
    let stats = match context.facts()? {
        Some(store) => store.learning_stats()?,
        None => LearningStats::default(),
    };
    if args.json {
        return context.ui.json(&figures(&stats));
    }
    if stats.by_status.is_empty() {
        return context.ui.data(&format!("{}\n", view::NONE_YET));
    }
    context.ui.lines(&lines(&stats))
}

fn figures(stats: &LearningStats) -> Figures {
    let kind_of_work = |kind: Option<TaskType>| kind.map_or(ANY_WORK, TaskType::word);
    Figures {
        total_size: stats.held,
        last_updated: stats.last_updated,
        average_confidence: stats.average_confidence.unwrap_or_default(),
        average_success_rate: stats.average_success_rate.unwrap_or_default(),
        most_used_learning: stats.most_used.as_ref().map(most_used),
        by_type: named(LearningKind::ALL, LearningKind::word, |kind| {
            stats.by_kind.get(&kind).copied()
        }),
        by_task_type: stats
            .by_task_type
            .iter()
            .map(|(kind, learnings)| (kind_of_work(*kind).to_owned(), json!(learnings)))
            .collect(),
        by_source: named(LearningSource::ALL, LearningSource::word, |source| {
            stats.by_source.get(&source).copied()
        }),
        by_status: named(LearningStatus::ALL, LearningStatus::word, |status| {
            Some(stats.of_status(status))
        }),
        superseded: stats.superseded,
        staging: Staging::of(stats),
    }
}

/// A count for every value, including zeros.
fn named<T: Copy>(all: &[T], word: fn(T) -> &'static str, of: impl Fn(T) -> Option<u64>) -> Map<String, Value> {
    all.iter()
        .map(|value| (word(*value).to_owned(), json!(of(*value).unwrap_or_default())))
        .collect()
}

/// A learning with the keys that other tools use.
fn most_used(learning: &Learning) -> Value {
    json!({
        "id": learning.id,
        "type": learning.kind,
        "taskType": learning.task_type,
        "content": learning.content,
        "confidence": learning.confidence,
        "successRate": learning.success_rate,
        "useCount": learning.use_count,
    })
}

fn lines(stats: &LearningStats) -> Vec<Line> {
    let average = |number: Option<f64>| number.map_or_else(|| "-".to_owned(), |number| format!("{number:.2}"));
    let most_used = stats.most_used.as_ref().map(|learning| {
        let prompts = count(learning.use_count as usize, "prompt", "prompts");
        format!("{} in {prompts}: {}", learning.id, view::text(learning))
    });
    let mut lines = Vec::new();
    for (label, value) in [
        ("learnings", stats.held.to_string()),
        (
            "changed",
            stats
                .last_updated
                .map_or_else(|| "-".to_owned(), |at| format!("{at:.0}")),
        ),
        ("confidence", average(stats.average_confidence)),
        ("success", average(stats.average_success_rate)),
        ("shown most", most_used.unwrap_or_else(|| "-".to_owned())),
        ("staging", Staging::of(stats).sentence()),
        ("superseded", stats.superseded.to_string()),
        ("pruned", stats.of_status(LearningStatus::Pruned).to_string()),
    ] {
        lines.push((None, format!("{label:<LABEL$}{value}")));
    }
    let kinds = stats.by_kind.iter().map(|(kind, of)| (kind.word(), *of));
    part(&mut lines, "By type", kinds);
    let work = stats.by_task_type.iter();
    part(
        &mut lines,
        "By task type",
        work.map(|(kind, of)| (kind.map_or(ANY_WORK, TaskType::word), *of)),
    );
    let sources = stats.by_source.iter().map(|(source, of)| (source.word(), *of));
    part(&mut lines, "By source", sources);
    lines
}

/// A titled list of counts; nothing if there are none.
fn part(lines: &mut Vec<Line>, title: &str, figures: impl Iterator<Item = (&'static str, u64)>) {
    let mut figures = figures.peekable();
    if figures.peek().is_none() {
        return;
    }
    lines.push((None, String::new()));
    lines.push((Some(Style::Strong), title.to_owned()));
    let width = LABEL - 2;
    lines.extend(figures.map(|(label, number)| (None, format!("  {label:<width$}{number}"))));
}
