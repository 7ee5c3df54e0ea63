//! Tests of `ralph import`.

mod orchestrator;
mod refound;

use std::path::Path;

use ralph_testkit::TestEnv;
use rusqlite::Connection;

use crate::DATABASE;

/// Scripts that create a database of RefoundAI's ralph, one per format, and sample rows; shared with the store's tests.
const REFOUND: [&str; 4] = [
    include_str!("../../../ralph-store/tests/takeover/refound_3.sql"),
    include_str!("../../../ralph-store/tests/takeover/refound_4.sql"),
    include_str!("../../../ralph-store/tests/takeover/refound_5.sql"),
    include_str!("../../../ralph-store/tests/takeover/refound_rows.sql"),
];

/// A project with a database of RefoundAI's ralph.
fn refound_project() -> TestEnv {
    let env = crate::env();
    std::fs::create_dir(env.path(".ralph")).unwrap();
    refound(&env.path(DATABASE));
    env
}

/// Creates a database of RefoundAI's ralph with rows, as that tool leaves it on exit.
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
