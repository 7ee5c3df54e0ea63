//! Tests of importing another tool's database in place, with an error, a full disk or a kill at calls that change
//! something on disk. Afterwards either the original is in place with everything that belongs to it, or the new
//! database is, with the original next to it. The next attempt succeeds either way.

use ralph_testkit::TestEnv;
use rusqlite::Connection;

use super::{PROGRAM, copy_project, under_fault};

const DATABASE: &str = ".ralph/progress.db";
const KEPT: &str = ".ralph/progress.db.refound";

/// The most calls between the completion of the new database and its being in place.
const LAST_CALLS: usize = 24;
/// Of the calls before these, only every n-th is tested.
const STEP: usize = 12;

/// The schema of RefoundAI's ralph and sample rows; shared with the store's tests.
const SCHEMA: &str = include_str!("../../../ralph-store/tests/takeover/refound_3.sql");
const ROWS: &str = include_str!("../../../ralph-store/tests/takeover/refound_rows.sql");

#[expect(clippy::disallowed_methods, reason = "the other tool opens its own database")]
fn connect(env: &TestEnv, name: &str) -> Connection {
    Connection::open(env.path(name)).unwrap()
}

/// A project with a database of RefoundAI's ralph. A process was killed, so half of it is in the log.
fn project() -> TestEnv {
    let env = TestEnv::new(PROGRAM);
    std::fs::create_dir(env.path(".ralph")).unwrap();
    let open = connect(&env, DATABASE);
    open.execute_batch("PRAGMA journal_mode = WAL").unwrap();
    open.execute_batch(SCHEMA).unwrap();
    open.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
        .unwrap();
    open.execute_batch("PRAGMA wal_autocheckpoint = 0").unwrap();
    open.execute_batch(ROWS).unwrap();
    let killed = TestEnv::new(PROGRAM);
    for name in [DATABASE, ".ralph/progress.db-wal"] {
        killed.write(name, std::fs::read(env.path(name)).unwrap());
    }
    killed
}

/// The number of tasks and iterations in a database.
fn rows(env: &TestEnv, name: &str) -> (i64, i64) {
    let database = connect(env, name);
    let count = |table: &str| {
        database
            .query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0))
            .unwrap()
    };
    (count("tasks"), count("journal"))
}

fn is_ours(env: &TestEnv) -> bool {
    std::fs::read(env.path(DATABASE)).unwrap().get(68..72) == Some(b"ralp".as_slice())
}

/// Checks that everything was imported, and that the complete original is next to it.
fn assert_imported(env: &TestEnv) {
    // Our database has tables of the same names.
    assert_eq!(rows(env, DATABASE), (5, 4));
    assert_eq!(rows(env, KEPT), (5, 4));
}

/// Tests a fault at one call; `None` if there are fewer calls.
fn at_call(base: &TestEnv, fault: &str, without: &str) -> Option<()> {
    let env = TestEnv::new(PROGRAM);
    copy_project(&base.project(), &env.project());
    let invocation = env.ralph(["import", "refound"]).env("RALPH_FAULT_WITHOUT", without);
    let (finished, came) = under_fault(&env, invocation, fault);
    if is_ours(&env) {
        assert_imported(&env);
    } else {
        assert_ne!(finished.code, Some(0), "{finished}");
        let copy = TestEnv::new(PROGRAM);
        copy_project(&env.project(), &copy.project());
        assert_eq!(
            rows(&copy, DATABASE),
            (5, 4),
            "{fault}: the original is whole: {finished}"
        );
        env.ok(["import", "refound"]);
        assert_imported(&env);
    }
    let left = std::fs::read_dir(env.path(".ralph")).unwrap();
    let mut left = left.map(|file| file.unwrap().file_name().into_string().unwrap());
    assert!(!left.any(|name| name.contains("importing")), "{fault}: {finished}");
    if !came {
        assert_eq!(finished.code, Some(0), "{finished}");
    }
    came.then_some(())
}

/// Tests every call from the start of the replacement, and some of the many similar calls before.
fn at_calls(fault: impl Fn(usize) -> String, without: &str) {
    let base = project();
    let at = |call: usize| at_call(&base, &fault(call), without);
    let mut calls = 0;
    while at(calls + STEP).is_some() {
        calls += STEP;
    }
    assert!(calls > LAST_CALLS, "only {calls} calls were reached");
    for call in calls + 1 - LAST_CALLS.. {
        if at(call).is_none() {
            return;
        }
    }
}

#[test]
fn a_killed_import_leaves_the_original_or_the_result() {
    at_calls(|call| format!("kill:{call}"), "");
}

#[test]
fn a_failed_import_leaves_the_original_or_the_result() {
    at_calls(|call| format!("fail:{call}:{}", libc::EIO), "");
}

#[test]
fn a_full_disk_leaves_the_original_or_the_result() {
    at_calls(|call| format!("full:{call}"), "");
}

#[test]
fn an_import_without_hard_links_keeps_a_copy() {
    at_calls(|call| format!("kill:{call}"), "link");
}
