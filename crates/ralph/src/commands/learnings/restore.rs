//! `learnings restore`: brings back what was pruned or merged.

use clap::Args;
use ralph_model::{Learning, LearningStatus};
use ralph_store::LearningFilter;

use super::{find_to_change, view};
use crate::cli::{Format, FormatArgs};
use crate::context::Context;
use crate::error::CommandError;
use crate::table::{Column, Fit};

/// Bring learnings back that were pruned or merged
///
/// They are again what they were before. One that was merged stands on its own again, and is not merged by itself any more.
/// One that another had taken the place of is in no prompt until `ralph learnings promote` says that it holds.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph learnings restore --list
  ralph learnings restore learn-1a2b3c4d 3c4d")]
pub(crate) struct RestoreArgs {
    /// Ids, or their beginnings
    #[arg(value_name = "ID", required_unless_present = "list")]
    ids: Vec<String>,
    /// List what can be brought back
    #[arg(long, conflicts_with = "ids")]
    list: bool,
    #[command(flatten)]
    format: FormatArgs,
}

impl RestoreArgs {
    pub(super) fn ids(&self) -> Vec<&str> {
        self.ids.iter().map(String::as_str).collect()
    }
}

const COLUMNS: [Column; 4] = [
    Column {
        title: "ID",
        fit: Fit::Whole,
    },
    Column {
        title: "GONE SINCE",
        fit: Fit::Optional,
    },
    Column {
        title: "WHY",
        fit: Fit::Optional,
    },
    view::TEXT,
];

pub(super) fn cmd_restore(context: &Context<'_>, args: &RestoreArgs) -> Result<(), CommandError> {
    if args.list {
        return list(context, args.format.get());
    }
    let (mut store, ids) = find_to_change(context, &args.ids)?;
    let restored = store.restore_learnings(&ids, context.clock().now())?;
    match args.format.get() {
        Format::Json => context.ui.json(&restored),
        Format::Table => {
            for learning in &restored {
                context.ui.result("📝", &restored_line(learning))?;
            }
            Ok(())
        }
        other => view::plain(context, restored.iter(), other),
    }
}

fn restored_line(learning: &Learning) -> String {
    let Learning { id, status, .. } = learning;
    match &learning.superseded_by {
        Some(other) => format!(
            "Learning restored: {id} ({status}); {other} still stands in its place, `ralph learnings promote {id}` ends that"
        ),
        None => format!("Learning restored: {id} ({status})"),
    }
}

fn list(context: &Context<'_>, format: Format) -> Result<(), CommandError> {
    let filter = LearningFilter {
        statuses: vec![LearningStatus::Pruned],
        ..LearningFilter::default()
    };
    let mut gone = match context.facts()? {
        Some(store) => store.learning_list(&filter, None)?,
        None => Vec::new(),
    };
    gone.sort_by_key(|learning| std::cmp::Reverse(learning.updated_at));
    match format {
        Format::Json => context.ui.json(&gone),
        Format::Table if gone.is_empty() => context.ui.data("Nothing is gone.\n"),
        Format::Table => {
            let rows: Vec<Vec<String>> = gone.iter().map(row).collect();
            view::table(context, &COLUMNS, &rows)
        }
        other => view::plain(context, gone.iter(), other),
    }
}

fn row(learning: &Learning) -> Vec<String> {
    vec![
        learning.id.to_string(),
        format!("{:.0}", learning.updated_at),
        learning.reason.clone().unwrap_or_default(),
        view::text(learning),
    ]
}
