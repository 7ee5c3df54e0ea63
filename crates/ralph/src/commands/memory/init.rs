//! `ralph memory init`.

use clap::Args;
use ralph_memory::capture::{NoteRepository, Start};

use crate::context::Context;
use crate::error::CommandError;

/// Create an empty memories file
#[derive(Debug, Args)]
#[command(after_help = "Example:
  ralph memory init --force      # keeps the old file as memories.md.bak")]
pub(crate) struct InitArgs {
    /// Replace an existing file, keeping it as .bak
    #[arg(long)]
    force: bool,
}

pub(super) fn cmd_init(
    context: &Context<'_>,
    note_repository: &NoteRepository<'_>,
    args: &InitArgs,
) -> Result<(), CommandError> {
    let shown = context.project.shown(&note_repository.path);
    let start = if args.force {
        Start::KeepBackup
    } else {
        Start::OnlyIfMissing
    };
    let (stored, backup) = note_repository.start_over(start)?;
    context.report_stored(note_repository, &stored);
    if let Some(backup) = backup {
        context
            .ui
            .status(&format!("Kept the old file as {}.", context.project.shown(&backup)));
    }
    context
        .ui
        .result("📝", &format!("Initialized memories file at {shown}"))
}
