//! `ralph doctor --restore-backup`: replaces a missing, damaged or unwanted database with a backup.

use std::process::ExitCode;

use ralph_loop::{LockError, WorktreeLock};
use ralph_store::{Backup, Backups, DatabasePlace, Store, StoreError};

use crate::commands::status::is_live;
use crate::context::Context;
use crate::error::CommandError;
use crate::paths::Project;

/// How many recent runs are checked: more than can be live at once.
const RUNS: usize = 1000;

/// Whether the user is asked for confirmation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Consent {
    Asked,
    Given,
}

/// Restores the newest backup, or the one with this name.
pub(super) fn restore(context: &Context<'_>, name: Option<&str>, consent: Consent) -> Result<ExitCode, CommandError> {
    let project = &context.project;
    let place = project.fact_store();
    let backups = match &place.backups {
        Some(folder) => Backups::in_folder(folder).list()?,
        None => Vec::new(),
    };
    let backup = chosen(&backups, name)?;
    let _locks = lock_worktrees(project)?;
    refuse_live_runs(context)?;
    backup.verify().map_err(|error| unusable(&error, &backups, backup))?;
    if consent == Consent::Asked {
        confirm(context, &place, backup)?;
    }
    project.create_home()?;
    let kept = Backups::restore(backup, &place.path, context.clock().now()).map_err(CommandError::from)?;
    context
        .ui
        .result("\u{267b}\u{fe0f}", &format!("Database restored: {}", backup.name()))?;
    if let Some(kept) = kept {
        context
            .ui
            .status(&format!("The previous database was kept as {}.", project.shown(&kept)));
    }
    Ok(ExitCode::SUCCESS)
}

fn confirm(context: &Context<'_>, place: &DatabasePlace, backup: &Backup) -> Result<(), CommandError> {
    let kept = if place.path.exists() {
        " The current database is kept next to it."
    } else {
        ""
    };
    let question = format!(
        "Replace {} with the backup of {} ({})?{kept}",
        context.project.shown(&place.path),
        backup.made_at.strftime("%Y-%m-%d %H:%M UTC"),
        backup.path.display()
    );
    match context.ui.confirm(&question)? {
        Some(true) => Ok(()),
        Some(false) => Err(CommandError::new("not confirmed; nothing was changed")),
        None => Err(CommandError::new("confirmation needs a terminal; nothing was changed")
            .hint("`ralph doctor --restore-backup --yes` restores it without asking")),
    }
}

/// The error for an unusable backup; suggests the newest usable one.
fn unusable(error: &StoreError, backups: &[Backup], backup: &Backup) -> CommandError {
    let refused = CommandError::new(format!("{error}; nothing was changed"));
    let others = backups.iter().rev().filter(|other| *other != backup);
    match others.into_iter().find(|other| other.verify().is_ok()) {
        Some(other) => refused.hint(format!(
            "`ralph doctor --restore-backup {}` restores the one from {}",
            other.name(),
            other.made_at.strftime("%Y-%m-%d %H:%M UTC")
        )),
        None => refused,
    }
}

/// The newest backup, or the one whose name has this prefix.
fn chosen<'a>(backups: &'a [Backup], name: Option<&str>) -> Result<&'a Backup, CommandError> {
    let Some(newest) = backups.last() else {
        return Err(
            CommandError::new("there is no backup of this project").hint("`ralph run` makes one a day, when it starts")
        );
    };
    let Some(name) = name else { return Ok(newest) };
    let found: Vec<&Backup> = backups
        .iter()
        .filter(|backup| backup.name().starts_with(name))
        .collect();
    match found[..] {
        [backup] => Ok(backup),
        _ => {
            let names: Vec<String> = backups.iter().map(Backup::name).collect();
            Err(CommandError::new(format!("there is no single backup named {name}"))
                .hint(format!("there are {}", names.join(", "))))
        }
    }
}

/// Locks every worktree that shares the database, or refuses because a run holds a lock.
fn lock_worktrees(project: &Project) -> Result<Vec<WorktreeLock>, CommandError> {
    let mut locks = Vec::new();
    for root in project.roots() {
        let lock = Project::run_lock_in(&root);
        if !lock.parent().is_some_and(std::path::Path::is_dir) {
            continue;
        }
        let holder = format!("process {}", std::process::id());
        locks.push(WorktreeLock::take(&lock, &holder).map_err(|error| match error {
            LockError::Taken { holder } => live(&format!("a run works in {} ({holder})", root.display())),
            error @ LockError::Io { .. } => CommandError::new(error.to_string()),
        })?);
    }
    Ok(locks)
}

/// Refuses if the current database has a live run, for example on another host. An unreadable database has none.
fn refuse_live_runs(context: &Context<'_>) -> Result<(), CommandError> {
    let database = context.project.database();
    let Ok(Some(store)) = Store::open_read_only(&database) else {
        return Ok(());
    };
    let runs = store.recent_runs(RUNS).unwrap_or_default();
    let now = context.clock().now();
    match runs.iter().find(|run| run.ended.is_none() && is_live(run, now)) {
        Some(run) => Err(live(&format!("{} is still running", run.begun.id))),
        None => Ok(()),
    }
}

fn live(which: &str) -> CommandError {
    CommandError::new(format!("{which}, so nothing was restored")).hint("stop it, or wait until it ends")
}
