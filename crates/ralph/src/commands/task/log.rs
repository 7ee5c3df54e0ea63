//! `task log`: shows a task's history.

use clap::Args;

use super::{find_to_read, view};
use crate::context::Context;
use crate::error::CommandError;
use crate::ui::Line;

/// Show a task's history, oldest first
#[derive(Debug, Args)]
#[command(after_help = "Example:
  ralph task log t-1a2b3c")]
pub(crate) struct LogArgs {
    /// Id, or a unique prefix
    #[arg(value_name = "ID")]
    id: String,
    /// Print as JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn cmd_log(context: &Context<'_>, args: &LogArgs) -> Result<(), CommandError> {
    let (store, id) = find_to_read(context, &args.id)?;
    let lines = store.task_log(&id)?;
    if args.json {
        return context.ui.json(&lines);
    }
    let lines: Vec<Line> = lines
        .iter()
        .flat_map(view::log_lines)
        .map(|line| (None, line))
        .collect();
    context.ui.lines(&lines)
}
