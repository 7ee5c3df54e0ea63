//! `knowledge delete`: takes a long note away.

use clap::Args;
use ralph_memory::capture::Deleted;

use super::library::Library;
use crate::context::Context;
use crate::error::CommandError;

/// Delete a long note; its text is kept beside
#[derive(Debug, Args)]
#[command(after_help = "Example:
  ralph knowledge delete the-test-database")]
pub(crate) struct DeleteArgs {
    /// Its file, with or without .md, or its title, or the beginning of either
    #[arg(value_name = "NAME")]
    name: String,
}

pub(super) fn cmd_delete(context: &Context<'_>, args: &DeleteArgs) -> Result<(), CommandError> {
    let library = Library::read(context)?;
    let note = library.find(&args.name)?;
    let Deleted { path, kept } = context
        .knowledge()
        .delete(&note.file)?
        // Somebody else has deleted it in this moment.
        .ok_or_else(|| library.not_found(&args.name))?;
    let kept = context.project.shown(&kept);
    context.ui.status(&format!("Its text is kept in {kept}."));
    let file = context.project.shown(&path);
    context.ui.result("🗑️ ", &format!("Knowledge deleted: {file}"))
}
