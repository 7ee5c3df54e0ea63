//! `ralph learnings stats|verify|update|delete|clear|prune|validate|stage`.

use insta::assert_snapshot;
use ralph_model::{EntryKind, Injection, InjectionReason, Outcome, Tokens};
use ralph_store::{Store, Wait};
use ralph_testkit::TestEnv;
use serde_json::json;

use crate::past::{Worked, task, work};
use crate::{DATABASE, changes, env, foreign_database, json, names};

/// Adds a learning with its own seed and returns its id.
#[track_caller]
fn add<'a>(env: &TestEnv, seed: u64, text: &'a str, more: impl IntoIterator<Item = &'a str>) -> String {
    let arguments = ["learnings", "add", text, "--format", "quiet"].into_iter().chain(more);
    let finished = env.ralph(arguments).env("RALPH_SEED", seed.to_string()).run();
    assert_eq!(finished.code, Some(0), "{finished}");
    finished.stdout.trim_end().to_owned()
}

/// A strategy and an anti-pattern.
fn sample() -> (TestEnv, [String; 2]) {
    let env = env();
    let ids = [
        add(
            &env,
            1,
            "Run the migrations before the tests",
            ["--category", "testing_strategy", "--tags", "postgres"],
        ),
        add(
            &env,
            2,
            "The cache hides the fault",
            ["--category", "pitfall", "--task-type", "bug-fix"],
        ),
    ];
    (env, ids)
}

/// Records an iteration that got a learning.
fn show(env: &TestEnv, seed: u64, id: &str, outcome: Outcome) {
    let tea = task(env, &format!("Make tea {seed}"));
    let shown = [Injection {
        kind: EntryKind::Learning,
        id: id.to_owned(),
        digest: 0,
        section: "learnings".to_owned(),
        rank: 1,
        tokens: Tokens(9),
        score: Some(1.0),
        reason: InjectionReason::Shown,
    }];
    let sees = Worked {
        task: &tea,
        outcome,
        injections: &shown,
        ..Worked::default()
    };
    drop(work(env, seed, &[sees]));
}

#[test]
fn stats_count_learnings() {
    let env = env();
    assert_eq!(env.ok(["learnings", "stats"]), "No learnings yet.\n");
    let empty = json(&env, &["learnings", "stats", "--json"]);
    assert_eq!(
        (&empty["totalSize"], &empty["mostUsedLearning"]),
        (&json!(0), &json!(null))
    );
    assert_eq!(names(&env), [] as [&str; 0], "no files created");
    let (env, ids) = sample();
    show(&env, 5, &ids[0], Outcome::Done);
    env.ok([
        "learnings",
        "reject",
        &add(&env, 3, "Guess the cause", ["--category", "other"]),
    ]);
    assert_snapshot!(env.ok(["learnings", "stats"]), @"
    learnings       2
    changed         2025-01-20T11:20:00Z
    confidence      0.50
    success         0.50
    shown most      learn-89025cc1 in 1 prompt: Run the migrations before the tests
    staging         1: 0 pending, 0 validated, 1 rejected
    superseded      0
    pruned          0

    By type
      strategy      1
      antipattern   1

    By task type
      any           1
      bug-fix       1

    By source
      human         2
    ");
    let stats = json(&env, &["learnings", "stats", "--json"]);
    assert_eq!(
        stats,
        json!({
            "totalSize": 2,
            "lastUpdated": "2025-01-20T11:20:00.000Z",
            "averageConfidence": 0.5,
            "averageSuccessRate": 0.5,
            "mostUsedLearning": {
                "id": ids[0], "type": "strategy", "taskType": null, "content": "Run the migrations before the tests",
                "confidence": 0.5, "successRate": 1.0, "useCount": 1,
            },
            "byType": { "strategy": 1, "antipattern": 1, "estimate": 0, "convention": 0 },
            "byTaskType": { "any": 1, "bug-fix": 1 },
            "bySource": { "sigil": 0, "extracted": 0, "imported": 0, "human": 2 },
            "byStatus": { "pending": 0, "validated": 0, "rejected": 1, "promoted": 2, "pruned": 0 },
            "superseded": 0,
            "staging": { "total": 1, "pending": 0, "validated": 0, "rejected": 1 },
        })
    );
}

#[test]
fn update_keeps_the_earlier_version() {
    let (env, ids) = sample();
    let update = |more: &[&str]| env.ralph([&["learnings", "update", &ids[0]], more].concat()).run();
    let updated = update(&[
        "--content",
        "Run the migrations before the integration tests",
        "--tags",
        "CI, sql",
        "--confidence",
        "0.9",
        "--success-rate",
        "0.7",
    ]);
    updated.printed(&["updated: learn-89025cc1"]);
    let shown = json(&env, &["learnings", "show", &ids[0], "--json"]);
    assert_eq!(
        shown["content"]["description"],
        "Run the migrations before the integration tests"
    );
    assert_eq!(shown["tags"], json!(["ci", "sql"]));
    assert_eq!(
        (&shown["confidence"], &shown["successRate"]),
        (&json!(0.9), &json!(0.7))
    );
    assert_eq!(shown["earlier"][0]["content"], "Run the migrations before the tests");
    let text = env.ok(["learnings", "show", &ids[0]]);
    assert!(
        text.ends_with(
            "\nEarlier\n  until 2025-01-20T11:20:00Z  testing_strategy (strategy)  Run the migrations before the tests \
             [postgres]\n"
        ),
        "{text}"
    );
    assert_eq!(
        env.ok(["learnings", "verify"]),
        "2 learnings checked, no problems found.\n"
    );
}

#[test]
fn invalid_update_changes_nothing() {
    let (env, ids) = sample();
    let update = |more: &[&str]| env.ralph([&["learnings", "update", &ids[0]], more].concat()).run();
    for (more, code, why) in [
        (&[][..], 2, "required"),
        (&["--content", " "], 2, "the text is blank"),
        (&["--content", "ok"], 2, "no meaningful word"),
        (&["--confidence", "1.5"], 2, "a number from 0 to 1"),
        (&["--type", "magic"], 2, "antipattern"),
        (
            &[
                "--content",
                "the CACHE hides the fault!",
                "--category",
                "pitfall",
                "--task-type",
                "bug-fix",
            ],
            1,
            "learn-89025cc1 would be a duplicate of learn-1c9756ce, which is promoted",
        ),
    ] {
        let before = env.ok(["learnings", "show", &ids[0]]);
        update(more).refused(code, &[why]);
        assert_eq!(env.ok(["learnings", "show", &ids[0]]), before);
    }
    let token = format!("ghp_{}", "a1B2".repeat(9));
    let secret = update(&["--content", &format!("use {token}")]);
    assert_eq!(secret.code, Some(2), "{secret}");
    let piped = env
        .ralph(["learnings", "update", &ids[0], "--content", "-", "--json"])
        .input("Run them twice.\r\nAlways.\n")
        .run();
    assert_eq!(piped.stderr, "Converted line breaks to LF.\n");
    assert!(piped.stdout.contains("\"Run them twice.\\nAlways.\""), "{piped}");
}

#[test]
fn delete_needs_yes_and_is_all_or_nothing() {
    let (env, ids) = sample();
    let asked = env.ralph(["learnings", "delete", &ids[0]]).run();
    asked.refused(
        1,
        &["Run the migrations before the tests", "nothing was deleted", "--yes"],
    );
    let unknown = env.ralph(["learnings", "delete", &ids[0], "ffff", "--yes"]).run();
    unknown.refused(1, &["not found: ffff"]);
    assert_eq!(
        json(&env, &["learnings", "list", "--json"]).as_array().unwrap().len(),
        2
    );
    assert_eq!(
        env.ok(["learnings", "delete", &ids[0], "--yes"]),
        "Learning deleted: learn-89025cc1\n"
    );
    assert_eq!(
        json(&env, &["learnings", "list", "--json"]).as_array().unwrap().len(),
        1
    );
    assert_eq!(
        env.ok(["learnings", "verify"]),
        "1 learning checked, no problems found.\n"
    );
}

#[test]
fn deleting_a_successor_rejects_the_superseded() {
    let (env, [old, new]) = sample();
    env.ok(["learnings", "supersede", &old, &new]);
    let deleted = env.ralph(["learnings", "delete", &new, "--yes"]).run();
    deleted.printed(&[
        "deleted: learn-1c9756ce",
        "learn-89025cc1",
        "ralph learnings promote learn-89025cc1",
    ]);
    let rejected = &json(&env, &["learnings", "list", "--all", "--json"])[0];
    assert_eq!(
        (&rejected["status"], &rejected["supersededBy"]),
        (&json!("rejected"), &json!(null))
    );
    env.ok(["learnings", "promote", &old]);
}

#[test]
fn clear_keeps_a_backup() {
    let env = env();
    assert_eq!(env.ok(["learnings", "clear", "--yes"]), "There is nothing to clear.\n");
    assert_eq!(names(&env), [] as [&str; 0]);
    let (env, ids) = sample();
    env.ok(["learnings", "reject", &ids[1]]);
    let asked = env.ralph(["learnings", "clear"]).run();
    assert_eq!(asked.code, Some(1), "{asked}");
    let staged = env.ralph(["learnings", "clear", "--staged", "--yes"]).run();
    staged.printed(&["1 learning deleted", ".ralph/progress.db.cleared-20250120T112000Z"]);
    let all = json(&env, &["learnings", "clear", "--yes", "--json"]);
    assert_eq!(
        all,
        json!({ "deleted": 1, "copy": ".ralph/progress.db.cleared-20250120T112000Z-2" })
    );
    assert_eq!(env.ok(["learnings", "list", "--all"]), "No learnings yet.\n");
    // The backup is a complete database.
    let copy = env.path(".ralph/progress.db.cleared-20250120T112000Z");
    let copy = Store::open_existing(&copy, Wait::Long).unwrap().unwrap();
    assert_eq!(copy.learnings().unwrap().len(), 2);
}

#[test]
fn prune_takes_filters_and_can_be_undone() {
    let (env, ids) = sample();
    env.ok(["learnings", "update", &ids[0], "--confidence", "0.3"]);
    let would = env
        .ralph(["learnings", "prune", "--below", "0.4", "--unused", "--dry-run"])
        .run();
    would.printed(&[
        "learn-89025cc1",
        "confidence or success rate below 0.4, no agent got it",
        "1 learning would be pruned",
    ]);
    assert_eq!(
        env.ok(["learnings", "prune", "--below", "0.4", "--older-than", "90d"]),
        "Nothing was pruned.\n"
    );
    let pruned = env.ok(["learnings", "prune", "--below", "0.4"]);
    assert!(
        pruned.ends_with("1 learning pruned; see `ralph learnings restore --list`\n"),
        "{pruned}"
    );
    env.ok(["learnings", "restore", &ids[0]]);
    assert_eq!(
        json(&env, &["learnings", "list", "--json"]).as_array().unwrap().len(),
        2
    );
    for (arguments, why) in [
        (["--below", "2"], "a number from 0 to 1"),
        (["--older-than", "soon"], "a time with a unit, as in `90d`"),
        (["--older-than", "90"], "a time with a unit, as in `90d`"),
    ] {
        let refused = env.ralph(["learnings", "prune"].into_iter().chain(arguments)).run();
        refused.refused(2, &[why]);
    }
}

/// A learning without text, as another tool may stage one.
fn without_text() -> (TestEnv, String) {
    let env = env();
    let entry = r#"{"type": "strategy", "taskType": "test-fix", "content": {"note": "x"}, "confidence": 0.85,
                    "successRate": 0.85}"#;
    env.write("candidates.json", entry);
    env.ok(["learnings", "stage", "candidates.json"]);
    let listed = json(&env, &["learnings", "list", "--all", "--json"]);
    let id = listed[0]["id"].as_str().unwrap().to_owned();
    (env, id)
}

/// Sets the status with SQL.
#[expect(clippy::disallowed_methods, reason = "another program writes into the database")]
fn set_status(env: &TestEnv, id: &str, status: &str) {
    let connection = rusqlite::Connection::open(env.path(DATABASE)).unwrap();
    connection
        .execute(
            "UPDATE learnings SET status = ?2, reason = NULL WHERE id = ?1",
            [id, status],
        )
        .unwrap();
}

#[test]
fn learning_without_text_cannot_be_promoted() {
    let (env, id) = without_text();
    assert_eq!(id, "learn-89025cc1");
    let review = env.ralph(["review", "--list"]).run();
    review.printed(&[
        "1 learning to review",
        "(no text)",
        "ralph learnings update learn-89025cc1 --content TEXT",
        "ralph learnings reject learn-89025cc1",
    ]);
    assert!(!review.stdout.contains("ralph learnings promote"), "{review}");
    for status in ["pending", "validated", "rejected", "promoted"] {
        set_status(&env, &id, status);
        let refused = env.ralph(["learnings", "promote", &id]).run();
        refused.refused(
            1,
            &[
                "learn-89025cc1 has no text",
                "ralph learnings update learn-89025cc1 --content TEXT",
            ],
        );
        assert_eq!(json(&env, &["learnings", "show", &id, "--json"])["status"], status);
    }
    // It does not block others.
    set_status(&env, &id, "validated");
    let other = add(&env, 7, "Run the migrations before the tests", ["--category", "other"]);
    set_status(&env, &other, "validated");
    let promoted = env.ralph(["learnings", "promote", "--all"]).run();
    promoted.printed(&[
        "promoted: learn-59320dd7",
        "Skipped learn-89025cc1: it has no text",
        "--content TEXT",
    ]);
    for (learning, status) in [(&other, "promoted"), (&id, "validated")] {
        assert_eq!(json(&env, &["learnings", "show", learning, "--json"])["status"], status);
    }
    env.ok(["learnings", "update", &id, "--content", "Write the tests first"]);
    env.ok(["learnings", "promote", &id]);
}

#[test]
fn active_learning_without_text_is_not_injected() {
    let (env, id) = without_text();
    set_status(&env, &id, "promoted");
    let fix = task(&env, "Fix failing login tests");
    let prompt = env.ok(["prompt", &fix]);
    assert!(!prompt.contains("Proven Strategies"), "{prompt}");
    assert_eq!(
        env.ok([
            "learnings",
            "query",
            "--for",
            "Fix failing login tests",
            "--format",
            "markdown"
        ]),
        ""
    );
    let shown = env.ok(["learnings", "show", &id]);
    assert!(shown.contains("it has no text"), "{shown}");
}

#[test]
#[expect(clippy::disallowed_methods, reason = "another program writes into the database")]
fn faults_are_reported_and_repaired() {
    let (env, ids) = sample();
    assert_eq!(
        json(&env, &["learnings", "verify", "--json"]),
        json!({ "valid": true, "error": null, "learnings": 2, "faults": [] })
    );
    let connection = rusqlite::Connection::open(env.path(DATABASE)).unwrap();
    connection
        .execute("UPDATE learnings SET use_count = 7 WHERE id = ?1", [&ids[0]])
        .unwrap();
    drop(connection);
    let verified = env.ralph(["learnings", "verify"]).run();
    let found = [
        "learn-89025cc1: it counts 7 uses, 0 of them done",
        "the journal says 0, 0",
    ];
    assert_eq!(verified.code, Some(1), "{verified}");
    assert!(found.iter().all(|text| verified.stdout.contains(text)), "{verified}");
    assert!(verified.stdout.contains("`ralph learnings verify --fix`"), "{verified}");
    assert!(verified.stderr.contains("1 problem"), "{verified}");
    let doctor = env.ralph(["doctor"]).run().stdout;
    assert!(
        doctor.contains("1 problem with the learnings")
            && doctor.contains("`ralph learnings verify --fix` recounts their uses"),
        "{doctor}"
    );
    let fixed = env.ralph(["learnings", "verify", "--fix"]).run();
    fixed.printed(&[found[0], found[1], "recounted"]);
    assert_eq!(
        env.ok(["learnings", "verify"]),
        "2 learnings checked, no problems found.\n"
    );
}

#[test]
fn promote_and_reject_have_formats() {
    let (env, ids) = sample();
    assert_eq!(env.ok(["learnings", "validate"]), "Nothing is pending.\n");
    let rejected = json(&env, &["learnings", "reject", &ids[0], "--json"]);
    assert_eq!(
        (&rejected[0]["id"], &rejected[0]["status"]),
        (&json!(ids[0]), &json!("rejected"))
    );
    assert_eq!(
        env.ok(["learnings", "promote", &ids[0], "--format", "quiet"]),
        format!("{}\n", ids[0])
    );
    assert_eq!(env.ok(["learnings", "promote", "--all", "--json"]), "[]\n");
    let both = env.ralph(["learnings", "promote", "--all", &ids[0]]).run();
    assert_eq!(both.code, Some(2), "{both}");
    let judged = env.ralph(["learnings", "validate", &ids[0]]).run();
    judged.refused(1, &["is promoted, not pending"]);
}

const CANDIDATES: &str = r#"[
  {"type": "strategy", "taskType": "test-fix", "content": {"description": "Test-driven development approach",
   "effectiveness": 0.85, "iterations": 12}, "confidence": 0.85, "sourceLoops": ["ralph-001"], "successRate": 0.85},
  {"type": "antipattern", "taskType": "test-fix", "content": {"description": "Avoid: haste", "occurrences": 3,
   "impact": "high"}, "confidence": 0.75, "sourceLoops": [], "successRate": 0.5},
  {"type": "convention", "taskType": "general", "content": {"pattern": "Tests beside sources"}, "confidence": 0.2,
   "successRate": 1.0}
]"#;

#[test]
fn staged_learnings_are_validated_and_promoted() {
    let env = env();
    assert_eq!(env.ok(["learnings", "stage"]), "Nothing is staged.\n");
    assert_eq!(names(&env), [] as [&str; 0]);
    env.write("candidates.json", CANDIDATES);
    let staged = env.ralph(["learnings", "stage", "candidates.json", "--json"]).run();
    let staged: serde_json::Value = serde_json::from_str(&staged.stdout).unwrap();
    assert_eq!((&staged["staged"], &staged["skipped"]), (&json!(3), &json!(0)));
    let area = json(&env, &["learnings", "stage", "--json"]);
    assert_eq!((&area["total"], &area["pending"]), (&json!(3), &json!(3)));
    let again = env.ralph(["learnings", "stage", "-"]).input(CANDIDATES).run();
    assert_eq!((again.code, again.stdout.as_str()), (Some(0), ""), "{again}");
    let known = |line: &&str| line.starts_with("Already known as learn-") && line.ends_with(" (pending).");
    assert_eq!(again.stderr.lines().filter(known).count(), 3, "{again}");
    let judged = json(&env, &["learnings", "validate", "--json"]);
    assert_eq!((&judged["validated"], &judged["rejected"]), (&json!(1), &json!(2)));
    let shown = env.ok(["learnings", "stage"]);
    for part in [
        "Anti-patterns should have low success rate",
        "Confidence too low (< 0.3)",
        "Staged 3: 0 pending, 1 validated, 2 rejected",
    ] {
        assert!(shown.contains(part), "{shown}");
    }
    let promoted = json(&env, &["learnings", "promote", "--all", "--json"]);
    assert_eq!(
        promoted[0]["content"]["description"],
        "Test-driven development approach"
    );
    assert_eq!(promoted[0]["status"], "promoted");
    assert_eq!(promoted.as_array().unwrap().len(), 1);
    assert_eq!(
        env.ok(["learnings", "verify"]),
        "3 learnings checked, no problems found.\n"
    );
}

#[test]
fn invalid_candidate_does_not_block_others() {
    let env = env();
    let text = r#"[{"type": "strategy", "taskType": "general", "content": "Look first"}, {"type": "hunch"}, {}, 7]"#;
    let staged = env.ralph(["learnings", "stage", "-"]).input(text).run();
    staged.printed(&[
        "staged: learn-89025cc1",
        "entry 2 (Invalid type: hunch)",
        "entry 3 (Missing required fields)",
        "entry 4 (it is a number instead of an object)",
        "3 entries not stored",
        "ralph learnings validate",
    ]);
    let again = env.ralph(["learnings", "stage", "-", "--json"]).input(text).run();
    let again: serde_json::Value = serde_json::from_str(&again.stdout).unwrap();
    assert_eq!(
        (&again["staged"], &again["skipped"], &again["rejected"][1]),
        (
            &json!(0),
            &json!(1),
            &json!({ "entry": 3, "reason": "Missing required fields" })
        )
    );
}

#[test]
fn unreadable_candidates_stage_nothing() {
    let env = env();
    for (text, why) in [
        ("{", "cannot be read"),
        (r#"{"type": "hunch"}"#, "standard input: entry 1: Invalid type: hunch"),
        (
            "[{}, 7]",
            "standard input: entry 1: Missing required fields; 1 other entry rejected too",
        ),
        (
            r#"{"version": "1.0.0", "checksum": "", "learnings": []}"#,
            "import it with `ralph learnings import`",
        ),
    ] {
        let refused = env.ralph(["learnings", "stage", "-"]).input(text).run();
        refused.refused(1, &[why]);
        assert_eq!(names(&env), [] as [&str; 0], "{text}");
    }
    let missing = env.ralph(["learnings", "stage", "nowhere.json"]).run();
    assert!(missing.stderr.contains("file not found: nowhere.json"), "{missing}");
}

#[test]
fn foreign_database_is_not_changed() {
    let env = env();
    env.write(DATABASE, foreign_database());
    let before = env.tree();
    for arguments in [
        &["stats"][..],
        &["verify", "--fix"],
        &["update", "1a", "--confidence", "1"],
        &["delete", "1a", "--yes"],
        &["clear", "--yes"],
        &["prune", "--unused"],
        &["promote", "--all"],
        &["validate"],
        &["stage"],
    ] {
        let refused = env.ralph([&["learnings"], arguments].concat()).run();
        refused.refused(1, &["another tool"]);
    }
    assert_eq!(changes(&before, &env.tree()), [] as [&str; 0]);
}
