//! What a run does for the safety of the database before it begins: it waits for disk space, makes a backup, and keeps others
//! from reading what is ralph's.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::thread;
use std::time::Duration;

use ralph_loop::is_disk_full;
use ralph_memory::capture::Surroundings;
use ralph_store::{Backups, RecordCounts, Store, StoreError};

use crate::backup_hint::{is_lost, newest_backup, restore_words};
use crate::context::Context;
use crate::error::CommandError;
use crate::paths;

/// What a locked database means for a run.
pub(super) const PAUSED_BY_LOCK: &str = "The run is paused and goes on by itself when it is free; Ctrl+C stops it.";

/// How often a full disk is looked at.
const LOOK: Duration = Duration::from_secs(1);

/// Makes the folders of a run when there is room for them, and keeps others from reading them. No connection to the database
/// may be open.
pub(super) fn prepare_folders(context: &Context<'_>) -> Result<(), CommandError> {
    wait_for_disk_space(context);
    let project = &context.project;
    project.prepare_database_folder(&project.root.join(paths::RALPH))?;
    project.create_home()?;
    if let Err(error) = project.close_all_to_others() {
        context.ui.warning(&format!("{}.", error.message()));
    }
    Ok(())
}

/// Waits while the disk is full, and says so once. Ctrl+C ends it, as it ends any program.
fn wait_for_disk_space(context: &Context<'_>) {
    let project = &context.project;
    let database = project.database();
    let mut places = vec![project.root.clone()];
    // A folder that does not exist yet is on the disk of the one above it.
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
        .warning("The disk is full. The run is paused and goes on by itself when there is room; Ctrl+C stops it.");
    while is_disk_full(&places) {
        thread::sleep(LOOK);
    }
    context.ui.status("There is room again; the run goes on.");
}

/// Opens the database for a run. While another process keeps it locked, that is said once, and waited for.
pub(super) fn open_when_unlocked(context: &Context<'_>) -> Result<Store, CommandError> {
    let mut store = Store::open_or_create(&context.project.fact_store())?;
    store.act_as(context.actor.author());
    let mut is_told = false;
    loop {
        match store.probe_write() {
            // Each probe waits for a while itself.
            Err(error @ StoreError::Busy { .. }) if !is_told => {
                context.ui.warning(&format!("{error}. {PAUSED_BY_LOCK}"));
                is_told = true;
            }
            Err(StoreError::Busy { .. }) => {}
            // A full disk is waited for when the run begins.
            Ok(()) | Err(StoreError::Full { .. }) => break,
            Err(error) => return Err(error.into()),
        }
    }
    if is_told {
        context.ui.status("The database is free again; the run goes on.");
    }
    Ok(store)
}

/// The database as it was before a run.
pub(super) struct DatabaseBefore {
    /// Its device and inode.
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

    /// The error of a failed run, with the way to restore the backup if the database is another file than before, damaged, or
    /// has less on record.
    pub(super) fn hint(&self, context: &Context<'_>, error: CommandError) -> CommandError {
        let place = context.project.fact_store();
        let is_lost = file_id(&place.path) != self.file || is_lost(&place, self.counts);
        match newest_backup(&place).filter(|_| is_lost) {
            Some(backup) => error.hint(restore_words(&backup)),
            None => error,
        }
    }
}

fn file_id(path: &Path) -> Option<(u64, u64)> {
    let file = std::fs::metadata(path).ok()?;
    Some((file.dev(), file.ino()))
}

/// Protects the database at the start of a run. What cannot be done is a warning: it does not keep the run from working.
pub(super) fn protect(context: &Context<'_>, store: &Store) {
    let ui = context.ui;
    if let Err(error) = back_up(context, store) {
        ui.warning(&format!("No backup of the database was made: {}.", error.message()));
    }
    if store.has_unsafe_log().is_ok_and(|is| is) {
        let shown = context.project.database();
        let shown = context.project.shown(&shown);
        ui.warning(&format!(
            "{shown} is on a network file system with a write-ahead log, which is not safe there: use it from one machine \
             only, or run `sqlite3 {shown} 'PRAGMA journal_mode = DELETE'` while nothing else uses it."
        ));
    }
}

/// Makes a backup if the last one is older than a day.
fn back_up(context: &Context<'_>, store: &Store) -> Result<(), CommandError> {
    let folder = context.make_state_folder()?;
    let backups = Backups::in_folder(&folder.backups());
    store.back_up_if_due(&backups, context.clock().now())?;
    Ok(())
}
