//! `learnings import`: imports learnings from another tool's JSON store.

use std::path::PathBuf;

use clap::Args;
use ralph_model::count;

use super::super::task::store_to_write;
use super::incoming::{Incoming, Tally, Trust, copy_to_try, files_at};
use crate::context::Context;
use crate::error::CommandError;

/// Import learnings from another tool's JSON store
///
/// Reads ralph-learnings.json and staging.json and leaves both unchanged. Learnings that are already known are updated,
/// so importing twice is safe. A store with a wrong checksum is refused unless its backup is valid.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph learnings import .aiwg/knowledge --dry-run
  ralph learnings import .aiwg/knowledge
  ralph learnings import ../other/ralph-export.json
  ralph learnings import edited.json --force  # ignores the checksum")]
pub(crate) struct ImportArgs {
    /// Store file, staging file, or the folder with both
    #[arg(value_name = "FILE|FOLDER")]
    path: PathBuf,
    /// Import a file even if its checksum is wrong
    #[arg(long)]
    force: bool,
    /// Show what would be imported without storing it
    #[arg(long)]
    dry_run: bool,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn cmd_import(context: &Context<'_>, args: &ImportArgs) -> Result<(), CommandError> {
    let path = std::path::absolute(&args.path)
        .map_err(|error| CommandError::usage(format!("{}: {error}", args.path.display())))?;
    let trust = if args.force { Trust::Any } else { Trust::Checksum };
    let incoming = Incoming::read(context, &files_at(context, &path)?, trust)?;
    // Fail before creating anything next to another tool's database, or in place of a lost one.
    context.facts()?;
    let taken = if args.dry_run {
        let (_folder, mut copy) = copy_to_try(&context.project.database())?;
        incoming.take_over(context, &mut copy)?
    } else {
        incoming.take_over(context, &mut store_to_write(context)?)?
    };
    if args.json {
        return context.ui.json(&incoming.json(&taken));
    }
    incoming.report_remarks(context);
    let (verb, sign) = if args.dry_run {
        ("Would import", "🔍")
    } else {
        ("Imported", "📝")
    };
    let learnings = count(taken.len(), "learning", "learnings");
    let line = match Tally::of(&taken).summary() {
        summary if summary.is_empty() => format!("{verb} {learnings}"),
        summary => format!("{verb} {learnings}: {summary}"),
    };
    context.ui.result(sign, &line)?;
    incoming.report_rejected(context, &taken);
    if args.dry_run {
        context
            .ui
            .status("Dry run: nothing was changed. Run without --dry-run to import.");
    }
    Ok(())
}
