//! `ralph memory delete`.

use clap::Args;
use ralph_memory::capture::Notebook;

use crate::context::Context;
use crate::error::CommandError;

/// Delete notes; they stay on record and can be restored
#[derive(Debug, Args)]
#[command(after_help = "Example:
  ralph memory delete mem-1737372000-a1b2")]
pub(crate) struct DeleteArgs {
    /// Ids, or their beginnings; when one is not there, none is deleted
    #[arg(value_name = "ID", required = true)]
    ids: Vec<String>,
}

pub(super) fn cmd_delete(
    context: &Context<'_>,
    notebook: &Notebook<'_>,
    args: &DeleteArgs,
) -> Result<(), CommandError> {
    let stored = notebook.delete(&args.ids)?;
    context.report_stored(&notebook.path, &stored);
    for note in &stored.notes {
        context.ui.result("🗑️ ", &format!("Memory deleted: {}", note.id))?;
    }
    Ok(())
}
