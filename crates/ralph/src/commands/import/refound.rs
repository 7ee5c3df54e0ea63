//! `import refound`: what RefoundAI's ralph has on record.

use std::path::Path;

use clap::Args;
use ralph_store::{ForeignDatabase, ForeignError, ForeignHistory, Store};

use super::cleaned::cleaned;
use super::report::Report;
use super::{Mode, SourceArgs, feature_files, import, in_place, keep_runs_out, try_on_copy};
use crate::context::Context;
use crate::error::CommandError;
use crate::paths::{Project, is_same};

/// Take over the tasks, features and journal of RefoundAI's ralph
///
/// Without a path it is the database in this project that is taken over: ralph's own takes its place, and the original stays
/// beside it. With one, what that database (or the one in that folder) has on record is added to this project's, and the file
/// is only read. The spec and the plan of a feature are copied to where ralph reads them, if they are not there. What was
/// imported before is not imported again, not even what was deleted here since.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph import refound --dry-run       # what there is, and what cannot be taken
  ralph import refound                 # take over this project's database
  ralph import refound ../old-project  # add what another project has on record")]
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
    if is_own && Store::is_there(&own) {
        let shown = context.project.shown(&own);
        report.tell(context, mode, args.source.json)?;
        context.ui.status(&format!("{shown} is ralph's own database already."));
        return Ok(());
    }
    match (is_own, mode) {
        (true, Mode::DryRun) => {
            let history = read(&source)?;
            report.history = try_on_copy(None, &history, context.clock().now())?;
            feature_files::bring(context, &history, &mut report.history, (&source, mode));
            let kept = in_place::kept_name(&own);
            report.kept = Some(context.project.shown(&kept).to_string());
        }
        (true, Mode::Real) => {
            // Before a lock is made: where there is nothing to import nothing is.
            drop(ForeignDatabase::open(&source)?);
            let _lock = keep_runs_out(context)?;
            let (history, imported, kept) = in_place::take_over(&own, context.clock().now())?;
            report.history = imported;
            feature_files::bring(context, &history, &mut report.history, (&source, mode));
            report.kept = Some(context.project.shown(&kept).to_string());
        }
        (false, mode) => {
            let history = read(&source)?;
            let _lock = (mode == Mode::Real).then(|| keep_runs_out(context)).transpose()?;
            report.history = import(context, &history, mode)?;
            feature_files::bring(context, &history, &mut report.history, (&source, mode));
        }
    }
    report.tell(context, mode, args.source.json)
}

fn read(path: &Path) -> Result<ForeignHistory, CommandError> {
    Ok(cleaned(ForeignDatabase::open(path)?.read()?))
}

impl From<ForeignError> for CommandError {
    fn from(error: ForeignError) -> Self {
        let message = Self::new(error.to_string());
        match error {
            ForeignError::NotThere { .. } => {
                message.hint("pass the path of the database, or of the project that it belongs to")
            }
            ForeignError::Ours { .. } => message.hint("only databases of RefoundAI's ralph can be imported"),
            ForeignError::NotTheirs { .. } => message,
            ForeignError::Format { found, .. } if found < 3 => {
                message.hint("run a newer version of that tool on it once, which brings it up to date")
            }
            ForeignError::Format { .. } => message.hint("update ralph"),
            ForeignError::Busy { .. } => message.hint("end that process, and try again"),
            ForeignError::Unfinished { .. } => message.hint("run the tool that wrote it once, which puts it in order"),
            ForeignError::Unreadable { path, .. } => {
                let path = path.display();
                message.hint(format!(
                    "nothing was changed; if it is damaged, copy {path}* away, then `sqlite3 {path} .recover` shows what can \
                     be saved"
                ))
            }
        }
    }
}
