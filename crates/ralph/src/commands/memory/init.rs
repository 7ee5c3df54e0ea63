//! `ralph memory init`.

use clap::Args;
use ralph_memory::capture::Notebook;

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
    if notebook.read()?.exists() && !args.force {
        return Err(
            CommandError::new(format!("{shown} exists already, so it was left as it is"))
                .hint("--force starts anew and keeps the old file as .bak"),
        );
    }
    let (stored, backup) = notebook.start_anew()?;
    context.report_stored(&notebook.path, &stored);
    if let Some(backup) = backup {
        context
            .ui
            .status(&format!("The old file is kept as {}.", context.project.shown(&backup)));
    }
    context
        .ui
        .result("📝", &format!("Initialized memories file at {shown}"))
}
