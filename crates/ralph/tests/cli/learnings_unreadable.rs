//! One learning that cannot be read stands in nobody's way, and everybody is told what mends it.

use insta::assert_snapshot;
use ralph_testkit::TestEnv;

use crate::past::task;
use crate::{DATABASE, env};

/// A project with two learnings, the first of which was shown most and cannot be read; and with a task that both are about.
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
    let task = task(&env, "Mend the migrations");
    let connection = rusqlite::Connection::open(env.path(DATABASE)).unwrap();
    let damage = "UPDATE learnings SET tags = 'not json', use_count = 7 WHERE id = ?1";
    assert_eq!(connection.execute(damage, [&ids[0]]), Ok(1));
    (env, ids.swap_remove(0), task)
}

#[test]
fn where_others_are_looked_at_it_is_passed_over() {
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
    env.ok(["status"]);
    let listed = env.ralph(["learnings", "list"]).run();
    assert!(listed.stdout.contains("The migrations need a socket"), "{listed}");
}

#[test]
fn it_is_named_with_what_mends_it() {
    let (env, id, _) = damaged();
    let shown = env.ralph(["learnings", "show", &id]).run();
    assert_eq!(shown.code, Some(1), "{shown}");
    let what = format!("{id} holds what cannot be read: the tags (expected ident at line 1 column 2)");
    let mended = "`ralph learnings verify` tells what mends it";
    assert!(shown.stderr.ends_with(&format!("{what}; {mended}\n")), "{shown}");
    let verified = env.ralph(["learnings", "verify"]).run();
    assert_snapshot!(verified.to_string().replace(&id, "learn-ID"), @"
    exit 1
    --- stdout
    learn-ID: it holds what cannot be read: the tags (expected ident at line 1 column 2); `ralph learnings delete learn-ID` takes it away
    --- stderr
    Error: 1 thing is wrong with the learnings
    ");
    env.ok(["learnings", "delete", &id, "--yes"]);
    env.ok(["learnings", "verify"]);
}
