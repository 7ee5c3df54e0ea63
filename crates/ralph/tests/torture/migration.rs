//! A database of an earlier version, and a command that brings it up to date under errors, a full disk and kills at every
//! call that changes something on disk: it is the old one or the new one, and no row of it is lost.

use std::path::Path;

use ralph_testkit::TestEnv;
use rusqlite::Connection;

use super::{PROGRAM, copy_project, under_fault};

const DATABASE: &str = ".ralph/progress.db";

/// The earlier version: its number, and how it came about.
const OLD: i64 = 5;
const OLD_SCHEMA: &[&str] = &[
    include_str!("../../../ralph-store/migrations/0001_note_log.sql"),
    include_str!("../../../ralph-store/migrations/0002_loop.sql"),
    include_str!("../../../ralph-store/migrations/0003_pauses.sql"),
    include_str!("../../../ralph-store/migrations/0004_features.sql"),
    include_str!("../../../ralph-store/migrations/0005_imported.sql"),
];
const ROWS: i64 = 40;
/// Enough that neither the copy nor the new pages fit into one write.
const FILL: &str = "
    WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 40)
    INSERT INTO journal (run_id, iteration, task_title, attempt, outcome, stop_reason, reason, model_rationale,
                         duration_ms, cost_usd, input_tokens, output_tokens, files_modified, changed_nothing,
                         malformed_sigils, created_at, terms)
    SELECT 'run-00000001', n, 'Fix number ' || n, 1, 'done', 'task_done', '', '', 5, 0.5, 0, 0, '[]', 0, 0,
           '2025-01-20T12:00:00.000Z', 'fix number' FROM numbers;
    INSERT INTO learnings (id, kind, category, content, tags, confidence, success_rate, source, source_loops, journal,
                           status, created_at, updated_at)
    SELECT 'learn-' || printf('%08x', iteration), 'strategy', 'other', 'Lesson ' || iteration, '[\"number\"]', 0.5, 1.0,
           'sigil', '[]', id, 'pending', created_at, created_at FROM journal;";

#[expect(clippy::disallowed_methods, reason = "the test looks at the database from outside")]
fn open(path: &Path) -> Connection {
    Connection::open(path).unwrap()
}

/// A project whose database an earlier version has left.
fn project() -> TestEnv {
    let env = TestEnv::new(PROGRAM);
    env.write(".ralph/.gitignore", "*\n");
    let database = open(&env.path(DATABASE));
    for step in OLD_SCHEMA {
        database.execute_batch(step).unwrap();
    }
    database.pragma_update(None, "application_id", 0x7261_6c70).unwrap();
    database.pragma_update(None, "user_version", OLD).unwrap();
    database.execute_batch("PRAGMA journal_mode = WAL;").unwrap();
    database.execute_batch(FILL).unwrap();
    env
}

/// The number of a database's schema, how many rows of the journal it has and how many lessons, and whether it is whole.
fn standing(path: &Path) -> (i64, i64, i64, String) {
    let database = open(path);
    let sql = "SELECT (SELECT user_version FROM pragma_user_version), (SELECT count(*) FROM journal),
                      (SELECT count(*) FROM learnings), (SELECT integrity_check FROM pragma_integrity_check)";
    let read = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?));
    database.query_row(sql, [], read).unwrap()
}

/// Brings the database up to date with the fault at every call, or every so many, and looks at what that leaves.
fn at_calls(step: usize, fault: impl Fn(usize) -> String) {
    let base = project();
    let is = |version: i64| (version, ROWS, ROWS, "ok".to_owned());
    let new = {
        let env = copy_of(&base);
        env.ok(["journal", "list"]);
        standing(&env.path(DATABASE)).0
    };
    assert!(new > OLD);
    for call in (1..).step_by(step) {
        let env = copy_of(&base);
        let (finished, came) = under_fault(&env, env.ralph(["journal", "list"]), &fault(call));
        // Looked at in a copy: whoever opens a database clears up after the one who was killed.
        let look = copy_of(&env);
        let found = standing(&look.path(DATABASE));
        assert!(
            found == is(OLD) || found == is(new),
            "call {call}: {found:?} {finished}"
        );
        let copy = look.path(".ralph/progress.db.v5");
        if copy.exists() {
            assert_eq!(standing(&copy), is(OLD), "call {call}: {finished}");
        } else {
            assert_eq!(found, is(OLD), "call {call}: migrated without a copy: {finished}");
        }
        if finished.code == Some(0) {
            assert_eq!(found, is(new), "call {call}: {finished}");
        }
        let next = env.ralph(["journal", "list"]).run();
        assert_eq!(next.code, Some(0), "call {call}: {finished}{next}");
        assert_eq!(standing(&env.path(DATABASE)), is(new), "call {call}: {finished}{next}");
        assert_eq!(
            standing(&env.path(".ralph/progress.db.v5")),
            is(OLD),
            "call {call}: {finished}"
        );
        if !came {
            assert_eq!(finished.code, Some(0), "{finished}");
            assert!(call > 20, "only {call} calls were reached");
            return;
        }
    }
}

fn copy_of(base: &TestEnv) -> TestEnv {
    let env = TestEnv::new(PROGRAM);
    copy_project(&base.project(), &env.project());
    env
}

#[test]
fn a_kill_at_any_call_leaves_the_old_database_or_the_new() {
    at_calls(1, |call| format!("kill:{call}"));
}

#[test]
fn an_error_leaves_the_old_database_or_the_new() {
    at_calls(5, |call| format!("fail:{call}:{}", libc::EIO));
}

#[test]
fn a_disk_that_fills_up_leaves_the_old_database_or_the_new() {
    at_calls(5, |call| format!("full:{call}"));
}
