//! `task restore`: undoes a deletion.

use clap::Args;
use ralph_model::count;
use ralph_store::{DeletedTask, TaskError};

use super::store_to_write;
use crate::context::Context;
use crate::error::CommandError;
use crate::table::{Column, Fit};
use crate::ui::showing;

/// Bring a deleted task back, with everything that was deleted with it
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph task restore --list
  ralph task restore t-1a2b3c")]
pub(crate) struct RestoreArgs {
    /// Its id, or the beginning of it
    #[arg(value_name = "ID", required_unless_present = "list")]
    id: Option<String>,
    /// List what can be brought back
    #[arg(long, conflicts_with = "id")]
    list: bool,
    /// Write the list as JSON
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
    let parts = restored.len().saturating_sub(1);
    if parts > 0 {
        let parts = count(parts, "task", "tasks");
        context.ui.status(&format!("With {parts} below it."));
    }
    let top = restored.first().map_or(&task, |top| &top.id);
    context.ui.result("🔄", &format!("Task restored: {top}"))
}

const COLUMNS: [Column; 4] = [
    Column {
        title: "ID",
        fit: Fit::Whole,
    },
    Column {
        title: "DELETED",
        fit: Fit::Optional,
    },
    Column {
        title: "BELOW IT",
        fit: Fit::Optional,
    },
    Column {
        title: "TITLE",
        fit: Fit::Cut,
    },
];

fn list(context: &Context<'_>, deleted: &[DeletedTask], json: bool) -> Result<(), CommandError> {
    if json {
        return context.ui.json(&deleted);
    }
    if deleted.is_empty() {
        return context.ui.data("No task was deleted.\n");
    }
    let row = |task: &DeletedTask| {
        vec![
            task.id.to_string(),
            format!("{:.0}", task.deleted_at),
            task.parts.to_string(),
            task.title.clone(),
        ]
    };
    let rows: Vec<Vec<String>> = deleted.iter().map(row).collect();
    context.ui.table(&COLUMNS, &rows, &showing(rows.len(), "task", "tasks"))
}
