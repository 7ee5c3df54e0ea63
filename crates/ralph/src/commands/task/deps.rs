//! `task deps`: what waits for what.

use clap::Args;
use ralph_model::{Task, TaskId};
use ralph_store::{Store, TaskUpdate};
use serde_json::json;

use super::{find_all, find_to_change, find_to_read, view};
use crate::context::Context;
use crate::error::CommandError;
use crate::ui::Line;

/// Show, add or remove what a task waits for
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph task deps t-1a2b3c
  ralph task deps t-1a2b3c --add t-4d5e6f
  ralph task deps t-1a2b3c --remove t-4d5e6f")]
pub(crate) struct DepsArgs {
    /// Its id, or the beginning of it
    #[arg(value_name = "ID")]
    id: String,
    /// Tasks that must be done before it, separated by commas
    #[arg(long, value_name = "IDS", value_delimiter = ',')]
    add: Vec<String>,
    /// Tasks that it does not have to wait for any more, separated by commas
    #[arg(long, value_name = "IDS", value_delimiter = ',')]
    remove: Vec<String>,
    /// Write it as JSON
    #[arg(long)]
    json: bool,
}

impl DepsArgs {
    /// Whether it changes something.
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
        refuse_removal_of_nothing(&store, &id, &update)?;
        store.update_task(&id, &update, context.clock().now())?;
        (store, id)
    };
    let after = store.task(&id)?.map(|task| task.after).unwrap_or_default();
    let before = store.waiting_for(&id)?;
    if args.json {
        return context.ui.json(&json!({"task": id, "after": after, "before": before}));
    }
    let mut lines: Vec<Line> = Vec::new();
    for (heading, others) in [("waits for", &after), ("is waited for by", &before)] {
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

fn refuse_removal_of_nothing(store: &Store, id: &TaskId, update: &TaskUpdate) -> Result<(), CommandError> {
    let after = store.task(id)?.map(|task| task.after).unwrap_or_default();
    match update.remove_after.iter().find(|other| !after.contains(other)) {
        Some(other) => Err(CommandError::new(format!("{id} does not wait for {other}"))
            .hint(format!("`ralph task deps {id}` shows what it waits for"))),
        None => Ok(()),
    }
}
