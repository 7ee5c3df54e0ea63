//! One unreadable learning does not block other commands, and is reported with a fix.

use insta::assert_snapshot;
use ralph_testkit::{TestEnv, corrupt_row};
use serde_json::json;

use crate::past::task;
use crate::{DATABASE, env, json};

/// A project with two learnings, of which the most used is unreadable, and a task that both match.
#[expect(clippy::disallowed_methods, reason = "a disk that lies")]
fn damaged() -> (TestEnv, String, String) {
    let env = env();
    let mut ids = Vec::new();
    for (seed, text) in ["Run the migrations before the tests", "The migrations need a socket"]
        .iter()
        .enumerate()
    {
        let add = [
            "learnings",
            "add",
            text,
            "--category",
            "testing_strategy",
            "--tags",
            "migrations",
        ];
        let added = env
            .ralph(add.into_iter().chain(["--format", "quiet"]))
            .env("RALPH_SEED", seed.to_string())
            .run();
        ids.push(added.stdout.trim().to_owned());
    }
    let task = task(&env, "Work on the migrations");
    let connection = rusqlite::Connection::open(env.path(DATABASE)).unwrap();
    let damage = "UPDATE learnings SET tags = 'not json', use_count = 7 WHERE id = ?1";
    assert_eq!(connection.execute(damage, [&ids[0]]), Ok(1));
    (env, ids.swap_remove(0), task)
}

#[test]
fn unreadable_learning_is_skipped_elsewhere() {
    let (env, id, task) = damaged();
    for arguments in [
        &["prompt", &task] as &[&str],
        &["learnings", "list"],
        &["learnings", "query", "migrations"],
        &["learnings", "conflicts"],
        &[
            "learnings",
            "add",
            "Before the tests, the migrations must run",
            "--category",
            "testing_strategy",
        ],
        &["learnings", "stats"],
        &["review"],
    ] {
        let done = env.ralph(arguments.iter().copied()).run();
        assert_eq!(done.code, Some(0), "{arguments:?}: {done}");
        let names_it = done.stderr.contains(&id) && done.stderr.contains("`ralph learnings verify`");
        assert!(names_it, "{arguments:?}: {done}");
    }
    let listed = env.ralph(["learnings", "list"]).run();
    assert!(listed.stdout.contains("The migrations need a socket"), "{listed}");
}

#[test]
fn unreadable_learning_is_reported_with_a_fix() {
    let (env, id, _) = damaged();
    let shown = env.ralph(["learnings", "show", &id]).run();
    assert_eq!(shown.code, Some(1), "{shown}");
    let what = format!("{id} cannot be read: the tags (expected ident at line 1 column 2)");
    let fix = "run `ralph learnings verify` to see how to fix it";
    assert!(shown.stderr.ends_with(&format!("{what}; {fix}\n")), "{shown}");
    let verified = env.ralph(["learnings", "verify"]).run();
    assert_snapshot!(verified.to_string().replace(&id, "learn-ID"), @"
    exit 1
    --- stdout
    learn-ID: it cannot be read: the tags (expected ident at line 1 column 2); `ralph learnings delete learn-ID` deletes it
    --- stderr
    Error: 1 problem with the learnings
    ");
    env.ok(["learnings", "delete", &id, "--yes"]);
    env.ok(["learnings", "verify"]);
}

#[test]
fn status_counts_unreadable_learnings() {
    let (env, ..) = damaged();
    let status = env.ralph(["status"]).run();
    assert_eq!(status.code, Some(0), "{status}");
    let line = "Damaged  1 learning cannot be read; run `ralph learnings verify` to see how to fix this\n";
    assert!(status.stdout.contains(line), "{status}");
    assert_eq!(json(&env, &["status", "--json"])["unreadable_learnings"], 1);
    let whole = env.ralph(["learnings", "verify"]).run();
    assert_eq!(whole.code, Some(1), "{whole}");
}

/// Unknown statuses, kinds and times are unreadable.
#[test]
#[expect(clippy::disallowed_methods, reason = "a disk that lies")]
fn stats_count_the_others() {
    for damage in [
        "status = 'lost'",
        "kind = 'odd'",
        "source = 'sky'",
        "updated_at = 'zzz'",
        "confidence = 'sure'",
    ] {
        let (env, id, _) = damaged();
        let connection = rusqlite::Connection::open(env.path(DATABASE)).unwrap();
        let whole = format!("UPDATE learnings SET tags = '[]' WHERE id = '{id}'");
        assert_eq!(connection.execute(&whole, []), Ok(1));
        corrupt_row(
            &connection,
            "learnings",
            &format!("UPDATE learnings SET {damage} WHERE id = '{id}'"),
        );
        let stats = env.ralph(["learnings", "stats", "--json"]).run();
        assert_eq!(stats.code, Some(0), "{damage}: {stats}");
        let names_it = stats.stderr.contains(&id) && stats.stderr.contains("`ralph learnings verify`");
        assert!(names_it, "{damage}: {stats}");
        let figures: serde_json::Value = serde_json::from_str(&stats.stdout).unwrap();
        assert_eq!(
            (
                &figures["totalSize"],
                &figures["unreadable"],
                &figures["averageConfidence"]
            ),
            (&json!(1), &json!(1), &json!(0.5)),
            "{damage}: {stats}"
        );
        let printed = env.ok(["learnings", "stats"]);
        assert!(printed.contains("\nunreadable      1\n"), "{damage}: {printed}");
        let status = env.ok(["status"]);
        assert!(status.contains("1 learning cannot be read"), "{damage}: {status}");
    }
}
