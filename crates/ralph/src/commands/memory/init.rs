//! `ralph memory init`.

use clap::Args;
use ralph_memory::capture::{Notebook, Start};

use crate::context::Context;
use crate::error::CommandError;

/// Make an empty memories file
#[derive(Debug, Args)]
#[command(after_help = "Example:
  ralph memory init --force      # keeps the old file as memories.md.bak")]
pub(crate) struct InitArgs {
    /// Put an existing file aside as .bak and start anew
    #[arg(long)]
    force: bool,
}

pub(super) fn cmd_init(context: &Context<'_>, notebook: &Notebook<'_>, args: &InitArgs) -> Result<(), CommandError> {
    let shown = context.project.shown(&notebook.path);
    let start = if args.force {
        Start::PutOldAside
    } else {
        Start::OnlyIfMissing
    };
    let (stored, backup) = notebook.start_anew(start)?;
    context.report_stored(notebook, &stored);
    if let Some(backup) = backup {
        context
            .ui
            .status(&format!("The old file is kept as {}.", context.project.shown(&backup)));
    }
    context
        .ui
        .result("📝", &format!("Initialized memories file at {shown}"))
}
