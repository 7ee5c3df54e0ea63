//! `task list`: lists tasks.

use clap::Args;
use ralph_model::TaskStatus;
use ralph_store::{TaskFilter, Which};

use super::{commits_of_others_here, view};
use crate::cli::FormatArgs;
use crate::commands::feature;
use crate::context::Context;
use crate::error::CommandError;

/// List open tasks, by priority and age
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph task list
  ralph task list --ready                # tasks that a run could start now
  ralph task list --feature search --all
  ralph task list --status failed --json")]
pub(crate) struct ListArgs {
    /// Only tasks that a run could start now
    #[arg(long, group = "which")]
    ready: bool,
    /// Only tasks with this status: proposed, pending, `in_progress`, done, unverified, blocked, failed
    #[arg(long, value_name = "STATUS", group = "which", value_parser = parse_status)]
    status: Option<Which<'static>>,
    /// Include tasks that are done
    #[arg(long, group = "which")]
    all: bool,
    /// Only subtasks of this task
    #[arg(long, value_name = "ID")]
    parent: Option<String>,
    /// Only tasks of this feature, by name or id
    #[arg(long, value_name = "NAME")]
    feature: Option<String>,
    #[command(flatten)]
    format: FormatArgs,
}

/// The word for a done task that needs review.
const UNVERIFIED: &str = "unverified";

fn parse_status(word: &str) -> Result<Which<'static>, String> {
    if word == UNVERIFIED {
        return Ok(Which::Unverified);
    }
    let words = TaskStatus::ALL.iter().map(|status| status.word()).chain([UNVERIFIED]);
    let status = TaskStatus::parse(&word.replace([' ', '-'], "_"));
    let unknown = || format!("expected one of {}", words.collect::<Vec<_>>().join(", "));
    status.map(Which::Status).ok_or_else(unknown)
}

pub(super) fn cmd_list(context: &Context<'_>, args: &ListArgs) -> Result<(), CommandError> {
    let format = args.format.get();
    let Some(store) = context.facts()? else {
        if let Some(id) = &args.parent {
            return Err(ralph_store::TaskError::Unknown { text: id.clone() }.into());
        }
        if let Some(name) = &args.feature {
            return Err(feature::unknown(context, name));
        }
        return view::list(context, &[], NONE_YET, format);
    };
    let parent = args.parent.as_deref().map(|id| store.find_task(id)).transpose()?;
    let feature = args
        .feature
        .as_deref()
        .map(|name| feature::named(context, &store, name))
        .transpose()?;
    let here;
    let which = if args.ready {
        here = commits_of_others_here(context, &store)?;
        Which::Ready {
            worktree: context.project.worktree_name(),
            commits_here: &here,
        }
    } else if args.all {
        Which::All
    } else {
        args.status.unwrap_or_default()
    };
    let filter = TaskFilter {
        which,
        parent: parent.as_ref(),
        feature: feature.as_ref().map(|feature| &feature.id),
    };
    let tasks = store.tasks(&filter)?;
    let nothing = if tasks.is_empty() && !store.has_tasks()? {
        NONE_YET
    } else {
        "No matching tasks."
    };
    view::list(context, &tasks, nothing, format)
}

const NONE_YET: &str = "No tasks yet.";
