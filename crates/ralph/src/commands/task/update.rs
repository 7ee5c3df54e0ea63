//! `task update`: changes fields of a task.

use clap::Args;
use ralph_model::Priority;
use ralph_store::{FeatureChange, ParentChange, TaskUpdate};

use super::{checks, description, find_to_change, title};
use crate::commands::feature;
use crate::commands::notes::SecretArgs;
use crate::context::Context;
use crate::error::CommandError;
use crate::numbers::from_zero;

/// Change fields of a task
///
/// Change dependencies with `ralph task deps`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph task update t-1a2b3c --priority 1
  ralph task update t-1a2b3c --title \"Let users log in\" --description -
  ralph task update t-1a2b3c --parent t-4d5e6f
  ralph task update t-1a2b3c --no-parent
  ralph task update t-1a2b3c --feature search")]
pub(crate) struct UpdateArgs {
    /// Id, or a unique prefix
    #[arg(value_name = "ID")]
    id: String,
    #[command(flatten)]
    changes: ChangeArgs,
    #[command(flatten)]
    secrets: SecretArgs,
}

#[derive(Debug, Args)]
#[group(required = true, multiple = true)]
struct ChangeArgs {
    /// Title, one line
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    title: Option<String>,
    /// Description; `-` reads standard input
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    description: Option<String>,
    /// Priority; lower numbers run first
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = from_zero::<u32>)]
    priority: Option<u32>,
    /// New parent task
    #[arg(long, value_name = "ID")]
    parent: Option<String>,
    /// Make it a top-level task
    #[arg(long, conflicts_with = "parent")]
    no_parent: bool,
    /// New feature, by name or id; subtasks follow
    #[arg(long, value_name = "NAME")]
    feature: Option<String>,
    /// Remove it from its feature
    #[arg(long, conflicts_with = "feature")]
    no_feature: bool,
    /// Command that must pass for this task; replaces its checks; repeatable
    #[arg(long = "check", value_name = "COMMAND", allow_hyphen_values = true)]
    checks: Vec<String>,
    /// Remove all checks
    #[arg(long, conflicts_with = "checks")]
    no_checks: bool,
    /// Maximum retries, instead of `[execution] max_retries`
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = from_zero::<u32>)]
    max_retries: Option<u32>,
}

pub(super) fn cmd_update(context: &Context<'_>, args: UpdateArgs) -> Result<(), CommandError> {
    let (changes, policy) = (args.changes, args.secrets.policy());
    let title = changes.title.as_deref().map(|text| title(text, policy)).transpose()?;
    let description = changes
        .description
        .map(|text| description(context, text, policy))
        .transpose()?;
    let (mut store, id) = find_to_change(context, &args.id)?;
    let parent = match &changes.parent {
        Some(parent) => ParentChange::Under(store.find_task(parent)?),
        None if changes.no_parent => ParentChange::Top,
        None => ParentChange::Keep,
    };
    let feature = match &changes.feature {
        Some(name) => FeatureChange::Of(feature::named(context, &store, name)?.id),
        None if changes.no_feature => FeatureChange::Leave,
        None => FeatureChange::Keep,
    };
    let update = TaskUpdate {
        title,
        description,
        priority: changes.priority.map(Priority),
        parent,
        feature,
        checks: match changes.no_checks || !changes.checks.is_empty() {
            true => Some(checks(context, changes.checks, policy)?),
            false => None,
        },
        max_retries: changes.max_retries,
        ..TaskUpdate::default()
    };
    let task = store.update_task(&id, &update, context.clock().now())?;
    context.ui.result("📝", &format!("Task updated: {}", task.id))
}
