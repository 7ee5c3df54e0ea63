//! Taking over another tool's database, with an error, a full disk or a kill at calls that change something on disk: either
//! the original stands in its place with all that belongs to it, or the finished one does and the original beside it; and
//! the next try comes to the same end.

use ralph_testkit::TestEnv;
use rusqlite::Connection;

use super::{PROGRAM, copy_project, under_fault};

const DATABASE: &str = ".ralph/progress.db";
const KEPT: &str = ".ralph/progress.db.refound";

/// How many calls there are at most from the end of the new database to its being in its place.
const LAST_CALLS: usize = 24;
/// Of the calls before these, one in so many is looked at.
const STEP: usize = 12;

/// What makes a database of RefoundAI's ralph, and sample rows; the store's own tests use the same.
const SCHEMA: &str = include_str!("../../../ralph-store/tests/takeover/refound_3.sql");
const ROWS: &str = include_str!("../../../ralph-store/tests/takeover/refound_rows.sql");

#[expect(clippy::disallowed_methods, reason = "the other tool opens its own database")]
fn connect(env: &TestEnv, name: &str) -> Connection {
    Connection::open(env.path(name)).unwrap()
}

/// A project whose database is of RefoundAI's ralph. A process of it was killed, so that half of it is in the log.
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

/// How many tasks and iterations a database holds.
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

/// Checks that everything was imported, and that the original is beside it with everything that it held.
fn assert_taken_over(env: &TestEnv) {
    // Ours has tables of the same names.
    assert_eq!(rows(env, DATABASE), (5, 4));
    assert_eq!(rows(env, KEPT), (5, 4));
}

/// What comes of a fault at one call; none when there are fewer calls.
fn at_call(base: &TestEnv, fault: &str, without: &str) -> Option<()> {
    let env = TestEnv::new(PROGRAM);
    copy_project(&base.project(), &env.project());
    let invocation = env.ralph(["import", "refound"]).env("RALPH_FAULT_WITHOUT", without);
    let (finished, came) = under_fault(&env, invocation, fault);
    if is_ours(&env) {
        assert_taken_over(&env);
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
        assert_taken_over(&env);
    }
    let left = std::fs::read_dir(env.path(".ralph")).unwrap();
    let mut left = left.map(|file| file.unwrap().file_name().into_string().unwrap());
    assert!(!left.any(|name| name.contains("importing")), "{fault}: {finished}");
    if !came {
        assert_eq!(finished.code, Some(0), "{finished}");
    }
    came.then_some(())
}

/// Every call from the one on that begins to put the new database in its place, and of those that make it, which are all
/// alike, some.
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
fn a_take_over_that_is_killed_at_any_call_leaves_the_original_or_the_finished_one() {
    at_calls(|call| format!("kill:{call}"), "");
}

#[test]
fn a_take_over_that_meets_an_error_at_any_call_leaves_the_original_or_the_finished_one() {
    at_calls(|call| format!("fail:{call}:{}", libc::EIO), "");
}

#[test]
fn a_take_over_on_a_full_disk_leaves_the_original_or_the_finished_one() {
    at_calls(|call| format!("full:{call}"), "");
}

#[test]
fn a_take_over_without_hard_links_keeps_a_copy() {
    at_calls(|call| format!("kill:{call}"), "link");
}
