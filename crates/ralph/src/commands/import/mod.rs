//! `ralph import …`: takes over what another tool has on record, one file a tool.

mod cleaned;
mod feature_files;
mod in_place;
mod orchestrator_tasks;
mod ralph_orchestrator;
mod refound;
mod report;

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use jiff::Timestamp;
use ralph_loop::{LockError, WorktreeLock};
use ralph_memory::capture::Surroundings;
use ralph_store::{ForeignHistory, ImportedHistory, Store};

use super::task::store_to_write;
use crate::context::Context;
use crate::error::CommandError;
use crate::paths;

#[derive(Debug, Subcommand)]
pub(crate) enum ImportCommand {
    Refound(refound::RefoundArgs),
    RalphOrchestrator(ralph_orchestrator::RalphOrchestratorArgs),
}

/// Runs one of the import commands.
pub(crate) fn run(context: &Context<'_>, command: &ImportCommand) -> Result<(), CommandError> {
    match command {
        ImportCommand::Refound(args) => refound::cmd_refound(context, args),
        ImportCommand::RalphOrchestrator(args) => ralph_orchestrator::cmd_ralph_orchestrator(context, args),
    }
}

/// What every import takes.
#[derive(Debug, Args)]
struct SourceArgs {
    /// Where to import from
    path: Option<PathBuf>,
    /// Say what would be imported, and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Write the report as JSON
    #[arg(long)]
    json: bool,
}

impl SourceArgs {
    /// The path, from the root of the file system.
    fn absolute(&self) -> Result<Option<PathBuf>, CommandError> {
        let absolute = |path: &PathBuf| {
            std::path::absolute(path).map_err(|error| CommandError::usage(format!("{}: {error}", path.display())))
        };
        self.path.as_ref().map(absolute).transpose()
    }

    fn mode(&self) -> Mode {
        if self.dry_run { Mode::DryRun } else { Mode::Real }
    }
}

/// Whether anything changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// It does.
    Real,
    /// It is only said what would.
    DryRun,
}

/// Keeps runs out of this worktree while something is imported, or refuses because there is one.
fn keep_runs_out(context: &Context<'_>) -> Result<WorktreeLock, CommandError> {
    let project = &context.project;
    project.prepare_database_folder(&project.root.join(paths::RALPH))?;
    if let Some(folder) = project.database().parent() {
        project.prepare_database_folder(folder)?;
    }
    let holder = format!("process {}", std::process::id());
    WorktreeLock::take(&project.run_lock(), &holder).map_err(|error| match error {
        LockError::Taken { holder } => CommandError::new(format!(
            "a run works in this folder ({holder}), so nothing was imported"
        ))
        .hint("stop it, or wait until it is through"),
        error @ LockError::Io { .. } => CommandError::new(error.to_string()),
    })
}

/// Makes a history part of this project's, or says what that would do.
fn import(context: &Context<'_>, history: &ForeignHistory, mode: Mode) -> Result<ImportedHistory, CommandError> {
    let now = context.clock().now();
    match mode {
        Mode::Real => Ok(store_to_write(context)?.import_history(history, now)?),
        Mode::DryRun => context
            .facts()
            .and_then(|_| try_on_copy(Some(&context.project.database()), history, now)),
    }
}

/// Says what an import into a database would do, by doing it to a copy; without a database, to an empty one.
fn try_on_copy(
    database: Option<&Path>,
    history: &ForeignHistory,
    now: Timestamp,
) -> Result<ImportedHistory, CommandError> {
    let folder = tempfile::tempdir()
        .map_err(|error| CommandError::new(format!("cannot make a temporary folder to try it out in: {error}")))?;
    let copy = folder.path().join("copy.db");
    let mut store = match database {
        Some(database) => Store::copy_to_try(database, &copy)?,
        None => Store::open_or_create(&copy)?,
    };
    Ok(store.import_history(history, now)?)
}
