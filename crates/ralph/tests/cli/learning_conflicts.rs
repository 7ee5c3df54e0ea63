//! `ralph learnings conflicts` and `ralph learnings supersede`, and messages for changed decisions.

use insta::assert_snapshot;
use ralph_testkit::TestEnv;

use crate::{env, json, names};

/// Adds a learning with its own seed and returns its id.
#[track_caller]
fn add(env: &TestEnv, seed: u64, text: &str) -> String {
    let arguments = [
        "learnings",
        "add",
        text,
        "--category",
        "tool_usage",
        "--tags",
        "make",
        "--format",
        "quiet",
    ];
    let finished = env.ralph(arguments).env("RALPH_SEED", seed.to_string()).run();
    assert_eq!(finished.code, Some(0), "{finished}");
    finished.stdout.trim_end().to_owned()
}

/// Two conflicting learnings, and an unrelated one.
fn sample() -> (TestEnv, [String; 3]) {
    let env = env();
    let ids = [
        add(&env, 1, "Build with -j 4"),
        add(&env, 2, "Read the log of the build first"),
        add(&env, 3, "Build with -j 8"),
    ];
    (env, ids)
}

#[test]
fn conflicts_are_listed_until_one_is_superseded() {
    let (env, [four, log, eight]) = sample();
    assert_snapshot!(env.ralph(["learnings", "conflicts"]).run(), @"
    exit 0
    --- stdout
    ID              STATUS    USED  WHY                      LEARNING
    learn-89025cc1  promoted  0/0   one says 4, the other 8  Build with -j 4
    learn-db018fed  promoted  0/0                            Build with -j 8

    Showing 1 conflict
    --- stderr
    Hint: settle one with `ralph learnings supersede OLD NEW`; keep both with `ralph learnings conflicts --both-hold ONE OTHER`
    ");
    let listed = json(&env, &["learnings", "conflicts", "--json"]);
    assert_eq!(listed[0]["one"]["id"], four.as_str());
    assert_eq!(listed[0]["other"]["id"], eight.as_str());
    assert_eq!(listed[0]["contradiction"]["by"], "value");
    assert_eq!(
        env.ok(["learnings", "conflicts", "--format", "quiet"]),
        format!("{four} {eight}\n")
    );
    assert_eq!(
        env.ok(["learnings", "conflicts", "--format", "markdown"]),
        "- **[tool_usage]** Build with -j 4\n- **[tool_usage]** Build with -j 8\n\n"
    );
    let superseded = env.ok(["learnings", "supersede", &four, &eight]);
    assert_eq!(superseded, format!("Learning superseded: {four} by {eight}\n"));
    assert_eq!(env.ok(["learnings", "conflicts"]), "No learnings conflict.\n");
    assert_eq!(env.ok(["learnings", "conflicts", "--json"]), "[]\n");
    let again = env.ralph(["learnings", "supersede", &four, &eight]).run();
    again.printed(&[&format!("{four} is already superseded by {eight}")]);
    assert_eq!(again.stdout, "");
    for (arguments, why) in [
        ([&eight, &four], " supersedes "),
        ([&eight, &eight], "cannot supersede itself"),
        ([&log, &four], "name "),
    ] {
        let refused = env.ralph(["learnings", "supersede", arguments[0], arguments[1]]).run();
        refused.refused(1, &[why]);
    }
    env.ok(["learnings", "promote", &four]);
    assert_eq!(
        json(&env, &["learnings", "conflicts", "--json"])
            .as_array()
            .unwrap()
            .len(),
        1
    );
}

#[test]
fn superseded_learning_is_marked() {
    let (env, [four, eight, _]) = sample();
    let stats = || json(&env, &["learnings", "stats", "--json"]);
    let held = stats()["totalSize"].as_u64().unwrap();
    env.ok(["learnings", "supersede", &four, &eight]);
    for status in [&[][..], &["--status", "promoted"]] {
        let listed = env.ok([&["learnings", "list"], status].concat());
        assert!(listed.contains(&eight) && !listed.contains(&four), "{listed}");
    }
    for all in [&["--all"][..], &["--status", "superseded"]] {
        let listed = env.ok([&["learnings", "list"], all].concat());
        let row = listed.lines().find(|row| row.starts_with(&four)).unwrap();
        assert!(row.contains("  superseded  "), "{listed}");
        assert!(listed.contains("superseded: not in prompts"), "{listed}");
    }
    let found = json(&env, &["learnings", "list", "--status", "superseded", "--json"]);
    assert_eq!(found.as_array().unwrap().len(), 1);
    assert_eq!(
        [&found[0]["status"], &found[0]["supersededBy"]],
        ["promoted", eight.as_str()]
    );
    let shown = env.ok(["learnings", "show", &four]);
    assert!(
        shown.starts_with(&format!("{four} [superseded by {eight}]\n")),
        "{shown}"
    );
    let none = format!("\nin prompts  none: superseded by {eight}; reactivate with `ralph learnings promote {four}`\n");
    assert!(shown.contains(&none) && !shown.contains("\ninstead"), "{shown}");
    let after = stats();
    assert_eq!(after["totalSize"], held - 1, "as many as an export contains");
    assert_eq!([&after["superseded"], &after["byStatus"]["promoted"]], [1, held]);
    let printed = env.ok(["learnings", "stats"]);
    assert!(printed.contains("\nsuperseded      1\n"), "{printed}");
}

#[test]
fn kept_pair_is_not_a_conflict() {
    let (env, [four, log, eight]) = sample();
    assert_eq!(
        env.ok(["learnings", "conflicts", "--both-hold", &eight, &four]),
        format!("Kept both: {eight} and {four}\n")
    );
    assert_eq!(env.ok(["learnings", "conflicts"]), "No learnings conflict.\n");
    env.ralph(["learnings", "conflicts", "--both-hold", &four, &eight])
        .run()
        .printed(&["already marked as compatible"]);
    for (one, other, why) in [
        (four.as_str(), log.as_str(), "do not conflict"),
        (&four, &four, "cannot conflict with itself"),
        (&four, "learn-00000000", "Learning not found"),
    ] {
        let refused = env.ralph(["learnings", "conflicts", "--both-hold", one, other]).run();
        refused.refused(1, &[why]);
    }
    let alone = env.ralph(["learnings", "conflicts", "--both-hold", &four]).run();
    assert_eq!(alone.code, Some(2), "{alone}");
}

#[test]
fn reading_creates_no_database() {
    let env = env();
    assert_eq!(env.ok(["learnings", "conflicts"]), "No learnings conflict.\n");
    env.ralph(["learnings", "supersede", "1a2b", "3c4d"])
        .run()
        .refused(1, &["Learning not found: 1a2b"]);
    assert_eq!(names(&env), [] as [&str; 0]);
}

#[test]
fn re_adding_a_rejected_learning_is_reported() {
    let (env, [four, ..]) = sample();
    let say = |text: &str| {
        let arguments = ["learnings", "add", text, "--category", "tool_usage"];
        let said = env.ralph(arguments).run();
        assert_eq!(said.code, Some(0), "{said}");
        (said.stdout, said.stderr)
    };
    env.ok(["learnings", "reject", &four, "--reason", "it was the cache."]);
    assert_eq!(
        say("build with -j 4"),
        (
            format!("Learning promoted: {four}\n"),
            "You had rejected it (it was the cache); it is active again.\n".to_owned()
        )
    );
    env.ok(["learnings", "reject", &four]);
    assert_eq!(say("build with -j 4").1, "You had rejected it; it is active again.\n");
    assert_eq!(say("build with -j 4").1, "Already known; confidence raised.\n");
}

#[test]
fn restored_learning_stays_superseded() {
    let (env, [four, log, eight]) = sample();
    env.ok(["learnings", "supersede", &four, &eight]);
    for id in [&log, &eight] {
        env.ok(["learnings", "update", id, "--confidence", "0.9"]);
    }
    env.ok(["learnings", "prune", "--below", "0.8"]);
    let restored = env.ok(["learnings", "restore", &four]);
    let expected = format!("Learning restored: {four} (promoted); still superseded by {eight}");
    assert!(restored.contains(&expected), "{restored}");
    env.ok(["learnings", "promote", &four]);
    let back = json(&env, &["learnings", "show", &four, "--json"]);
    assert_eq!(back["supersededBy"], serde_json::Value::Null, "{back}");
}
