//! `task restore`: restores a deleted task.

use clap::Args;
use ralph_model::count;
use ralph_store::{DeletedTask, TaskError};

use super::store_to_write;
use crate::context::Context;
use crate::error::CommandError;
use crate::table::Column;

/// Restore a deleted task and its subtasks
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph task restore --list
  ralph task restore t-1a2b3c")]
pub(crate) struct RestoreArgs {
    /// Id, or a unique prefix
    #[arg(value_name = "ID", required_unless_present = "list")]
    id: Option<String>,
    /// List tasks that can be restored
    #[arg(long, conflicts_with = "id")]
    list: bool,
    /// Print the list as JSON
    #[arg(long, requires = "list")]
    json: bool,
}

pub(super) fn cmd_restore(context: &Context<'_>, args: &RestoreArgs) -> Result<(), CommandError> {
    let Some(id) = &args.id else {
        let store = context.facts()?;
        let deleted = store.map(|store| store.deleted_tasks()).transpose()?;
        return list(context, &deleted.unwrap_or_default(), args.json);
    };
    if context.facts()?.is_none() {
        return Err(TaskError::NotDeleted { text: id.clone() }.into());
    }
    let mut store = store_to_write(context)?;
    let task = store.find_deleted_task(id)?;
    let restored = store.restore_task(&task, context.clock().now())?;
    let subtasks = restored.len().saturating_sub(1);
    if subtasks > 0 {
        let subtasks = count(subtasks, "subtask", "subtasks");
        context.ui.status(&format!("Also restored {subtasks}."));
    }
    let top = restored.first().map_or(&task, |top| &top.id);
    context.ui.result("🔄", &format!("Task restored: {top}"))
}

const COLUMNS: [Column; 4] = [
    Column::whole("ID"),
    Column::optional("DELETED"),
    Column::optional("SUBTASKS"),
    Column::cut("TITLE"),
];

fn list(context: &Context<'_>, deleted: &[DeletedTask], json: bool) -> Result<(), CommandError> {
    if json {
        return context.ui.json(&deleted);
    }
    let row = |task: &DeletedTask| {
        vec![
            task.id.to_string(),
            format!("{:.0}", task.deleted_at),
            task.parts.to_string(),
            task.title.clone(),
        ]
    };
    let nouns = ("task", "tasks");
    context.ui.list((&COLUMNS, deleted), row, nouns, "No deleted tasks.")
}
