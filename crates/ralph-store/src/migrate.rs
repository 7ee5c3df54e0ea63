//! Numbered migrations. Each is applied once, in one transaction, after the old database was backed up.

use rusqlite::{Connection, TransactionBehavior};

use crate::backup::Backups;
use crate::open::{APPLICATION_ID, MigrateError, in_memory};
use crate::place::PlaceRef;

/// The number of the first migration, which creates the whole schema.
const FIRST: i64 = 10;

/// The migrations in order. `user_version` is the number of the last one applied.
pub(crate) const MIGRATIONS: &[&str] = &[include_str!("../migrations/0010_schema.sql")];

/// Brings a database up to date. Refuses one that is older than the first migration or newer than the last.
pub(crate) fn migrate(connection: &Connection, place: PlaceRef<'_>, migrations: &[&str]) -> Result<(), MigrateError> {
    let found = check_version(connection, migrations)?;
    let known = last_number(migrations);
    if found == known {
        return Ok(());
    }
    if found > 0 {
        let folder = place.backups.ok_or(MigrateError::NoBackupFolder)?;
        Backups::in_folder(folder).make_before_migration(connection, place.path)?;
    }
    let transaction = rusqlite::Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
    // Another process may have migrated while this one waited.
    let done = check_version(&transaction, migrations)?;
    for (number, migration) in (FIRST..).zip(migrations) {
        if number > done {
            transaction.execute_batch(migration)?;
        }
    }
    transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    transaction.pragma_update(None, "user_version", known)?;
    Ok(transaction.commit()?)
}

/// The schema version of a database that these migrations can bring up to date; 0 for an empty one.
pub(crate) fn check_version(connection: &Connection, migrations: &[&str]) -> Result<i64, MigrateError> {
    let found = version(connection)?;
    let known = last_number(migrations);
    match found {
        1.. if found < FIRST => Err(MigrateError::Older { found }),
        _ if found > known => Err(MigrateError::Newer { found, known }),
        _ => Ok(found),
    }
}

fn last_number(migrations: &[&str]) -> i64 {
    FIRST - 1 + i64::try_from(migrations.len()).unwrap_or_default()
}

pub(crate) fn is_up_to_date(connection: &Connection) -> rusqlite::Result<bool> {
    Ok(version(connection)? == last_number(MIGRATIONS))
}

pub(crate) fn version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.query_row("PRAGMA user_version", [], |row| row.get(0))
}

/// Tables and other schema objects that are missing from an up-to-date database, each as its kind and name.
pub(crate) fn missing_objects(connection: &Connection) -> rusqlite::Result<Vec<(String, String)>> {
    if !is_up_to_date(connection)? {
        return Ok(Vec::new());
    }
    let model = in_memory()?;
    for migration in MIGRATIONS {
        model.execute_batch(migration)?;
    }
    let present = objects(connection)?;
    let mut expected = objects(&model)?;
    expected.retain(|object| !present.contains(object));
    Ok(expected)
}

fn objects(connection: &Connection) -> rusqlite::Result<Vec<(String, String)>> {
    let sql = "SELECT type, name FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY type <> 'table', type, name";
    let mut statement = connection.prepare(sql)?;
    let objects = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    objects.collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::DatabasePlace;

    #[test]
    fn older_schema_is_backed_up_and_migrated_and_newer_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let mut place = DatabasePlace {
            path: folder.path().join("progress.db"),
            backups: None,
        };
        let first = format!("{} CREATE TABLE a (x)", MIGRATIONS[0]);
        let steps = [&first, "ALTER TABLE a ADD COLUMN y"];
        let connection = crate::open::connect_for_test(&place.path);
        migrate(&connection, (&place).into(), &steps[..1]).unwrap();
        connection.execute("INSERT INTO a VALUES (7)", []).unwrap();
        let refused = migrate(&connection, (&place).into(), &steps).unwrap_err();
        assert!(matches!(refused, MigrateError::NoBackupFolder));
        place.backups = Some(folder.path().join("state/backups"));
        migrate(&connection, (&place).into(), &steps).unwrap();
        let row: (i64, Option<i64>) = connection
            .query_row("SELECT x, y FROM a", [], |row| Ok((row.get(0)?, row.get(1)?)))
            .unwrap();
        assert_eq!(row, (7, None));
        let backups = Backups::in_folder(&folder.path().join("state/backups")).list().unwrap();
        let [backup] = &backups[..] else { panic!("{backups:?}") };
        let before = crate::open::connect_for_test(&backup.path);
        assert_eq!(version(&before).unwrap(), 10);
        assert_eq!(before.query_row("SELECT * FROM a", [], |row| row.get(0)), Ok(7));
        let refused = migrate(&connection, (&place).into(), &steps[..1]).unwrap_err();
        assert!(matches!(refused, MigrateError::Newer { found: 11, known: 10 }));
    }

    #[test]
    fn unreleased_schema_is_refused_and_unchanged() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("progress.db");
        crate::open::connect_for_test(&path)
            .execute_batch(&format!(
                "CREATE TABLE a (x); PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = 9;"
            ))
            .unwrap();
        let before = fs::read(&path).unwrap();
        for opened in [
            crate::Store::open_existing(&path, crate::Wait::Long).map(drop),
            crate::Store::open_read_only(&path).map(drop),
            crate::Store::open_or_create(&path).map(drop),
        ] {
            assert!(matches!(opened, Err(crate::StoreError::Older { found: 9, .. })));
        }
        assert_eq!(fs::read(&path).unwrap(), before);
    }
}
