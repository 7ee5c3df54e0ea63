//! `knowledge delete`: deletes a knowledge entry.

use clap::Args;

use super::library::Library;
use crate::context::Context;
use crate::error::CommandError;

/// Delete a knowledge entry; undo with `knowledge restore`
#[derive(Debug, Args)]
#[command(after_help = "Example:
  ralph knowledge delete the-test-database")]
pub(crate) struct DeleteArgs {
    /// File with or without .md, title, or a unique prefix of either
    #[arg(value_name = "NAME")]
    name: String,
}

impl DeleteArgs {
    pub(crate) fn name(&self) -> &str {
        &self.name
    }
}

pub(super) fn cmd_delete(context: &Context<'_>, args: &DeleteArgs) -> Result<(), CommandError> {
    let library = Library::read(context)?;
    let note = library.find(&args.name)?;
    let knowledge = context.knowledge();
    let deleted = knowledge
        .delete(&note.file, context.clock().now())?
        // It may have been deleted concurrently.
        .ok_or_else(|| library.not_found(&args.name))?;
    context.report_history(&deleted.history);
    let path = knowledge.path().join(&note.file);
    let file = context.project.shown(&path);
    context.ui.result("🗑️ ", &format!("Knowledge deleted: {file}"))
}
