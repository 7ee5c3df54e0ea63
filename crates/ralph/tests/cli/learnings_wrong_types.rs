//! A learning with a value of an invalid type is reported, and everything else works.

use insta::assert_snapshot;
use ralph_testkit::{TestEnv, corrupt_row};
use rusqlite::Connection;

use crate::past::task;
use crate::{DATABASE, env};

const SCHEMA: [&str; 5] = [
    include_str!("../../../ralph-store/migrations/0010_schema.sql"),
    include_str!("../../../ralph-store/migrations/0011_checkouts.sql"),
    include_str!("../../../ralph-store/migrations/0012_commits.sql"),
    include_str!("../../../ralph-store/migrations/0013_denials.sql"),
    include_str!("../../../ralph-store/migrations/0014_tasks.sql"),
];
const LEARNINGS: &str = "
    INSERT INTO learnings (id, kind, category, content, tags, confidence, success_rate, source, source_loops, status,
                           created_at, updated_at, lesson, terms, tag_terms)
    VALUES ('learn-00000001', 'strategy', 'other', 'Run the migrations first', '[\"migrations\"]', 0.8, 1.0, 'human', '[]',
            'promoted', '2025-01-20T12:00:00.000Z', '2025-01-20T12:00:00.000Z', 'run the migrations first',
            'run migrat first 0x migrat', '[[\"migrat\",\"migrations\"]]'),
           ('learn-00000002', 'strategy', 'other', 'The migrations need a socket', '[\"migrations\"]', 0.8, 1.0, 'human', '[]',
            'promoted', '2025-01-20T12:00:00.000Z', '2025-01-20T12:00:00.000Z', 'the migrations need a socket',
            'migrat need socket 0x migrat', '[[\"migrat\",\"migrations\"]]');";

#[expect(clippy::disallowed_methods, reason = "the test damages a database")]
fn damaged() -> TestEnv {
    let env = env();
    env.write(".ralph/.gitignore", "*\n");
    let database = Connection::open(env.path(DATABASE)).unwrap();
    for migration in SCHEMA {
        database.execute_batch(migration).unwrap();
    }
    database.pragma_update(None, "application_id", 0x7261_6c70).unwrap();
    database.pragma_update(None, "user_version", 14).unwrap();
    database.execute_batch("PRAGMA journal_mode = WAL;").unwrap();
    database.execute_batch(LEARNINGS).unwrap();
    corrupt_row(
        &database,
        "learnings",
        "UPDATE learnings SET confidence = 'sure' WHERE id = 'learn-00000001'",
    );
    env
}

/// Doctor's findings about the database.
fn doctor(env: &TestEnv) -> String {
    let looked = env.ralph(["doctor"]).run();
    let (mut lines, mut is_about_it) = (Vec::new(), false);
    for line in looked.stdout.lines() {
        is_about_it = line.contains(DATABASE) || (is_about_it && line.trim_start().starts_with('→'));
        lines.extend(is_about_it.then(|| line.trim_start()));
    }
    lines.join("\n")
}

#[test]
fn verify_and_doctor_report_the_learning() {
    let env = damaged();
    assert_snapshot!(doctor(&env), @"
    error    .ralph/progress.db: 1 problem with the learnings; learn-00000001 cannot be read
    → `ralph learnings verify` shows them and how to fix each
    ");
    assert_snapshot!(env.ralph(["learnings", "verify"]).run(), @"
    exit 1
    --- stdout
    learn-00000001: it cannot be read: a text as the confidence; `ralph learnings delete learn-00000001` deletes it
    --- stderr
    Error: 1 problem with the learnings
    ");
    assert_snapshot!(doctor(&env), @"
    error    .ralph/progress.db: 1 problem with the learnings; learn-00000001 cannot be read
    → `ralph learnings verify` shows them and how to fix each
    ");
    env.ok(["learnings", "delete", "learn-00000001", "--yes"]);
    env.ok(["learnings", "verify"]);
    assert_snapshot!(doctor(&env), @"ok       .ralph/progress.db is intact: 0 changes to memories and guardrails on record");
}

#[test]
fn other_commands_still_work() {
    let env = damaged();
    let task = task(&env, "Work on the migrations");
    for arguments in [
        &["learnings", "list"] as &[&str],
        &["learnings", "query", "migrations"],
        &["prompt", &task],
    ] {
        let done = env.ralph(arguments.iter().copied()).run();
        assert_eq!(done.code, Some(0), "{arguments:?}: {done}");
        assert!(
            done.stdout.contains("The migrations need a socket"),
            "{arguments:?}: {done}"
        );
    }
    for arguments in [
        &["learnings", "stats"] as &[&str],
        &["learnings", "add", "Run the tests twice", "--category", "other"],
        &["learnings", "update", "learn-00000002", "--tags", "socket"],
        &["learnings", "promote", "--all"],
        &["learnings", "validate"],
        &["learnings", "prune", "--dry-run"],
        &["learnings", "conflicts"],
        &["learnings", "reject", "learn-00000002"],
        &["review"],
        &["status"],
        &["stats"],
        &["recall", "migrations"],
        &["journal", "list"],
    ] {
        let done = env.ralph(arguments.iter().copied()).run();
        assert_eq!(done.code, Some(0), "{arguments:?}: {done}");
    }
    let fixed = env.ralph(["learnings", "verify", "--fix"]).run();
    assert!(fixed.stdout.contains("learn-00000001: it cannot be read"), "{fixed}");
}
