//! `learnings query`: the best learnings for a question, with what makes them so.

use std::collections::HashSet;

use clap::Args;
use ralph_memory::recall::recall_learnings;
use ralph_model::{Learning, LearningKind, LearningStatus, TaskType};
use ralph_notes::cleaned_tags;
use ralph_store::{LearningFilter, Store};
use serde::Serialize;

use super::super::notes::found::say_what_was_forgiven;
use super::{category, kinds, task_types, view};
use crate::cli::{Format, FormatArgs};
use crate::context::Context;
use crate::error::CommandError;
use crate::numbers::from_zero;
use crate::table::{Column, Fit};

/// Find the learnings that are best supported
///
/// The order is that of confidence × rate × log10(uses + 10). The rate is how often what was learned succeeds, for
/// anti-patterns how often it does not.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph learnings query
  ralph learnings query \"failing tests\" --min-confidence 0.6
  ralph learnings query --type antipattern --task-type bug-fix --limit 5 --json")]
pub(crate) struct QueryArgs {
    /// Only those that `ralph recall` finds for this text, and that match about as much of it as the best does
    #[arg(value_name = "TEXT")]
    text: Vec<String>,
    /// Only those of this kind
    #[arg(long = "type", visible_alias = "kind", value_name = "KIND", value_parser = kinds())]
    kind: Option<LearningKind>,
    /// Only those that were learned at this kind of work
    #[arg(long, value_name = "TYPE", value_parser = task_types())]
    task_type: Option<TaskType>,
    /// Only those of this category
    #[arg(long, value_name = "CATEGORY")]
    category: Option<String>,
    /// Only those with this tag
    #[arg(long, value_name = "TAG")]
    tag: Option<String>,
    /// Only those that are at least so sure, from 0 to 1
    #[arg(long, value_name = "X", default_value_t = 0.0, hide_default_value = true, allow_negative_numbers = true, value_parser = share)]
    min_confidence: f64,
    /// Only those that succeed at least so often, from 0 to 1
    #[arg(long, value_name = "X", default_value_t = 0.0, hide_default_value = true, allow_negative_numbers = true, value_parser = share)]
    min_success: f64,
    /// At most so many; 0 is all
    #[arg(long, value_name = "N", default_value_t = 10, allow_negative_numbers = true, value_parser = from_zero::<usize>)]
    limit: usize,
    #[command(flatten)]
    format: FormatArgs,
}

/// A learning, and how well it is supported.
#[derive(Serialize)]
struct Ranked {
    #[serde(flatten)]
    learning: Learning,
    score: f64,
}

const COLUMNS: [Column; 6] = [
    Column {
        title: "ID",
        fit: Fit::Whole,
    },
    Column {
        title: "SCORE",
        fit: Fit::Whole,
    },
    Column {
        title: "CATEGORY",
        fit: Fit::Optional,
    },
    Column {
        title: "CONFIDENCE",
        fit: Fit::Optional,
    },
    Column {
        title: "USED",
        fit: Fit::Optional,
    },
    view::TEXT,
];

pub(super) fn share(text: &str) -> Result<f64, String> {
    match text.trim().parse::<f64>() {
        Ok(share) if (0.0..=1.0).contains(&share) => Ok(share),
        _ => Err("allowed is a number from 0 to 1".to_owned()),
    }
}

pub(super) fn cmd_query(context: &Context<'_>, args: &QueryArgs) -> Result<(), CommandError> {
    let found = match context.facts()? {
        Some(store) => found(context, &store, args)?,
        None => Vec::new(),
    };
    let mut ranked: Vec<Ranked> = found
        .into_iter()
        .map(|learning| Ranked {
            score: score(&learning),
            learning,
        })
        .collect();
    // They come with the newest first, which decides where the scores do not.
    ranked.sort_by(|one, other| other.score.total_cmp(&one.score));
    if args.limit > 0 {
        ranked.truncate(args.limit);
    }
    match args.format.get() {
        Format::Json => context.ui.json(&ranked),
        Format::Table if ranked.is_empty() => context.ui.data(&format!("{}\n", view::NONE_MATCH)),
        Format::Table => {
            let rows: Vec<Vec<String>> = ranked.iter().map(row).collect();
            view::table(context, &COLUMNS, &rows)
        }
        other => view::plain(context, ranked.iter().map(|ranked| &ranked.learning), other),
    }
}

/// What is asked for, the newest first.
fn found(context: &Context<'_>, store: &Store, args: &QueryArgs) -> Result<Vec<Learning>, CommandError> {
    let filter = LearningFilter {
        statuses: vec![LearningStatus::Promoted, LearningStatus::Validated],
        kind: args.kind,
        category: args.category.as_deref().map(category),
        task_type: args.task_type,
        task: None,
        tag: args.tag.as_deref().map(|tag| cleaned_tags([tag].into_iter()).concat()),
    };
    let mut wanted = store.learning_list(&filter, None)?;
    wanted.retain(|learning| {
        let is_sure = learning.confidence >= args.min_confidence && learning.success_rate >= args.min_success;
        is_sure && learning.superseded_by.is_none()
    });
    let text = args.text.join(" ");
    if !text.trim().is_empty() {
        let among = wanted.iter().map(|learning| learning.id.clone()).collect();
        let answer = recall_learnings(store, &text, &among)?;
        say_what_was_forgiven(context.ui, &answer);
        let fitting: HashSet<&str> = answer.hits.iter().map(|hit| hit.item.id()).collect();
        wanted.retain(|learning| fitting.contains(learning.id.as_str()));
    }
    Ok(wanted)
}

/// How well a learning is supported.
fn score(learning: &Learning) -> f64 {
    let rate = match learning.kind {
        LearningKind::Antipattern => 1.0 - learning.success_rate,
        LearningKind::Strategy | LearningKind::Estimate | LearningKind::Convention => learning.success_rate,
    };
    learning.confidence * rate * (f64::from(learning.use_count) + 10.0).log10()
}

fn row(ranked: &Ranked) -> Vec<String> {
    let Ranked { learning, score } = ranked;
    vec![
        learning.id.to_string(),
        format!("{score:.2}"),
        learning.category.clone(),
        format!("{:.2}", learning.confidence),
        view::uses(learning),
        view::text(learning),
    ]
}
