//! `learnings import`: takes over the learnings of an earlier tool.

use std::path::PathBuf;

use clap::Args;
use ralph_model::count;

use super::super::task::store_to_write;
use super::foreign::{Incoming, Tally, Trust, copy_to_try, files_at};
use crate::context::Context;
use crate::error::CommandError;

/// Take over learnings from the JSON store of an earlier tool
///
/// Reads ralph-learnings.json and staging.json; both stay as they are. What is known already is brought up to date or made
/// surer, so it can be done again. A store whose checksum does not fit is refused, unless its backup beside it is good.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph learnings import .aiwg/knowledge --dry-run
  ralph learnings import .aiwg/knowledge
  ralph learnings import ../other/ralph-export.json
  ralph learnings import edited.json --force  # although its checksum is wrong")]
pub(crate) struct ImportArgs {
    /// The store, the staging area, or the folder that holds them
    #[arg(value_name = "FILE|FOLDER")]
    path: PathBuf,
    /// Take a file as it stands though its checksum is wrong
    #[arg(long)]
    force: bool,
    /// Say what would be imported, and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Write what was done as JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn cmd_import(context: &Context<'_>, args: &ImportArgs) -> Result<(), CommandError> {
    let path = std::path::absolute(&args.path)
        .map_err(|error| CommandError::usage(format!("{}: {error}", args.path.display())))?;
    let trust = if args.force { Trust::AsItStands } else { Trust::Checksum };
    let incoming = Incoming::read(context, &files_at(context, &path)?, trust)?;
    // Beside another tool's database nothing is made, not even a folder, and none in the place of one that was lost.
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
    incoming.tell_remarks(context);
    let (verb, sign) = if args.dry_run {
        ("Would import", "🔍")
    } else {
        ("Imported", "📝")
    };
    let learnings = count(taken.len(), "learning", "learnings");
    let line = match Tally::of(&taken).told() {
        told if told.is_empty() => format!("{verb} {learnings}"),
        told => format!("{verb} {learnings}: {told}"),
    };
    context.ui.result(sign, &line)?;
    incoming.tell_rejected(context, &taken);
    if args.dry_run {
        context
            .ui
            .status("Nothing was changed; without --dry-run it is imported.");
    }
    Ok(())
}
