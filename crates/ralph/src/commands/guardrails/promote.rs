//! `ralph guardrails promote`.

use clap::Args;
use ralph_memory::capture::NoteRepository;
use ralph_model::NoteFileKind;

use crate::cli::FormatArgs;
use crate::commands::notes::{SecretArgs, view};
use crate::context::Context;
use crate::error::CommandError;
use crate::paths::Spelling;

/// Turn a guardrail into a memory
///
/// For guardrails that apply beyond the current work. The memory gets a new id and keeps text, kind, tags and date; the
/// guardrail is removed.
#[derive(Debug, Args)]
#[command(after_help = "Example:
  ralph guardrails promote fix-1737372000-a1b2")]
pub(crate) struct PromoteArgs {
    /// Id, or a unique prefix
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
    note_repository: &NoteRepository<'_>,
    args: &PromoteArgs,
) -> Result<(), CommandError> {
    let memories = context.note_repository(NoteFileKind::Memories, Spelling::Own);
    let secrets = args.secrets.policy();
    let promoted = context.with_entropy(|entropy| note_repository.promote(&memories, &args.id, (secrets, entropy)))?;
    if let Some(stored) = &promoted.stored {
        context.report_stored(&memories, stored);
    }
    match &promoted.removed {
        Some(removed) => context.report_stored(note_repository, removed),
        None => context.ui.status(&format!("{} is already promoted.", args.id)),
    }
    view::acknowledge(
        context,
        note_repository.file_kind,
        ("promoted", &[promoted.memory]),
        args.format.get(),
    )
}
