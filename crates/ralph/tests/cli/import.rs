//! `ralph import`.

mod orchestrator;
mod refound;

use std::path::Path;

use ralph_testkit::TestEnv;
use rusqlite::Connection;

use crate::DATABASE;

/// What makes a database of RefoundAI's ralph, a file a format, and sample rows; the store's own tests use the same.
const REFOUND: [&str; 4] = [
    include_str!("../../../ralph-store/tests/takeover/refound_3.sql"),
    include_str!("../../../ralph-store/tests/takeover/refound_4.sql"),
    include_str!("../../../ralph-store/tests/takeover/refound_5.sql"),
    include_str!("../../../ralph-store/tests/takeover/refound_rows.sql"),
];

/// A project whose database is of RefoundAI's ralph, with rows in it.
fn refound_project() -> TestEnv {
    let env = crate::env();
    std::fs::create_dir(env.path(".ralph")).unwrap();
    refound(&env.path(DATABASE));
    env
}

/// A database of RefoundAI's ralph, with rows in it, as that tool leaves it when it ends.
fn refound(path: &Path) {
    let database = connect(path);
    database.execute_batch("PRAGMA journal_mode = WAL").unwrap();
    for step in REFOUND {
        database.execute_batch(step).unwrap();
    }
}

#[expect(clippy::disallowed_methods, reason = "the other tool opens its own database")]
fn connect(path: &Path) -> Connection {
    Connection::open(path).unwrap()
}
