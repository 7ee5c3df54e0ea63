//! Whether the newest backup has what the database lost, and the hint that says how to restore it.

use ralph_store::{Backup, Backups, DatabasePlace, RecordCounts, Store, StoreError};

/// The newest backup of a database; none where there is none, or it cannot be found out.
pub(crate) fn newest_backup(place: &DatabasePlace) -> Option<Backup> {
    let folder = place.backups.as_deref()?;
    Backups::in_folder(folder).newest().ok().flatten()
}

/// How a backup is restored.
pub(crate) fn restore_words(backup: &Backup) -> String {
    format!(
        "`ralph doctor --restore-backup` restores the backup of {} ({})",
        backup.made_at.strftime("%Y-%m-%d %H:%M UTC"),
        backup.path.display()
    )
}

/// A backup that has more on record than the database.
pub(crate) struct Fuller {
    pub(crate) backup: Backup,
    pub(crate) has: RecordCounts,
    pub(crate) database_has: RecordCounts,
}

impl Fuller {
    /// The newest backup, if it has more tasks or journal entries than the database. One that cannot be read has nothing.
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

/// Whether a database is missing or damaged, or has less on record than it had.
pub(crate) fn is_lost(place: &DatabasePlace, had: Option<RecordCounts>) -> bool {
    let looked = Store::open_to_look(place).and_then(|store| {
        let Some(store) = store else { return Ok(true) };
        let is_damaged = !store.health()?.faults.is_empty();
        let has = store.record_counts()?;
        Ok(is_damaged || had.is_some_and(|had| has_more(had, has)))
    });
    looked.unwrap_or_else(|error| {
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
