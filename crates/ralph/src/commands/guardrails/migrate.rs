//! `ralph guardrails migrate`.

use clap::Args;
use ralph_memory::capture::NoteRepository;
use ralph_model::{NoteFileKind, NoteKind, count};
use serde_json::json;

use crate::cli::{Format, FormatArgs};
use crate::commands::notes::{read, view};
use crate::context::Context;
use crate::error::CommandError;

/// Convert legacy Signs to guardrail entries
///
/// A Sign in a known section becomes an entry there; others go to the section of their kind. The rest of the file is
/// not changed, and the original file is kept next to it.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph guardrails migrate --dry-run
  ralph guardrails migrate  # keeps the old file as guardrails.md.bak")]
pub(crate) struct MigrateArgs {
    /// Kind for Signs outside a known section: fix, decision, pattern
    #[arg(short = 't', long = "type", value_name = "KIND", default_value = "fix")]
    #[arg(value_parser = |word: &str| NoteFileKind::Guardrails.parse_kind(word))]
    kind: NoteKind,
    /// Show what would be converted without changing the file
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    format: FormatArgs,
}

pub(super) fn cmd_migrate(
    context: &Context<'_>,
    note_repository: &NoteRepository<'_>,
    args: &MigrateArgs,
) -> Result<(), CommandError> {
    if args.dry_run {
        return preview_migration(context, note_repository, args);
    }
    let (stored, kept) = context.with_entropy(|entropy| note_repository.migrate(args.kind, entropy))?;
    context.report_stored(note_repository, &stored);
    if let Some(kept) = kept {
        context
            .ui
            .status(&format!("Kept the old file as {}.", context.project.shown(&kept)));
    }
    match args.format.get() {
        Format::Table if stored.notes.is_empty() => nothing_to_do(context),
        Format::Json => context.ui.json(&stored.notes),
        other => view::acknowledge(context, note_repository.file_kind, ("stored", &stored.notes), other),
    }
}

fn preview_migration(
    context: &Context<'_>,
    note_repository: &NoteRepository<'_>,
    args: &MigrateArgs,
) -> Result<(), CommandError> {
    let reading = read(context, note_repository)?;
    let signs = reading.document().signs();
    let planned = signs.iter().map(|sign| (sign, sign.section.unwrap_or(args.kind)));
    match args.format.get() {
        Format::Json => {
            let list: Vec<_> = planned
                .map(|(sign, kind)| json!({"sign": sign.id, "memory_type": kind, "content": sign.text()}))
                .collect();
            context.ui.json(&list)
        }
        Format::Quiet => context
            .ui
            .data(&planned.map(|(sign, _)| format!("{}\n", sign.id)).collect::<String>()),
        Format::Table | Format::Markdown if signs.is_empty() => nothing_to_do(context),
        Format::Table | Format::Markdown => {
            let lines: String = planned
                .map(|(sign, kind)| format!("{} would become a {kind}: {}\n", sign.id, sign.text()))
                .collect();
            context.ui.text(&lines)?;
            let signs = count(signs.len(), "Sign", "Signs");
            context
                .ui
                .status(&format!("Dry run: would migrate {signs}; nothing was changed."));
            Ok(())
        }
    }
}

fn nothing_to_do(context: &Context<'_>) -> Result<(), CommandError> {
    context.ui.data("No Signs to migrate.\n")
}
