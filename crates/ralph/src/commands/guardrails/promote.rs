//! `ralph guardrails promote`.

use clap::Args;
use ralph_memory::capture::Notebook;
use ralph_model::Shelf;

use crate::cli::FormatArgs;
use crate::commands::notes::{SecretArgs, view};
use crate::context::Context;
use crate::error::CommandError;
use crate::paths::Spelling;

/// Make a memory of a guardrail that holds beyond the current work
///
/// It gets an id of its own among the memories, keeps its text, kind, tags and day, and leaves the guardrails.
#[derive(Debug, Args)]
#[command(after_help = "Example:
  ralph guardrails promote fix-1737372000-a1b2")]
pub(crate) struct PromoteArgs {
    /// The id, or its beginning
    #[arg(value_name = "ID")]
    id: String,
    #[command(flatten)]
    secrets: SecretArgs,
    #[command(flatten)]
    format: FormatArgs,
}

impl PromoteArgs {
    pub(super) fn id(&self) -> &str {
        &self.id
    }
}

pub(super) fn cmd_promote(
    context: &Context<'_>,
    notebook: &Notebook<'_>,
    args: &PromoteArgs,
) -> Result<(), CommandError> {
    let memories = context.notebook(Shelf::Memories, Spelling::Own);
    let secrets = args.secrets.policy();
    let promoted = context.with_entropy(|entropy| notebook.promote(&memories, &args.id, (secrets, entropy)))?;
    if let Some(stored) = &promoted.stored {
        context.report_stored(&memories, stored);
    }
    match &promoted.removed {
        Some(removed) => context.report_stored(notebook, removed),
        None => context.ui.status(&format!("{} was promoted before.", args.id)),
    }
    view::acknowledge(
        context,
        notebook.shelf,
        ("promoted", &[promoted.memory]),
        args.format.get(),
    )
}
