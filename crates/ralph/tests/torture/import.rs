//! Taking over another tool's database, with an error, a full disk or a kill at every single call that changes something on
//! disk: either the original stands in its place with all that belongs to it, or the finished one does and the original
//! beside it; and the next try comes to the same end.

use ralph_testkit::TestEnv;
use rusqlite::Connection;

use super::{PROGRAM, copy_project, under_fault};

const DATABASE: &str = ".ralph/progress.db";
const KEPT: &str = ".ralph/progress.db.refound";

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

/// How many tasks and iterations the other tool finds in its database.
fn theirs(env: &TestEnv, name: &str) -> (i64, i64) {
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
    let tasks = env.ok(["task", "list", "--all", "--format", "quiet"]);
    assert_eq!(tasks.lines().count(), 5);
    assert_eq!(env.ok(["journal", "list", "--format", "quiet"]).lines().count(), 4);
    assert_eq!(theirs(env, KEPT), (5, 4));
}

fn at_every_call(fault: impl Fn(usize) -> String, without: &str) {
    let base = project();
    for call in 1.. {
        let env = TestEnv::new(PROGRAM);
        copy_project(&base.project(), &env.project());
        let invocation = env.ralph(["import", "refound"]).env("RALPH_FAULT_WITHOUT", without);
        let (finished, came) = under_fault(&env, invocation, &fault(call));
        if is_ours(&env) {
            assert_taken_over(&env);
        } else {
            assert_ne!(finished.code, Some(0), "{finished}");
            let copy = TestEnv::new(PROGRAM);
            copy_project(&env.project(), &copy.project());
            assert_eq!(
                theirs(&copy, DATABASE),
                (5, 4),
                "{}: the original is whole: {finished}",
                fault(call)
            );
            env.ok(["import", "refound"]);
            assert_taken_over(&env);
        }
        let left = std::fs::read_dir(env.path(".ralph")).unwrap();
        let left: Vec<String> = left
            .map(|file| file.unwrap().file_name().into_string().unwrap())
            .collect();
        assert!(
            !left.iter().any(|name| name.contains("importing")),
            "{}: {left:?}",
            fault(call)
        );
        if !came {
            assert_eq!(finished.code, Some(0), "{finished}");
            assert!(call > 20, "only {call} calls were reached");
            return;
        }
    }
}

#[test]
fn a_take_over_that_is_killed_at_any_call_leaves_the_original_or_the_finished_one() {
    at_every_call(|call| format!("kill:{call}"), "");
}

#[test]
fn a_take_over_that_meets_an_error_at_any_call_leaves_the_original_or_the_finished_one() {
    at_every_call(|call| format!("fail:{call}:{}", libc::EIO), "");
}

#[test]
fn a_take_over_on_a_full_disk_leaves_the_original_or_the_finished_one() {
    at_every_call(|call| format!("full:{call}"), "");
}

#[test]
fn a_take_over_without_hard_links_keeps_a_copy() {
    at_every_call(|call| format!("kill:{call}"), "link");
}
