//! The step to iteration memory, from a database that has a row of every form that was ever written: every value is kept,
//! what is new is right, and whoever is stopped half way leaves the old or the new.

mod compare;
mod database;
mod lessons;

use std::path::Path;

use tempfile::TempDir;

use super::*;
use crate::open::connect_for_test;
use crate::{Store, Wait};
use compare::{Old, assert_sound, texts};
use database::{FILL, GIANT, TITLES};

/// The number of the schema before the step.
const BEFORE: usize = 5;

/// A folder with a database from before the step, filled, and as a process leaves it that has ended.
fn before() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let path = database_in(folder.path());
    let connection = connect_for_test(&path);
    migrate(&connection, &path, &MIGRATIONS[..BEFORE]).unwrap();
    connection.pragma_update(None, "journal_mode", "WAL").unwrap();
    connection.execute_batch(FILL).unwrap();
    for (number, (title, _)) in (1_i64..).zip(TITLES) {
        connection
            .execute(
                "INSERT INTO journal (run_id, iteration, task_id, task_title, attempt, outcome, stop_reason, reason,
                                      model_rationale, duration_ms, cost_usd, input_tokens, output_tokens,
                                      files_modified, changed_nothing, malformed_sigils, created_at, terms)
                 VALUES ('run-000000ff', ?1, NULL, ?2, 1, 'done', 'task_done', '', '', 1, 0, 0, 0, '[]', 0, 0,
                         '2025-01-22T12:00:00.000Z', '')",
                rusqlite::params![number, title],
            )
            .unwrap();
    }
    let giant = "=".repeat(256 << 10);
    let grown = connection.execute(
        "UPDATE learnings SET content = ?1 WHERE id = ?2",
        [giant.as_str(), GIANT],
    );
    assert_eq!(grown, Ok(1));
    folder
}

fn database_in(folder: &Path) -> std::path::PathBuf {
    folder.join("progress.db")
}

/// What a process leaves that is killed now: the files as they are.
fn photograph(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for name in ["progress.db", "progress.db-wal", "progress.db-shm"] {
        match fs::copy(from.join(name), to.join(name)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => panic!("{name}: {error}"),
            _ => {}
        }
    }
}

#[test]
fn every_row_and_every_value_is_kept_and_a_copy_is_made() {
    let folder = before();
    let old = Old::of(&folder);
    let shadows = [
        "journal_fts_config",
        "journal_fts_data",
        "journal_fts_docsize",
        "journal_fts_idx",
    ];
    for (table, rows) in &old.values {
        assert!(
            !rows.is_empty() || shadows.contains(&table.as_str()),
            "{table} is empty"
        );
    }
    let path = database_in(folder.path());
    drop(Store::open_existing(&path, Wait::Long).unwrap().unwrap());
    old.assert_became(folder.path(), "opened");
    let copied = tempfile::tempdir().unwrap();
    fs::copy(folder.path().join("progress.db.v5"), database_in(copied.path())).unwrap();
    old.assert_is(copied.path(), "the copy");
    // Opening it once more changes nothing.
    drop(Store::open_existing(&path, Wait::Long).unwrap().unwrap());
    old.assert_became(folder.path(), "opened twice");
    assert!(!folder.path().join("progress.db.v6").exists());
}

#[test]
fn what_is_new_is_right() {
    let folder = before();
    let path = database_in(folder.path());
    drop(Store::open_existing(&path, Wait::Long).unwrap().unwrap());
    let connection = connect_for_test(&path);
    let types = texts(
        &connection,
        "SELECT task_type FROM journal WHERE run_id = 'run-000000ff' ORDER BY iteration",
    );
    let expected: Vec<&str> = TITLES.iter().map(|(_, task_type)| *task_type).collect();
    assert_eq!(types, expected);
    assert_eq!(texts(&connection, "SELECT DISTINCT tags FROM journal"), ["[]"]);
    let origins = "SELECT journal || ' ' || origin || ' ' || (gate IS NULL AND gate_end IS NULL AND signature IS NULL
                                                              AND shortened_at IS NULL) FROM failure_reports ORDER BY 1";
    assert_eq!(texts(&connection, origins), ["2 agent 1", "3 ralph 1", "4 agent 1"]);
    let judged = "SELECT id || ' ' || status || ' ' || coalesce(task_type, '?') || coalesce(
                      (SELECT group_concat(' ' || journal, '') FROM learning_sources WHERE learning = seq), '')
                  FROM learnings ORDER BY seq";
    assert_eq!(
        texts(&connection, judged),
        [
            "learn-00000001 pending general 1",
            "learn-00000002 pending general 2",
            "learn-00000003 pending general 3",
            "learn-00000004 pending general 4",
            "learn-00000005 pending general 5",
            "learn-00000006 pending feature",
            "learn-00000007 validated general 1",
            "learn-00000008 rejected general 1",
            "learn-00000009 promoted bug-fix 2",
            "learn-0000000a pruned general 1",
            "learn-0000000b pending general 1",
            "learn-0000000c pending general 1",
            "learn-0000000d pending general 1",
            "learn-0000000e pending general 1",
            "learn-0000000f pending general 1",
        ]
    );
    let found_by = |id: &str| {
        let by = "SELECT lesson || ' | ' || terms || ' | ' || coalesce((SELECT group_concat(word || '=' || tag, ' ')
                      FROM learning_tags WHERE learning = seq), '') FROM learnings WHERE id = ";
        texts(&connection, &format!("{by}'{id}'")).remove(0)
    };
    assert_eq!(
        found_by("learn-00000001"),
        "run the tests with one thread they share a port | run test one thread share port 0x cargo test port | \
         cargo=cargo test port=port"
    );
    // Tags that nobody can read are none, and stay as they are.
    assert_eq!(found_by("learn-0000000b"), "kept | kept | ");
    let unused = "SELECT count(*) || '' FROM learnings WHERE successes = 0 AND last_used_at IS NULL AND examples = '[]'
                  AND pruned_from IS NULL";
    assert_eq!(texts(&connection, unused), ["15"]);
}

#[test]
fn where_a_title_does_not_tell_the_description_of_a_task_does_if_it_is_still_there() {
    let folder = before();
    let path = database_in(folder.path());
    let connection = connect_for_test(&path);
    let fill = "UPDATE tasks SET description = 'It crashes.' WHERE id = 't-00000b';
                UPDATE journal SET task_title = 'Implement it' WHERE id = 3;
                UPDATE journal SET task_id = 't-ffffff' WHERE id = 4;";
    connection.execute_batch(fill).unwrap();
    drop(connection);
    drop(Store::open_existing(&path, Wait::Long).unwrap().unwrap());
    let types = texts(
        &connect_for_test(&path),
        "SELECT id || ' ' || task_type FROM journal WHERE id <= 6 ORDER BY id",
    );
    assert_eq!(
        types,
        [
            "1 general",
            "2 bug-fix",
            "3 feature",
            "4 general",
            "5 bug-fix",
            "6 general"
        ]
    );
}

#[test]
fn metrics_leave_out_what_was_interrupted_and_what_happened_elsewhere() {
    let folder = before();
    let path = database_in(folder.path());
    drop(Store::open_existing(&path, Wait::Long).unwrap().unwrap());
    let connection = connect_for_test(&path);
    let sql =
        "SELECT id || ' ' || outcome || ' ' || failed FROM strategy_metrics WHERE run_id <> 'run-000000ff' ORDER BY id";
    assert_eq!(
        texts(&connection, sql),
        ["1 done 0", "2 failed 1", "3 retried 1", "4 blocked 1"]
    );
}

/// The statements of a migration.
fn statements(migration: &str) -> Vec<String> {
    let mut statements = vec![String::new()];
    let mut in_trigger = false;
    for line in migration.lines() {
        in_trigger |= line.starts_with("CREATE TRIGGER");
        let ends = !line.starts_with("--") && line.ends_with(';') && (!in_trigger || line == "END;");
        let statement = statements.last_mut().unwrap();
        statement.push_str(line);
        statement.push('\n');
        if ends {
            in_trigger = false;
            statements.push(String::new());
        }
    }
    assert_eq!(statements.concat().trim_end(), migration.trim_end());
    statements.retain(|statement| !statement.trim().is_empty());
    statements
}

#[test]
fn whoever_is_killed_after_any_statement_leaves_the_old_one_and_the_next_finishes() {
    let folder = before();
    let old = Old::of(&folder);
    let path = database_in(folder.path());
    let photographs = tempfile::tempdir().unwrap();
    let connection = connect_for_test(&path);
    // Pages that do not fit into memory are written before the commit, and nobody may take them for committed.
    connection
        .execute_batch("PRAGMA synchronous = FULL; PRAGMA cache_size = 4")
        .unwrap();
    let (from, to) = (folder.path().to_owned(), photographs.path().to_owned());
    let take = move |call: &rusqlite::functions::Context<'_>| {
        photograph(&from, &to.join(call.get::<i64>(0)?.to_string()));
        Ok(0)
    };
    connection
        .create_scalar_function("photograph", 1, FunctionFlags::SQLITE_UTF8, take)
        .unwrap();
    let statements = statements(MIGRATIONS[BEFORE]);
    let photographed = statements
        .iter()
        .enumerate()
        .map(|(number, statement)| format!("{statement}SELECT photograph({number});\n"));
    let photographed: String = photographed.collect();
    let mut migrations = MIGRATIONS[..BEFORE].to_vec();
    migrations.push(&photographed);
    migrations.extend(&MIGRATIONS[BEFORE + 1..]);
    migrate(&connection, &path, &migrations).unwrap();
    photograph(folder.path(), &photographs.path().join("committed"));
    let log_of = |folder: &Path| fs::metadata(folder.join("progress.db-wal")).unwrap().len();
    let (first, mut longest) = (log_of(&photographs.path().join("0")), 0);
    for (number, statement) in statements.iter().enumerate() {
        let folder = photographs.path().join(number.to_string());
        let when = format!("killed after {statement}");
        longest = longest.max(log_of(&folder));
        old.assert_is(&folder, &when);
        drop(
            Store::open_existing(&database_in(&folder), Wait::Long)
                .unwrap()
                .unwrap(),
        );
        old.assert_became(&folder, &when);
    }
    assert!(longest > first + (200 << 10), "nothing was written before the commit");
    assert!(statements.len() > 30, "{}", statements.len());
    old.assert_became(&photographs.path().join("committed"), "killed after the commit");
}

#[test]
fn a_step_that_fails_at_any_statement_takes_everything_back() {
    let base = before();
    let old = Old::of(&base);
    let statements = statements(MIGRATIONS[BEFORE]);
    for number in 0..=statements.len() {
        let folder = tempfile::tempdir().unwrap();
        photograph(base.path(), folder.path());
        let path = database_in(folder.path());
        let connection = connect_for_test(&path);
        let failing = format!("{}SELECT nobody_knows_this();", statements[..number].concat());
        let mut migrations = MIGRATIONS[..BEFORE].to_vec();
        migrations.push(&failing);
        let when = format!("failed after {number} statements");
        let failed = migrate(&connection, &path, &migrations).unwrap_err();
        assert!(matches!(failed, MigrateError::Sql(_)), "{when}: {failed:?}");
        assert!(connection.is_autocommit(), "{when}");
        old.assert_is(folder.path(), &when);
        // The same process may try again.
        migrate(&connection, &path, MIGRATIONS).unwrap();
        old.assert_became(folder.path(), &when);
    }
}

#[test]
fn an_older_program_that_has_it_open_goes_on_writing() {
    let folder = before();
    let path = database_in(folder.path());
    let older = connect_for_test(&path);
    older.pragma_update(None, "foreign_keys", true).unwrap();
    let lesson =
        "INSERT INTO learnings (id, kind, category, content, tags, confidence, success_rate, source, source_loops,
                                         task, journal, status, created_at, updated_at)
                  VALUES ('learn-000000aa', 'strategy', 'other', 'late', '[\"x\"]', 0.5, 1.0, 'sigil', '[]', NULL, 1,
                          'pending', '2025-01-23T12:00:00.000Z', '2025-01-23T12:00:00.000Z')";
    let mut late = older.prepare(lesson).unwrap();
    let report = "INSERT INTO failure_reports (journal, task, what_tried, why_failed, category, relevant_files,
                                               error_output, suggestion)
                  VALUES (1, NULL, 'this', 'that', 'unknown', '[]', NULL, NULL)";
    drop(Store::open_existing(&path, Wait::Long).unwrap().unwrap());
    assert_eq!(late.execute([]), Ok(1));
    assert_eq!(older.execute(report, []), Ok(1));
    assert_sound(&older);
    assert_eq!(
        texts(&older, "SELECT origin FROM failure_reports WHERE journal = 1"),
        ["agent"]
    );
}
