//! The steps from one schema to the next, each from a database that has a row of every form that was ever written: every value
//! is kept, what is new is right, and whoever is stopped half way leaves the old or the new.

mod compare;
mod database;
mod evidence;
mod iteration_memory;
mod lessons;
mod sealed_standing;
mod semantic_memory;
mod wrong_types;

use std::path::Path;

use tempfile::TempDir;

use super::*;
use crate::open::connect_for_test;
use crate::{Store, Wait};
use compare::Old;
use database::{FILL, GIANT, LATER_FILL, LATEST_FILL, TITLES};

/// A step, and what it may change in rows that are there.
struct Step {
    /// The number of the schema before it.
    from: usize,
    /// The columns of lessons that it, or one that comes after it, has to say anew.
    says_anew: &'static [&'static str],
    /// It has at least so many statements.
    statements: usize,
    /// So many bytes at least are in the log before it is committed.
    written_before: u64,
}

const ITERATION_MEMORY: Step = Step {
    from: 5,
    says_anew: &["status", "task_type", "success_rate"],
    statements: 30,
    written_before: 200 << 10,
};
const SEMANTIC_MEMORY: Step = Step {
    from: 6,
    says_anew: &["success_rate"],
    statements: 15,
    written_before: 200 << 10,
};
const EVIDENCE: Step = Step {
    from: 7,
    says_anew: &[],
    statements: 3,
    written_before: 0,
};
const SEALED_STANDING: Step = Step {
    from: 8,
    says_anew: &[],
    statements: 3,
    written_before: 0,
};
const STEPS: [Step; 4] = [ITERATION_MEMORY, SEMANTIC_MEMORY, EVIDENCE, SEALED_STANDING];

impl Step {
    /// A folder with a database from before the step, filled, and as a process leaves it that has ended.
    fn before(&self) -> TempDir {
        let folder = tempfile::tempdir().unwrap();
        let path = database_in(folder.path());
        let connection = connect_for_test(&path);
        migrate(&connection, &path, &MIGRATIONS[..ITERATION_MEMORY.from]).unwrap();
        connection.pragma_update(None, "journal_mode", "WAL").unwrap();
        fill(&connection);
        let later = [
            (SEMANTIC_MEMORY.from, LATER_FILL),
            (EVIDENCE.from, LATEST_FILL),
            (SEALED_STANDING.from, ""),
        ];
        for (number, fill) in later.into_iter().filter(|(number, _)| *number <= self.from) {
            migrate(&connection, &path, &MIGRATIONS[..number]).unwrap();
            connection.execute_batch(fill).unwrap();
            fs::remove_file(path.with_extension(format!("db.v{}", number - 1))).unwrap();
        }
        folder
    }

    /// The statements of the step.
    fn statements(&self) -> Vec<String> {
        statements(MIGRATIONS[self.from])
    }

    /// All migrations up to the step, which is this one instead.
    fn with<'m>(&self, step: &'m str) -> Vec<&'m str> {
        let mut migrations = MIGRATIONS[..self.from].to_vec();
        migrations.push(step);
        migrations
    }
}

fn fill(connection: &Connection) {
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
fn every_row_and_every_value_is_kept_and_a_copy_is_made() {
    for step in STEPS {
        let folder = step.before();
        let old = Old::of(&folder, &step);
        for (table, rows) in &old.values {
            // Nothing is left in the last of these when a transaction is over.
            let may_be_empty = table.contains("_fts") || table == "learnings_before";
            assert!(!rows.is_empty() || may_be_empty, "{table} is empty");
        }
        let path = database_in(folder.path());
        drop(Store::open_existing(&path, Wait::Long).unwrap().unwrap());
        old.assert_became(folder.path(), "opened");
        let copied = tempfile::tempdir().unwrap();
        fs::copy(
            folder.path().join(format!("progress.db.v{}", step.from)),
            database_in(copied.path()),
        )
        .unwrap();
        old.assert_is(copied.path(), "the copy");
        // Opening it once more changes nothing.
        drop(Store::open_existing(&path, Wait::Long).unwrap().unwrap());
        old.assert_became(folder.path(), "opened twice");
        assert!(!folder.path().join(format!("progress.db.v{}", step.from + 1)).exists());
    }
}

#[test]
fn whoever_is_killed_after_any_statement_leaves_the_old_one_and_the_next_finishes() {
    for step in STEPS {
        kill_after_each(&step);
    }
}

fn kill_after_each(step: &Step) {
    let folder = step.before();
    let old = Old::of(&folder, step);
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
    let statements = step.statements();
    let photographed = statements
        .iter()
        .enumerate()
        .map(|(number, statement)| format!("{statement}SELECT photograph({number});\n"));
    let photographed: String = photographed.collect();
    let mut migrations = step.with(&photographed);
    migrations.extend(&MIGRATIONS[step.from + 1..]);
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
    assert!(
        longest >= first + step.written_before,
        "nothing was written before the commit"
    );
    assert!(statements.len() > step.statements, "{}", statements.len());
    old.assert_became(&photographs.path().join("committed"), "killed after the commit");
}

#[test]
fn a_step_that_fails_at_any_statement_takes_everything_back() {
    for step in STEPS {
        fail_at_each(&step);
    }
}

fn fail_at_each(step: &Step) {
    let base = step.before();
    let old = Old::of(&base, step);
    let statements = step.statements();
    for number in 0..=statements.len() {
        let folder = tempfile::tempdir().unwrap();
        photograph(base.path(), folder.path());
        let path = database_in(folder.path());
        let connection = connect_for_test(&path);
        let failing = format!("{}SELECT nobody_knows_this();", statements[..number].concat());
        let when = format!("failed after {number} statements");
        let failed = migrate(&connection, &path, &step.with(&failing)).unwrap_err();
        assert!(matches!(failed, MigrateError::Sql(_)), "{when}: {failed:?}");
        assert!(connection.is_autocommit(), "{when}");
        old.assert_is(folder.path(), &when);
        // The same process may try again.
        migrate(&connection, &path, MIGRATIONS).unwrap();
        old.assert_became(folder.path(), &when);
    }
}
