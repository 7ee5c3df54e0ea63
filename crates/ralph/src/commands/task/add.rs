//! `task add`: adds a task.

use clap::Args;
use ralph_model::config::FromAgents;
use ralph_model::{Actor, NewTask, Priority};

use super::{checks, description, find_all, refuse_without_database, store_to_write, title};
use crate::commands::feature;
use crate::commands::notes::{SecretArgs, refuse_mistyped_flag, visible_argument};
use crate::commands::run::confirmed_config;
use crate::context::Context;
use crate::error::CommandError;
use crate::numbers::from_zero;

/// Add a task and print its id
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph task add \"Let users log in\" --priority 1
  ralph task add \"Add the login form\" --parent t-1a2b3c --after t-4d5e6f
  ralph task add \"Find words by their stem\" --feature search
  ralph task add \"Fix the report\" --description - < issue.txt
  ralph task add \"Parse dates\" --check \"pytest tests/test_dates.py\"")]
pub(crate) struct AddArgs {
    /// Title, one line
    #[arg(value_name = "TEXT", allow_hyphen_values = true)]
    title: String,
    /// Description; `-` reads standard input
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    description: Option<String>,
    /// Parent task
    #[arg(long, value_name = "ID")]
    parent: Option<String>,
    /// Feature, by name or id; a subtask belongs to its parent's feature
    #[arg(long, value_name = "NAME")]
    feature: Option<String>,
    /// Dependencies: tasks that must be done first, separated by commas
    #[arg(long, value_name = "IDS", value_delimiter = ',')]
    after: Vec<String>,
    /// Priority; lower numbers run first
    #[arg(long, value_name = "N", default_value_t = Priority::default().0, allow_negative_numbers = true, value_parser = from_zero::<u32>)]
    priority: u32,
    /// Command that must pass for this task, besides the gates; repeatable
    #[arg(long = "check", value_name = "COMMAND", allow_hyphen_values = true)]
    checks: Vec<String>,
    #[command(flatten)]
    secrets: SecretArgs,
    /// Print as JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn cmd_add(context: &Context<'_>, args: AddArgs) -> Result<(), CommandError> {
    refuse_mistyped_flag(context, &args.title)?;
    let policy = args.secrets.policy();
    let title = title(&visible_argument(context, args.title), policy)?;
    let description = match args.description {
        Some(text) => description(context, text, policy)?,
        None => String::new(),
    };
    let named = args.parent.iter().chain(&args.after).next();
    refuse_without_database(context, named.map(String::as_str))?;
    feature::refuse_without_database(context, args.feature.as_deref())?;
    let mut store = store_to_write(context)?;
    let parent = args.parent.as_deref().map(|id| store.find_task(id)).transpose()?;
    let feature = args
        .feature
        .as_deref()
        .map(|name| feature::named(context, &store, name))
        .transpose()?;
    let new = NewTask {
        description,
        parent,
        feature: feature.map(|feature| feature.id),
        after: find_all(&store, &args.after)?,
        priority: Priority(args.priority),
        checks: checks(context, args.checks, policy)?,
        ..NewTask::titled(title)
    };
    let now = context.clock().now();
    let is_proposed =
        context.actor != Actor::Person && confirmed_config(context)?.tasks.from_agents == FromAgents::Propose;
    let task = context.with_entropy(|entropy| match is_proposed {
        true => store.propose_task(&new, entropy, now),
        false => store.add_task(&new, entropy, now),
    })?;
    if is_proposed {
        context
            .ui
            .status("Proposed: a person can accept or reject it in `ralph review`.");
    }
    if args.json {
        context.ui.json(&task)
    } else {
        context.ui.data(&format!("{}\n", task.id))
    }
}
