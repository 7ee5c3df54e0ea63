//! Protects the database before a run: waits for disk space, makes a backup, and closes ralph's files to other users.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::thread;
use std::time::Duration;

use ralph_loop::is_disk_full;
use ralph_store::{Backups, RecordCounts, Store, StoreError};

use crate::backup_hint::{is_lost, newest_backup, restore_advice};
use crate::context::Context;
use crate::error::CommandError;

pub(super) const PAUSED_BY_LOCK: &str = "The run is paused and continues when the lock is released; Ctrl+C stops it.";

const DISK_POLL_INTERVAL: Duration = Duration::from_secs(1);

/// Creates the folders of a run once there is disk space, and closes them to other users. No database connection may be
/// open.
pub(super) fn prepare_folders(context: &Context<'_>) -> Result<(), CommandError> {
    wait_for_disk_space(context);
    let project = &context.project;
    project.create_folders()?;
    if let Err(error) = project.restrict_permissions() {
        context.ui.warning(&format!("{}.", error.message()));
    }
    Ok(())
}

/// Waits while the disk is full, and warns once.
fn wait_for_disk_space(context: &Context<'_>) {
    let project = &context.project;
    let database = project.database();
    let mut places = vec![project.root.clone()];
    // A folder that does not exist yet is on the same disk as its nearest existing parent.
    places.extend(
        database
            .ancestors()
            .skip(1)
            .find(|folder| folder.is_dir())
            .map(Path::to_owned),
    );
    if !is_disk_full(&places) {
        return;
    }
    context
        .ui
        .warning("The disk is full. The run is paused and continues when there is disk space; Ctrl+C stops it.");
    while is_disk_full(&places) {
        thread::sleep(DISK_POLL_INTERVAL);
    }
    context.ui.status("There is disk space again; the run continues.");
}

/// Opens the database for a run. Waits while another process keeps it locked, and warns once.
pub(super) fn open_when_unlocked(context: &Context<'_>) -> Result<Store, CommandError> {
    let mut store = Store::open_or_create(&context.project.fact_store())?;
    store.act_as(context.actor.author());
    let mut has_warned = false;
    loop {
        match store.probe_write() {
            // Each probe waits for a while.
            Err(error @ StoreError::Busy { .. }) if !has_warned => {
                context.ui.warning(&format!("{error}. {PAUSED_BY_LOCK}"));
                has_warned = true;
            }
            Err(StoreError::Busy { .. }) => {}
            // The run waits for a full disk when it begins.
            Ok(()) | Err(StoreError::Full { .. }) => break,
            Err(error) => return Err(error.into()),
        }
    }
    if has_warned {
        context.ui.status("The database is unlocked again; the run continues.");
    }
    Ok(store)
}

pub(super) struct DatabaseBefore {
    file: Option<(u64, u64)>,
    counts: Option<RecordCounts>,
}

impl DatabaseBefore {
    pub(super) fn of(context: &Context<'_>, store: &Store) -> Self {
        Self {
            file: file_id(&context.project.database()),
            counts: store.record_counts().ok(),
        }
    }

    /// Adds a hint to restore the backup if the database was replaced, is damaged, or has lost records.
    pub(super) fn hint(&self, context: &Context<'_>, error: CommandError) -> CommandError {
        let place = context.project.fact_store();
        let is_lost = file_id(&place.path) != self.file || is_lost(&place, self.counts);
        match newest_backup(&place).filter(|_| is_lost) {
            Some(backup) => error.hint(restore_advice(&backup)),
            None => error,
        }
    }
}

fn file_id(path: &Path) -> Option<(u64, u64)> {
    let file = std::fs::metadata(path).ok()?;
    Some((file.dev(), file.ino()))
}

/// Protects the database at the start of a run. A failure is only a warning.
pub(super) fn protect(context: &Context<'_>, store: &Store) {
    let ui = context.ui;
    if let Err(error) = back_up(context, store) {
        ui.warning(&format!("Cannot back up the database: {}.", error.message()));
    }
    if store.has_unsafe_log().is_ok_and(|is| is) {
        let shown = context.project.database();
        let shown = context.project.shown(&shown);
        ui.warning(&format!(
            "{shown} is on a network file system with a write-ahead log, which is not safe there: use it from only one \
             machine, or run `sqlite3 {shown} 'PRAGMA journal_mode = DELETE'` while nothing else uses it."
        ));
    }
}

fn back_up(context: &Context<'_>, store: &Store) -> Result<(), CommandError> {
    let folder = context.make_state_folder()?;
    let backups = Backups::in_folder(&folder.backups());
    store.back_up_if_due(&backups, context.clock().now())?;
    Ok(())
}
