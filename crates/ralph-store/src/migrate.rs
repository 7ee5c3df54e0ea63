//! Numbered migrations: each is applied once, in one transaction, after a copy of the old database was made.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use rusqlite::functions::{Context, FunctionFlags};
use rusqlite::{Connection, TransactionBehavior};

use crate::open::{APPLICATION_ID, MigrateError, folder_of};
use crate::progress::{learning_terms, lesson_of, tag_terms, task_type_of};

/// The migrations in order. The number of a database is how many of them it has had; they are never edited.
pub(crate) const MIGRATIONS: &[&str] = &[
    include_str!("../migrations/0001_note_log.sql"),
    include_str!("../migrations/0002_loop.sql"),
    include_str!("../migrations/0003_pauses.sql"),
    include_str!("../migrations/0004_features.sql"),
    include_str!("../migrations/0005_imported.sql"),
    include_str!("../migrations/0006_iteration_memory.sql"),
    include_str!("../migrations/0007_semantic_memory.sql"),
    include_str!("../migrations/0008_evidence.sql"),
    include_str!("../migrations/0009_sealed_standing.sql"),
];

/// Brings a database up to date; refuses one that is newer than these migrations.
pub(crate) fn migrate(connection: &Connection, path: &Path, migrations: &[&str]) -> Result<(), MigrateError> {
    let known = i64::try_from(migrations.len()).unwrap_or(i64::MAX);
    let found = version(connection)?;
    if found > known {
        return Err(MigrateError::Newer { found, known });
    }
    if found == known {
        return Ok(());
    }
    if found > 0 {
        let copy = path.with_extension(format!("db.v{found}"));
        if !copy.exists() {
            keep_copy(connection, &copy, found)?;
        }
    }
    add_functions(connection)?;
    let transaction = rusqlite::Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
    // Another process may have migrated while this one waited.
    let done = usize::try_from(version(&transaction)?).unwrap_or_default();
    for migration in migrations.iter().skip(done) {
        transaction.execute_batch(migration)?;
    }
    transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    transaction.pragma_update(None, "user_version", known)?;
    Ok(transaction.commit()?)
}

/// What migrations ask that SQL cannot answer: how words are cut. No trigger and no view does, so that any other program can
/// read and write the database.
fn add_functions(connection: &Connection) -> rusqlite::Result<()> {
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC | FunctionFlags::SQLITE_DIRECTONLY;
    connection.create_scalar_function("task_type_of", 1, flags, |call| {
        Ok(task_type_of(&text(call, 0)?, "").word())
    })?;
    connection.create_scalar_function("lesson_of", 1, flags, |call| Ok(lesson_of(&text(call, 0)?)))?;
    connection.create_scalar_function("learning_terms_of", 2, flags, |call| {
        Ok(learning_terms(&text(call, 0)?, &listed(&text(call, 1)?)))
    })?;
    connection.create_scalar_function("tag_terms_of", 1, flags, |call| {
        let terms = tag_terms(&listed(&text(call, 0)?));
        serde_json::to_string(&terms).map_err(|error| rusqlite::Error::UserFunctionError(error.into()))
    })
}

/// A text that a function is asked about. SQLite takes any bytes for one; those that are none must not keep everything else
/// from being migrated.
fn text(call: &Context<'_>, argument: usize) -> rusqlite::Result<String> {
    let bytes = call.get_raw(argument).as_bytes()?;
    Ok(String::from_utf8_lossy(bytes).into_owned())
}

/// A list as a column holds it; one that cannot be read is empty.
fn listed(json: &str) -> Vec<String> {
    serde_json::from_str(json).unwrap_or_default()
}

/// Copies a database as it is. What has the copy's name is whole and on the disk: it gets it last.
pub(crate) fn keep_copy(connection: &Connection, copy: &Path, found: i64) -> Result<(), MigrateError> {
    let mut unfinished = copy.to_owned().into_os_string();
    unfinished.push(format!(".{}", std::process::id()));
    let unfinished = Path::new(&unfinished);
    match fs::remove_file(unfinished) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error.into()),
        _ => {}
    }
    connection.execute("VACUUM INTO ?1", [unfinished.to_string_lossy()])?;
    if version(connection)? != found {
        // Another process was faster: it has made the copy, and this one may be of what came after.
        return Ok(fs::remove_file(unfinished)?);
    }
    File::open(unfinished)?.sync_all()?;
    fs::rename(unfinished, copy)?;
    Ok(File::open(folder_of(copy))?.sync_all()?)
}

/// Whether a database has had all migrations.
pub(crate) fn is_up_to_date(connection: &Connection) -> rusqlite::Result<bool> {
    Ok(usize::try_from(version(connection)?) == Ok(MIGRATIONS.len()))
}

/// How many migrations a database has had.
pub(crate) fn version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.query_row("PRAGMA user_version", [], |row| row.get(0))
}

#[cfg(test)]
mod step_tests;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_database_from_before_the_loop_gains_its_tables_and_keeps_its_log() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("progress.db");
        let connection = crate::open::connect_for_test(&path);
        migrate(&connection, &path, &MIGRATIONS[..1]).unwrap();
        connection
            .execute_batch(
                "INSERT INTO note_files (id, worktree, path, inode, size, mtime_ns, ctime_ns, head)
                 VALUES (1, '', 'memories.md', 1, 1, 1, 1, NULL);
                 INSERT INTO note_log (file, at, note, action, kind, content, tags, created, extra)
                 VALUES (1, '2025-01-20T12:00:00.000Z', 'mem-1-abcd', 'added', 'fix', 'kept', '', '2025-01-20', '[]');",
            )
            .unwrap();
        drop(connection);
        let store = crate::Store::open_existing(&path, crate::Wait::Long).unwrap().unwrap();
        let [version] = store.note_history("mem-1").unwrap().try_into().unwrap();
        assert_eq!(version.note.content, "kept");
        assert_eq!(store.overview(0, "").unwrap().last_journal, 0);
        drop(store);
        let copy = crate::open::connect_for_test(&folder.path().join("progress.db.v1"));
        let in_copy = |sql| copy.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap();
        assert_eq!(in_copy("SELECT count(*) FROM note_log"), 1);
        assert_eq!(in_copy("SELECT count(*) FROM sqlite_schema WHERE name = 'tasks'"), 0);
    }

    #[test]
    fn features_of_every_earlier_schema_are_kept_and_stand_where_their_tasks_do() {
        for known in 0..MIGRATIONS.len() {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("progress.db");
            let connection = crate::open::connect_for_test(&path);
            migrate(&connection, &path, &MIGRATIONS[..known]).unwrap();
            let has_status = connection
                .prepare("SELECT status FROM features")
                .and_then(|mut statement| statement.exists([]));
            if has_status.is_ok() {
                connection
                    .execute_batch(
                        "INSERT INTO features (id, name, status, created_at, updated_at) VALUES
                             ('f-00000a', 'search', 'done', '2025-01-20T12:00:00.000Z', '2025-01-20T12:00:00.000Z');
                         INSERT INTO tasks (id, title, description, status, kind, priority, feature, created_at, updated_at)
                         VALUES ('t-00000a', 'Find', '', 'in_progress', 'once', 5, 'f-00000a',
                                 '2025-01-20T12:00:00.000Z', '2025-01-20T13:00:00.000Z');",
                    )
                    .unwrap();
            }
            drop(connection);
            let store = crate::Store::open_or_create(&path).unwrap();
            let found = store.features().unwrap();
            let found = found
                .iter()
                .map(|feature| format!("{} {}, {}", feature.name, feature.status, feature.updated_at));
            let expected: &[&str] = match has_status {
                Ok(_) => &["search in_progress, 2025-01-20T13:00:00Z"],
                Err(_) => &[],
            };
            assert_eq!(found.collect::<Vec<_>>(), expected, "from {known}");
        }
    }

    #[test]
    fn the_journal_of_every_earlier_schema_is_kept_and_is_our_own() {
        for known in 2..MIGRATIONS.len() {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("progress.db");
            let connection = crate::open::connect_for_test(&path);
            migrate(&connection, &path, &MIGRATIONS[..known]).unwrap();
            connection
                .execute_batch(
                    "INSERT INTO journal (run_id, iteration, task_title, attempt, outcome, stop_reason, reason,
                                          model_rationale, duration_ms, cost_usd, input_tokens, output_tokens,
                                          files_modified, changed_nothing, malformed_sigils, created_at, terms)
                     VALUES ('run-00000001', 1, 'Find', 1, 'done', 'task_done', '', '', 5, 0.5, 0, 0, '[]', 0, 0,
                             '2025-01-20T12:00:00.000Z', '')",
                )
                .unwrap();
            drop(connection);
            let store = crate::Store::open_or_create(&path).unwrap();
            assert_eq!(
                store.journal_last().unwrap().unwrap().row.task_title,
                "Find",
                "from {known}"
            );
            let news = store.overview(0, "").unwrap();
            assert_eq!((news.last_journal, news.duration_ms), (1, 5), "from {known}");
        }
    }

    #[test]
    fn an_older_database_is_copied_and_brought_up_to_date_and_a_newer_one_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("progress.db");
        let steps = ["CREATE TABLE a (x)", "ALTER TABLE a ADD COLUMN y"];
        let connection = crate::open::connect_for_test(&path);
        migrate(&connection, &path, &steps[..1]).unwrap();
        connection.execute("INSERT INTO a VALUES (7)", []).unwrap();
        migrate(&connection, &path, &steps).unwrap();
        let row: (i64, Option<i64>) = connection
            .query_row("SELECT x, y FROM a", [], |row| Ok((row.get(0)?, row.get(1)?)))
            .unwrap();
        assert_eq!(row, (7, None));
        assert!(folder.path().join("progress.db.v1").exists());
        let refused = migrate(&connection, &path, &steps[..1]).unwrap_err();
        assert!(matches!(refused, MigrateError::Newer { found: 2, known: 1 }));
    }

    #[test]
    fn a_copy_that_was_not_finished_is_not_taken_for_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("progress.db");
        let steps = ["CREATE TABLE a (x)", "ALTER TABLE a ADD COLUMN y"];
        let connection = crate::open::connect_for_test(&path);
        migrate(&connection, &path, &steps[..1]).unwrap();
        // As a process with this one's number would have left it when it was killed.
        let copy = folder.path().join("progress.db.v1");
        let unfinished = folder.path().join(format!("progress.db.v1.{}", std::process::id()));
        File::create(&unfinished).unwrap();
        keep_copy(&connection, &copy, 1).unwrap();
        assert!(copy.exists() && !unfinished.exists());
        fs::remove_file(&copy).unwrap();
        // One of what came later is none.
        migrate(&connection, &path, &steps).unwrap();
        fs::remove_file(&copy).unwrap();
        keep_copy(&connection, &copy, 1).unwrap();
        assert!(!copy.exists() && !unfinished.exists());
    }
}
