//! `ralph import refound`: imports the database of RefoundAI's ralph.

use std::path::Path;

use clap::Args;
use ralph_store::{ForeignDatabase, ForeignError, ForeignHistory, Store};

use super::cleaned::cleaned;
use super::report::Report;
use super::{Mode, SourceArgs, feature_files, import, import_into_copy, in_place, lock_worktree};
use crate::context::Context;
use crate::error::CommandError;
use crate::paths::{Project, is_same};

/// Import tasks, features and journal of RefoundAI's ralph
///
/// Without a path, converts the database in this project: ralph's own database replaces it, and the original is kept
/// next to it. With a path, adds the records of that database (or of the one in that folder) to this project, and only
/// reads the file. Specifications and plans of features are copied to where ralph reads them, unless they exist.
/// Entries that were imported before are not imported again, even if they were deleted since.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph import refound --dry-run       # show what can be imported
  ralph import refound                 # convert this project's database
  ralph import refound ../old-project  # add the records of another project")]
pub(crate) struct RefoundArgs {
    #[command(flatten)]
    source: SourceArgs,
}

pub(super) fn cmd_refound(context: &Context<'_>, args: &RefoundArgs) -> Result<(), CommandError> {
    let (mode, own) = (args.source.mode(), context.project.database());
    let source = match args.source.absolute()? {
        Some(folder) if folder.is_dir() => Project::at(folder).own_database(),
        Some(file) => file,
        None => own.clone(),
    };
    let mut report = Report {
        sources: vec![context.project.shown(&source).to_string()],
        ..Report::default()
    };
    let is_own = source == own || is_same(&source, &own);
    if is_own && Store::exists(&own) {
        let shown = context.project.shown(&own);
        report.print(context, mode, args.source.json)?;
        context.ui.status(&format!("{shown} already is ralph's own database."));
        return Ok(());
    }
    match (is_own, mode) {
        (true, Mode::DryRun) => {
            let history = read(&source)?;
            report.history = import_into_copy(None, &history, context.clock().now())?;
            feature_files::copy(context, &history, &mut report.history, (&source, mode));
            let kept = in_place::kept_name(&own);
            report.kept = Some(context.project.shown(&kept).to_string());
        }
        (true, Mode::Real) => {
            // This comes before the lock is created: if there is nothing to import, nothing is created.
            drop(ForeignDatabase::open(&source)?);
            let _lock = lock_worktree(context)?;
            let (history, imported, kept) = in_place::take_over(&own, context.clock().now())?;
            report.history = imported;
            feature_files::copy(context, &history, &mut report.history, (&source, mode));
            report.kept = Some(context.project.shown(&kept).to_string());
        }
        (false, mode) => {
            let history = read(&source)?;
            let _lock = (mode == Mode::Real).then(|| lock_worktree(context)).transpose()?;
            report.history = import(context, &history, mode)?;
            feature_files::copy(context, &history, &mut report.history, (&source, mode));
        }
    }
    report.print(context, mode, args.source.json)
}

fn read(path: &Path) -> Result<ForeignHistory, CommandError> {
    Ok(cleaned(ForeignDatabase::open(path)?.read()?))
}

impl From<ForeignError> for CommandError {
    fn from(error: ForeignError) -> Self {
        let message = Self::new(error.to_string());
        match error {
            ForeignError::NotThere { .. } => message.hint("pass the path of the database or of its project"),
            ForeignError::Ours { .. } => message.hint("only databases of RefoundAI's ralph can be imported"),
            ForeignError::NotTheirs { .. } => message,
            ForeignError::Format { found, .. } if found < 3 => {
                message.hint("migrate it by running a newer version of that tool once")
            }
            ForeignError::Format { .. } => message.hint("update ralph"),
            ForeignError::Busy { .. } => message.hint("stop that process and try again"),
            ForeignError::Unfinished { .. } => message.hint("run the tool that wrote it once to recover it"),
            ForeignError::Unreadable { path, .. } => {
                let path = path.display();
                message.hint(format!(
                    "nothing was changed; if it is damaged, copy {path}* away, then `sqlite3 {path} .recover` shows \
                     what can be saved"
                ))
            }
        }
    }
}
