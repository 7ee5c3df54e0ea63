//! `ralph guardrails migrate`.

use clap::Args;
use ralph_memory::capture::Notebook;
use ralph_model::{NoteKind, Shelf, count};
use serde_json::json;

use crate::cli::{Format, FormatArgs};
use crate::commands::notes::{read, view};
use crate::context::Context;
use crate::error::CommandError;

/// Make entries of Signs, the old form of guardrails
///
/// A Sign in a section of ours becomes an entry there, any other one goes to the section of its kind. Everything else in the
/// file stays as it is, and the file as it was is kept beside it.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph guardrails migrate --dry-run
  ralph guardrails migrate  # keeps the old file as guardrails.md.bak")]
pub(crate) struct MigrateArgs {
    /// What Signs outside of every section become: fix, decision, pattern
    #[arg(short = 't', long = "type", value_name = "KIND", default_value = "fix")]
    #[arg(value_parser = |word: &str| Shelf::Guardrails.parse_kind(word))]
    kind: NoteKind,
    /// Say what would be done, and change nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    format: FormatArgs,
}

pub(super) fn cmd_migrate(
    context: &Context<'_>,
    notebook: &Notebook<'_>,
    args: &MigrateArgs,
) -> Result<(), CommandError> {
    if args.dry_run {
        return tell(context, notebook, args);
    }
    let (stored, kept) = context.with_entropy(|entropy| notebook.migrate(args.kind, entropy))?;
    context.report_stored(notebook, &stored);
    if let Some(kept) = kept {
        context
            .ui
            .status(&format!("The old file is kept as {}.", context.project.shown(&kept)));
    }
    match args.format.get() {
        Format::Table if stored.notes.is_empty() => nothing_to_do(context),
        Format::Json => context.ui.json(&stored.notes),
        other => view::acknowledge(context, notebook.shelf, ("stored", &stored.notes), other),
    }
}

/// Says what would be done.
fn tell(context: &Context<'_>, notebook: &Notebook<'_>, args: &MigrateArgs) -> Result<(), CommandError> {
    let reading = read(context, notebook)?;
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
            context.ui.status(&format!(
                "Nothing was changed; without --dry-run {signs} would be migrated."
            ));
            Ok(())
        }
    }
}

fn nothing_to_do(context: &Context<'_>) -> Result<(), CommandError> {
    context.ui.data("There are no Signs to migrate.\n")
}
