//! `learnings restore`: restores pruned or merged learnings.

use clap::Args;
use ralph_model::{Learning, LearningStatus};
use ralph_store::LearningFilter;

use super::{find_to_change, view};
use crate::cli::{Format, FormatArgs};
use crate::context::Context;
use crate::error::CommandError;
use crate::table::Column;

/// Restore learnings that were pruned or merged
///
/// Restored learnings get their earlier status back. A merged one is separate again and is not merged automatically any
/// more. A superseded one stays out of prompts until `ralph learnings promote`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph learnings restore --list
  ralph learnings restore learn-1a2b3c4d 3c4d")]
pub(crate) struct RestoreArgs {
    /// Ids, or unique prefixes
    #[arg(value_name = "ID", required_unless_present = "list")]
    ids: Vec<String>,
    /// List learnings that can be restored
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
    Column::whole("ID"),
    Column::optional("REMOVED"),
    Column::optional("WHY"),
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
            "Learning restored: {id} ({status}); still superseded by {other}, `ralph learnings promote {id}` reactivates it"
        ),
        None => format!("Learning restored: {id} ({status})"),
    }
}

fn list(context: &Context<'_>, format: Format) -> Result<(), CommandError> {
    let filter = LearningFilter {
        statuses: vec![LearningStatus::Pruned],
        ..LearningFilter::default()
    };
    let mut retired = match context.facts()? {
        Some(store) => store.learning_list(&filter, None)?,
        None => Vec::new(),
    };
    retired.sort_by_key(|learning| std::cmp::Reverse(learning.updated_at));
    match format {
        Format::Json => context.ui.json(&retired),
        Format::Table => context
            .ui
            .list((&COLUMNS, &retired), row, view::NOUNS, "Nothing to restore."),
        other => view::plain(context, retired.iter(), other),
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
