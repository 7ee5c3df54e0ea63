//! `learnings update`: changes fields of a learning.

use std::time::Duration;

use clap::Args;
use ralph_model::{EstimateFigures, LearningKind, Tags, TaskType};
use ralph_search::text_features;
use ralph_store::LearningUpdate;

use super::super::notes::{LINE_BREAKS_CHANGED, SecretArgs, content_argument};
use super::query::share;
use super::view::acknowledge;
use super::{find_to_change, input, kinds, task_types};
use crate::cli::FormatArgs;
use crate::context::Context;
use crate::error::CommandError;
use crate::numbers::from_one;

/// Change a learning
///
/// Only the given fields change; the id, creation time and source runs never do. Earlier versions are kept: see `ralph
/// learnings show`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph learnings update 1a2b --content \"migrate before the integration tests\"
  ralph learnings update 1a2b --category pitfall --tags postgres,ci
  ralph learnings update 1a2b --confidence 0.9 --success-rate 0.88
  ralph learnings update 1a2b --iterations 9 --seconds 30
  ralph learnings update 1a2b --content - < learning.txt")]
pub(crate) struct UpdateArgs {
    /// Id, or a unique prefix
    #[arg(value_name = "ID")]
    id: String,
    #[command(flatten)]
    changes: ChangeArgs,
    #[command(flatten)]
    secrets: SecretArgs,
    #[command(flatten)]
    format: FormatArgs,
}

impl UpdateArgs {
    pub(super) fn id(&self) -> &str {
        &self.id
    }
}

#[derive(Debug, Args)]
#[group(required = true, multiple = true)]
struct ChangeArgs {
    /// Text, for an estimate with its figures; `-` reads standard input
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    content: Option<String>,
    /// Estimated iterations per task; later runs are averaged with it
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = from_one::<u32>)]
    iterations: Option<u32>,
    /// Estimated seconds per iteration
    #[arg(long, value_name = "S", allow_negative_numbers = true, value_parser = from_one::<u32>)]
    seconds: Option<u32>,
    /// Category
    #[arg(long, value_name = "CATEGORY")]
    category: Option<String>,
    /// Kind; by default it follows the category, unless it already differed from it
    #[arg(long = "type", visible_alias = "kind", value_name = "KIND", value_parser = kinds())]
    kind: Option<LearningKind>,
    /// New tags, separated by commas; "" for none
    #[arg(long, value_name = "TAGS", value_parser = Tags::parse)]
    tags: Option<Tags>,
    /// Task type that it applies to
    #[arg(long, value_name = "TYPE", value_parser = task_types())]
    task_type: Option<TaskType>,
    /// Confidence, from 0 to 1
    #[arg(long, value_name = "X", allow_negative_numbers = true, value_parser = share)]
    confidence: Option<f64>,
    /// Success rate, from 0 to 1; restarts the count of uses
    #[arg(long, value_name = "X", allow_negative_numbers = true, value_parser = share)]
    success_rate: Option<f64>,
}

pub(super) fn cmd_update(context: &Context<'_>, args: UpdateArgs) -> Result<(), CommandError> {
    let (changes, policy) = (args.changes, args.secrets.policy());
    let text = changes
        .content
        .map(|text| content_argument(context, text))
        .transpose()?;
    let has_other_breaks = text.as_ref().is_some_and(|text| text.contains('\r'));
    let content = text.map(|text| input::content(&text, policy)).transpose()?;
    let update = LearningUpdate {
        features: content.as_deref().map(text_features).unwrap_or_default(),
        content,
        figures: EstimateFigures {
            iterations: changes.iterations,
            time: changes.seconds.map(|seconds| Duration::from_secs(seconds.into())),
        },
        category: changes
            .category
            .map(|text| input::category(&text, policy))
            .transpose()?,
        kind: changes.kind,
        tags: changes.tags.map(|tags| input::tags(&tags, policy)).transpose()?,
        task_type: changes.task_type,
        confidence: changes.confidence,
        success_rate: changes.success_rate,
    };
    let (mut store, ids) = find_to_change(context, &[args.id])?;
    let mut updated = Vec::new();
    for id in &ids {
        updated.push(store.update_learning(id, &update, context.clock().now())?);
    }
    if has_other_breaks {
        context.ui.status(LINE_BREAKS_CHANGED);
    }
    for learning in &updated {
        acknowledge(context, learning, "updated", args.format.get())?;
    }
    Ok(())
}
