//! `ralph import …`: imports data from another tool, one file per tool.

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
use ralph_search::task_type_of;
use ralph_store::{ForeignHistory, ImportedHistory, Store};

use super::task::store_to_write;
use crate::context::Context;
use crate::error::CommandError;

#[derive(Debug, Subcommand)]
pub(crate) enum ImportCommand {
    Refound(refound::RefoundArgs),
    RalphOrchestrator(ralph_orchestrator::RalphOrchestratorArgs),
}

pub(crate) fn run(context: &Context<'_>, command: &ImportCommand) -> Result<(), CommandError> {
    match command {
        ImportCommand::Refound(args) => refound::cmd_refound(context, args),
        ImportCommand::RalphOrchestrator(args) => ralph_orchestrator::cmd_ralph_orchestrator(context, args),
    }
}

/// The arguments of every import.
#[derive(Debug, Args)]
struct SourceArgs {
    /// Project or file to import from
    path: Option<PathBuf>,
    /// Show what would be imported without changing anything
    #[arg(long)]
    dry_run: bool,
    /// Print the report as JSON
    #[arg(long)]
    json: bool,
}

impl SourceArgs {
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

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Real,
    DryRun,
}

/// Prevents runs in this worktree during an import, or refuses because one is active.
fn lock_worktree(context: &Context<'_>) -> Result<WorktreeLock, CommandError> {
    let project = &context.project;
    project.create_folders()?;
    let holder = format!("process {}", std::process::id());
    WorktreeLock::take(&project.run_lock(), &holder).map_err(|error| match error {
        LockError::Taken { holder } => {
            CommandError::new(format!("a run works in this folder ({holder}); nothing was imported"))
                .hint("stop it, or wait until it ends")
        }
        error @ LockError::Io { .. } => CommandError::new(error.to_string()),
    })
}

/// Adds a history to this project's, or determines what that would do.
fn import(context: &Context<'_>, history: &ForeignHistory, mode: Mode) -> Result<ImportedHistory, CommandError> {
    let now = context.clock().now();
    match mode {
        Mode::Real => Ok(store_to_write(context)?.import_history(history, task_type_of, now)?),
        Mode::DryRun => context
            .facts()
            .and_then(|_| import_into_copy(Some(&context.project.database()), history, now)),
    }
}

/// Determines what an import would do by importing into a copy, or into an empty database.
fn import_into_copy(
    database: Option<&Path>,
    history: &ForeignHistory,
    now: Timestamp,
) -> Result<ImportedHistory, CommandError> {
    let folder =
        tempfile::tempdir().map_err(|error| CommandError::new(format!("cannot create a temporary folder: {error}")))?;
    let copy = folder.path().join("copy.db");
    let mut store = match database {
        Some(database) => Store::copy_to_try(database, &copy)?,
        None => Store::open_or_create(&copy)?,
    };
    Ok(store.import_history(history, task_type_of, now)?)
}
