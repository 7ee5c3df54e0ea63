//! `task update`: changes a task.

use clap::Args;
use ralph_model::Priority;
use ralph_store::{FeatureChange, ParentChange, TaskUpdate};

use super::{checks, description, find_to_change, title};
use crate::commands::feature;
use crate::commands::notes::SecretArgs;
use crate::context::Context;
use crate::error::CommandError;
use crate::numbers::from_zero;

/// Change a task; what is not named stays
///
/// What it waits for is changed with `ralph task deps`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph task update t-1a2b3c --priority 1
  ralph task update t-1a2b3c --title \"Let users log in\" --description -
  ralph task update t-1a2b3c --parent t-4d5e6f
  ralph task update t-1a2b3c --no-parent
  ralph task update t-1a2b3c --feature search")]
pub(crate) struct UpdateArgs {
    /// Its id, or the beginning of it
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
    /// What is to be done, in one line
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    title: Option<String>,
    /// All that there is to say about it; `-` reads it from standard input
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    description: Option<String>,
    /// How urgent it is; lower numbers go first
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = from_zero::<u32>)]
    priority: Option<u32>,
    /// The task that it is a part of from now on
    #[arg(long, value_name = "ID")]
    parent: Option<String>,
    /// It is a part of no other task any more
    #[arg(long, conflicts_with = "parent")]
    no_parent: bool,
    /// The feature that it belongs to from now on, by its name or id; its parts go with it
    #[arg(long, value_name = "NAME")]
    feature: Option<String>,
    /// It belongs to no feature any more
    #[arg(long, conflicts_with = "feature")]
    no_feature: bool,
    /// A command that must pass for this task, instead of its checks so far; several
    #[arg(long = "check", value_name = "COMMAND", allow_hyphen_values = true)]
    checks: Vec<String>,
    /// No checks any more
    #[arg(long, conflicts_with = "checks")]
    no_checks: bool,
    /// How often it may be tried again, instead of `[execution] max_retries`
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
