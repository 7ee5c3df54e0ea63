//! Checks whether the newest backup has data that the database lost, and writes the hint that explains how to restore
//! it.

use ralph_store::{Backup, Backups, DatabasePlace, RecordCounts, Store, StoreError};

/// The newest backup of a database; `None` if there is none, or it cannot be determined.
pub(crate) fn newest_backup(place: &DatabasePlace) -> Option<Backup> {
    let folder = place.backups.as_deref()?;
    Backups::in_folder(folder).newest().ok().flatten()
}

pub(crate) fn restore_advice(backup: &Backup) -> String {
    format!(
        "`ralph doctor --restore-backup` restores the backup of {} ({})",
        backup.made_at.strftime("%Y-%m-%d %H:%M UTC"),
        backup.path.display()
    )
}

/// A backup with more records than the database.
pub(crate) struct FullerBackup {
    pub(crate) backup: Backup,
    pub(crate) has: RecordCounts,
    pub(crate) database_has: RecordCounts,
}

impl FullerBackup {
    /// The newest backup, if it has more tasks or journal entries than the database. An unreadable backup counts as
    /// empty.
    pub(crate) fn find(place: &DatabasePlace, store: &Store) -> Result<Option<Self>, StoreError> {
        let Some(backup) = newest_backup(place) else {
            return Ok(None);
        };
        let database_has = store.record_counts()?;
        Ok(backup
            .record_counts()
            .ok()
            .filter(|has| has_more(*has, database_has))
            .map(|has| Self {
                backup,
                has,
                database_has,
            }))
    }
}

/// Returns true if a database is missing or damaged, or has fewer records than it had.
pub(crate) fn is_lost(place: &DatabasePlace, had: Option<RecordCounts>) -> bool {
    let checked = Store::open_read_only(place).and_then(|store| {
        let Some(store) = store else { return Ok(true) };
        let is_damaged = !store.health()?.faults.is_empty();
        let has = store.record_counts()?;
        Ok(is_damaged || had.is_some_and(|had| has_more(had, has)))
    });
    checked.unwrap_or_else(|error| {
        matches!(
            error,
            StoreError::Lost { .. }
                | StoreError::NotADatabase { .. }
                | StoreError::Sql { .. }
                | StoreError::Damaged { .. }
                | StoreError::Replaced { .. }
        )
    })
}

fn has_more(one: RecordCounts, other: RecordCounts) -> bool {
    one.tasks > other.tasks || one.journal_entries > other.journal_entries
}
