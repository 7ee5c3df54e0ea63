//! `task deps`: shows or changes dependencies.

use clap::Args;
use ralph_model::{Task, TaskId};
use ralph_store::{Store, TaskUpdate};
use serde_json::json;

use super::{find_all, find_to_change, find_to_read, view};
use crate::context::Context;
use crate::error::CommandError;
use crate::ui::Line;

/// Show, add or remove dependencies of a task
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph task deps t-1a2b3c
  ralph task deps t-1a2b3c --add t-4d5e6f
  ralph task deps t-1a2b3c --remove t-4d5e6f")]
pub(crate) struct DepsArgs {
    /// Id, or a unique prefix
    #[arg(value_name = "ID")]
    id: String,
    /// Dependencies to add, separated by commas
    #[arg(long, value_name = "IDS", value_delimiter = ',')]
    add: Vec<String>,
    /// Dependencies to remove, separated by commas
    #[arg(long, value_name = "IDS", value_delimiter = ',')]
    remove: Vec<String>,
    /// Print as JSON
    #[arg(long)]
    json: bool,
}

impl DepsArgs {
    pub(crate) fn changes(&self) -> bool {
        !self.add.is_empty() || !self.remove.is_empty()
    }
}

pub(super) fn cmd_deps(context: &Context<'_>, args: &DepsArgs) -> Result<(), CommandError> {
    let (store, id) = if args.add.is_empty() && args.remove.is_empty() {
        find_to_read(context, &args.id)?
    } else {
        let (mut store, id) = find_to_change(context, &args.id)?;
        let update = TaskUpdate {
            add_after: find_all(&store, &args.add)?,
            remove_after: find_all(&store, &args.remove)?,
            ..TaskUpdate::default()
        };
        refuse_unknown_removal(&store, &id, &update)?;
        store.update_task(&id, &update, context.clock().now())?;
        (store, id)
    };
    let after = store.task(&id)?.map(|task| task.after).unwrap_or_default();
    let before = store.waiting_for(&id)?;
    if args.json {
        return context.ui.json(&json!({"task": id, "after": after, "before": before}));
    }
    let mut lines: Vec<Line> = Vec::new();
    for (heading, others) in [("depends on", &after), ("is required by", &before)] {
        if others.is_empty() {
            lines.push((None, format!("{id} {heading} no task.")));
            continue;
        }
        lines.push((None, format!("{id} {heading}:")));
        let others = all(&store, others)?;
        let rows = others.iter().map(|task| view::task_row("  ", task, context.ui.width()));
        lines.extend(rows.map(|row| (None, row)));
    }
    context.ui.lines(&lines)
}

fn all(store: &Store, ids: &[TaskId]) -> Result<Vec<Task>, CommandError> {
    let found = ids.iter().filter_map(|id| store.task(id).transpose());
    Ok(found.collect::<Result<_, _>>()?)
}

fn refuse_unknown_removal(store: &Store, id: &TaskId, update: &TaskUpdate) -> Result<(), CommandError> {
    let after = store.task(id)?.map(|task| task.after).unwrap_or_default();
    match update.remove_after.iter().find(|other| !after.contains(other)) {
        Some(other) => Err(CommandError::new(format!("{id} does not depend on {other}"))
            .hint(format!("list its dependencies with `ralph task deps {id}`"))),
        None => Ok(()),
    }
}
