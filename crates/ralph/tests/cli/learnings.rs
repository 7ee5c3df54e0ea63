//! `ralph learnings`.

use insta::assert_snapshot;
use ralph_model::{
    Captured, CapturedLearning, EntryKind, Injection, InjectionReason, LearningId, LearningStatus, Outcome, Tokens,
};
use ralph_store::{MergeGroup, Store};
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

/// Three learnings of a person.
fn sample() -> (TestEnv, [String; 3]) {
    let env = env();
    let ids = [
        add(
            &env,
            1,
            "Run the migrations before the tests",
            ["--category", "testing_strategy", "--tags", "Postgres,ci"],
        ),
        add(
            &env,
            2,
            "The cache hides the fault:\nclear it first",
            ["--category", "pitfall", "--task-type", "bug-fix"],
        ),
        add(&env, 3, "One file a command", ["--category", "code_structure"]),
    ];
    (env, ids)
}

/// The contents that a command prints as JSON.
#[track_caller]
fn contents(env: &TestEnv, arguments: &[&str]) -> Vec<String> {
    let listed = json(env, &[arguments, &["--json"]].concat());
    let word = |learning: &serde_json::Value| learning["content"]["description"].as_str().unwrap().to_owned();
    listed.as_array().unwrap().iter().map(word).collect()
}

#[test]
fn added_learning_is_active_and_listed() {
    let env = env();
    assert_eq!(env.ok(["learnings", "list"]), "No learnings yet.\n");
    assert_eq!(env.ok(["learnings", "list", "--json"]), "[]\n");
    assert_eq!(names(&env), [] as [&str; 0], "no files created");
    assert_eq!(
        env.ok(["learnings", "add", "Use --locked", "--category", "Tool_Usage"]),
        "Learning stored: learn-89025cc1\n"
    );
    let (env, _) = sample();
    assert_snapshot!(env.ok(["learnings", "list"]), @"
    ID              STATUS    CATEGORY          CONFIDENCE  SHOWN  TAGS         LEARNING
    learn-db018fed  promoted  code_structure    0.50        0/0                 One file a command
    learn-1c9756ce  promoted  pitfall           0.50        0/0                 The cache hides the fault: clear it first
    learn-89025cc1  promoted  testing_strategy  0.50        0/0    postgres,ci  Run the migrations before the tests

    Showing 3 learnings
    ");
    assert_eq!(
        env.ok(["learnings", "list", "--status", "pruned"]),
        "No matching learnings found\n"
    );
    assert_eq!(
        contents(&env, &["learnings", "list", "--tag", "POSTGRES"]),
        ["Run the migrations before the tests"]
    );
    assert_eq!(
        contents(&env, &["learnings", "list", "--kind", "convention"]),
        ["One file a command"]
    );
    assert_eq!(contents(&env, &["learnings", "list", "--limit", "1"]).len(), 1);
    assert_eq!(
        contents(&env, &["learnings", "list", "--task-type", "bug-fix"]).len(),
        1
    );
    add(&env, 4, "First.\n\n# Then", ["--category", "two words"]);
    // The texts are as in prompts.
    for (category, text) in [
        (
            "PITFALL",
            "- **[pitfall]** The cache hides the fault:\n  > clear it first\n",
        ),
        (
            "testing_strategy",
            "- **[testing_strategy]** Run the migrations before the tests\n  <!-- tags: postgres, ci -->\n",
        ),
        ("two words", "- **[two words]** First.\n  >\n  > # Then\n"),
    ] {
        let listed = env.ok(["learnings", "list", "--category", category, "--format", "markdown"]);
        assert_eq!(listed, text);
    }
}

#[test]
fn duplicate_raises_confidence() {
    let (env, ids) = sample();
    for (text, tags, message, confidence) in [
        (
            "run the migrations, before the TESTS!",
            "sql",
            "Already known; confidence raised.\n".to_owned(),
            0.55,
        ),
        (
            "Before the tests: run the migrations",
            "ci",
            format!(
                "Near-duplicate of {} (\"Run the migrations before the tests\"): confidence raised",
                ids[0]
            ),
            0.595,
        ),
    ] {
        let again = [
            "learnings",
            "add",
            text,
            "--category",
            "testing_strategy",
            "--tags",
            tags,
        ];
        let again = env.ralph(again).run();
        again.printed(&[&format!("Learning strengthened: {}\n", ids[0]), &message]);
        let shown = json(&env, &["learnings", "show", &ids[0], "--json"]);
        assert!(
            (shown["confidence"].as_f64().unwrap() - confidence).abs() < 1e-9,
            "{shown}"
        );
    }
    let shown = json(&env, &["learnings", "show", &ids[0], "--json"]);
    assert_eq!(shown["tags"], json!(["postgres", "ci", "sql"]));
    assert_eq!(shown["content"]["description"], "Run the migrations before the tests");
    assert_eq!(shown["examples"], json!(["Before the tests: run the migrations"]));
    // The opposite and an unrelated text are new learnings.
    for text in [
        "Never run the migrations before the tests",
        "Run the migrations before the deployment",
    ] {
        let more = ["--category", "testing_strategy", "--tags", "ci"];
        add(&env, 77 + text.len() as u64, text, more);
    }
    assert_eq!(contents(&env, &["learnings", "list"]).len(), 5);
}

/// Checks that a command is refused and creates no files.
#[track_caller]
fn check_refused(env: &TestEnv, arguments: &[&str], code: i32, why: &str) {
    let refused = env.ralph([&["learnings"], arguments].concat()).input("a\0b").run();
    assert_eq!(refused.code, Some(code), "{refused}");
    assert!(refused.stderr.contains(why), "{refused}");
    assert_eq!(refused.stdout, "");
    assert_eq!(names(env), [] as [&str; 0], "{arguments:?}");
}

#[test]
fn invalid_learnings_are_refused() {
    let env = env();
    let token = format!("ghp_{}", "a1B2".repeat(9));
    let check = |text: &str, more: &[&str], why: &str| {
        check_refused(&env, &[&["add", text, "--category"], more].concat(), 2, why);
    };
    check_refused(&env, &["add", "text"], 2, "--category");
    check(" \n", &["other"], "the text is blank");
    check("-", &["other"], "NUL");
    check(&format!("it is {token}"), &["other"], "secret (");
    check("text", &[&token], "--category: line 1");
    check("text", &["other", "--tags", &token], "--tags: line 1");
    check("text", &[" "], "--category: the text is blank");
    check("text", &["a\nb"], "one line");
    check("text", &[&"x".repeat(65)], "64 characters");
    check("text", &["other", "--tags", "a|b"], "vertical bar");
    check("text", &["other", "--task-type", "magic"], "bug-fix");
    check("--loced", &["other"], "unexpected argument");
    check(
        &"ä".repeat(1101),
        &["other"],
        "Error: the text has 1101 characters, and a learning at most 1100: shorten it, or keep it with `ralph knowledge add`\n",
    );
    let allowed = ["learnings", "add", &token, "--category", "other", "--allow-secret"];
    assert!(env.ok(allowed).starts_with("Learning stored: "));
    let longest = "ä".repeat(1100);
    let longest = ["learnings", "add", &longest, "--category", "other"];
    assert!(env.ok(longest).starts_with("Learning stored: "));
    let read = ["learnings", "add", "-", "--category", "other", "--json"];
    let read = env.ralph(read).input("first\r\nsecond\n").run();
    assert_eq!(read.stderr, "Converted line breaks to LF.\n");
    let read: serde_json::Value = serde_json::from_str(&read.stdout).unwrap();
    assert_eq!(
        (&read["content"]["description"], &read["source"], &read["status"]),
        (&json!("first\nsecond"), &json!("human"), &json!("promoted"))
    );
}

#[test]
fn wrong_arguments_and_unknown_ids_are_errors() {
    let env = env();
    check_refused(&env, &["list", "--status", "gone"], 2, "promoted");
    check_refused(&env, &["list", "--limit", "-1"], 2, "a whole number from 0");
    check_refused(&env, &["list", "--status", "pruned", "--all"], 2, "cannot be used with");
    check_refused(&env, &["query", "--min-confidence", "1.5"], 2, "a number from 0 to 1");
    check_refused(&env, &["query", "--min-success", "NaN"], 2, "a number from 0 to 1");
    check_refused(&env, &["restore"], 2, "<ID>");
    check_refused(&env, &["promote"], 2, "<ID>");
    check_refused(&env, &["show", ""], 1, "Error: Learning not found: \"\"\n");
    for verb in ["show", "promote", "reject", "restore"] {
        check_refused(&env, &[verb, "1a2b"], 1, "Error: Learning not found: 1a2b\n");
    }
}

#[test]
fn foreign_database_is_not_changed() {
    let env = env();
    env.write(DATABASE, foreign_database());
    let before = env.tree();
    for arguments in [
        vec!["add", "text", "--category", "other"],
        vec!["list"],
        vec!["promote", "1a"],
        vec!["prune"],
        vec!["restore", "--list"],
    ] {
        let refused = env.ralph(["learnings"].into_iter().chain(arguments)).run();
        assert_eq!(refused.code, Some(1), "{refused}");
        assert!(refused.stderr.contains("another tool"), "{refused}");
    }
    assert_eq!(changes(&before, &env.tree()), [] as [&str; 0]);
}

/// A learning from one iteration, used by another.
fn taught() -> (TestEnv, Store) {
    let env = env();
    let (dates, tea) = (task(&env, "Parse dates"), task(&env, "Make tea"));
    let captured = Captured {
        learnings: vec![CapturedLearning {
            category: "pitfall".to_owned(),
            tags: vec!["docker".to_owned()],
            content: "Never run two at once.".to_owned(),
        }],
        ..Captured::default()
    };
    let id = LearningId::new(1);
    let shown = [Injection {
        kind: EntryKind::Learning,
        id: id.to_string(),
        digest: 0,
        section: "learnings".to_owned(),
        rank: 1,
        tokens: Tokens(9),
        score: Some(1.0),
        reason: InjectionReason::Shown,
    }];
    let teaches = Worked {
        task: &dates,
        captured,
        notes: Some("The lock was held."),
        ..Worked::default()
    };
    let sees = Worked {
        task: &tea,
        outcome: Outcome::Failed,
        reason: "no kettle",
        injections: &shown,
        used: &[id.as_str()],
        ..Worked::default()
    };
    let store = work(&env, 1, &[teaches, sees]);
    (env, store)
}

#[test]
fn show_lists_the_evidence() {
    let (env, _) = taught();
    assert_snapshot!(env.ok(["learnings", "show", "00000001"]), @"
    learn-00000001 [promoted]
    learned     Never run two at once.
    category    pitfall (antipattern)
    tags        docker
    task type   general
    task        t-025cc1
    source      sigil
    runs        run-00000001
    confidence  0.50
    success     0.00 (of what it warns against)
    shown       to 1 iteration, 0 of them done
    last shown  2025-01-22T10:00:00Z
    created     2025-01-21T10:00:00Z
    changed     2025-01-21T10:00:00Z

    Learned in
      run-00000001/1  done  Parse dates: The lock was held.

    Shown in
      run-00000001/2  failed  Make tea: no kettle, relied on
    ");
    let shown = json(&env, &["learnings", "show", "learn-0", "--json"]);
    assert_eq!(shown["taught_in"][0]["outcome"], "done");
    assert_eq!(shown["taught_in"][0]["task_title"], "Parse dates");
    assert_eq!(shown["shown_in"].as_array().unwrap().len(), 1);
    assert_eq!(shown["shown_in"][0]["outcome"], "failed");
    assert_eq!(shown["shown_in"][0]["used"], true);
    assert_eq!((&shown["useCount"], &shown["successes"]), (&json!(1), &json!(0)));
}

#[test]
fn query_ranks_by_confidence_rate_and_use() {
    let (env, store) = taught();
    add(
        &env,
        1,
        "Docker needs the socket",
        ["--category", "tool_usage", "--tags", "docker"],
    );
    add(&env, 2, "Lint first", ["--category", "tool_usage"]);
    add(&env, 2, "Lint first", ["--category", "tool_usage"]);
    drop(store);
    assert_snapshot!(env.ok(["learnings", "query"]), @"
    ID              SCORE  CATEGORY    CONFIDENCE  SHOWN  LEARNING
    learn-1c9756ce  0.55   tool_usage  0.55        0/0    Lint first
    learn-00000001  0.52   pitfall     0.50        0/1    Never run two at once.
    learn-89025cc1  0.50   tool_usage  0.50        0/0    Docker needs the socket

    Showing 3 learnings
    ");
    let both = ["Never run two at once.", "Docker needs the socket"];
    assert_eq!(contents(&env, &["learnings", "query", "dockers"]), both);
    assert_eq!(contents(&env, &["learnings", "query", "--tag", "Docker"]), both);
    assert_eq!(contents(&env, &["learnings", "query", "docker", "runs"]), both[..1]);
    assert_eq!(
        contents(&env, &["learnings", "query", "why does docker need the socket here"]),
        both[1..],
        "unmatched words do not hide matches"
    );
    assert_eq!(
        contents(&env, &["learnings", "query", "docker", "runs", "--type", "strategy"]),
        both[1..],
        "the best of the filtered ones"
    );
    let misspelled = env.ralph(["learnings", "query", "sokcet", "--format", "quiet"]).run();
    assert_eq!(misspelled.stdout, "learn-89025cc1\n", "{misspelled}");
    assert!(misspelled.stderr.contains("similar words: socket."), "{misspelled}");
    assert_eq!(
        contents(&env, &["learnings", "query", "--type", "antipattern"]),
        both[..1]
    );
    assert_eq!(
        contents(&env, &["learnings", "query", "--min-confidence", "0.55"]),
        ["Lint first"]
    );
    assert_eq!(
        contents(&env, &["learnings", "query", "--min-success", "0.5", "--limit", "1"]),
        ["Lint first"]
    );
    assert_eq!(contents(&env, &["learnings", "query", "kettle"]), [] as [&str; 0]);
    assert_eq!(
        env.ok(["learnings", "query", "kettle"]),
        "No matching learnings found\n"
    );
    let score = &json(&env, &["learnings", "query", "lint", "--json"])[0]["score"];
    assert!((score.as_f64().unwrap() - 0.55).abs() < 1e-9, "{score}");
}

#[test]
fn learnings_are_rejected_and_promoted() {
    let (env, [first, second, third]) = sample();
    let rejected = env
        .ralph(["learnings", "reject", &first, &second, "--reason", "it was the cache"])
        .run();
    assert_eq!(rejected.code, Some(0), "{rejected}");
    assert_eq!(
        rejected.stdout,
        format!("Learning rejected: {first}\nLearning rejected: {second}\n")
    );
    let shown = json(&env, &["learnings", "show", &first, "--json"]);
    assert_eq!(
        (&shown["status"], &shown["reason"]),
        (&json!("rejected"), &json!("it was the cache"))
    );
    assert_eq!(contents(&env, &["learnings", "list"]), ["One file a command"]);
    assert_eq!(contents(&env, &["learnings", "list", "--all"]).len(), 3);
    assert_eq!(contents(&env, &["learnings", "query"]), ["One file a command"]);
    let promoted = env.ralph(["learnings", "promote", &first, &third]).run();
    assert_eq!(promoted.stdout, format!("Learning promoted: {first}\n"));
    assert_eq!(promoted.stderr, format!("{third} is already promoted.\n"));
    let half = env.ralph(["learnings", "reject", &third, "ffff"]).run();
    assert_eq!(half.code, Some(1), "{half}");
    assert_eq!(contents(&env, &["learnings", "list"]).len(), 2, "all or none");
}

#[test]
fn old_learnings_are_pruned_and_restored() {
    let (env, ids) = sample();
    let later = |arguments: &[&str], now: &str| env.ralph(arguments.iter().copied()).env("RALPH_NOW", now).run();
    assert_eq!(env.ok(["learnings", "prune"]), "Nothing was pruned.\n");
    let dry = later(&["learnings", "prune", "--dry-run"], "2025-04-21T00:00:00Z");
    dry.printed(&[
        &ids[0],
        "older than 90 days",
        &ids[1],
        &ids[2],
        "3 learnings would be pruned\n",
    ]);
    assert_eq!(
        contents(&env, &["learnings", "list"]).len(),
        3,
        "a dry run changes nothing"
    );
    let narrow = env
        .ralph(["learnings", "prune", "--dry-run"])
        .env("RALPH_NOW", "2025-04-21T00:00:00Z")
        .env("COLUMNS", "44")
        .run();
    assert!(
        narrow.stdout.contains("learn-1c9756ce  The cache hides the fault"),
        "{narrow}"
    );
    let pruned = later(&["learnings", "prune", "--json"], "2025-04-21T00:00:00Z");
    let pruned: serde_json::Value = serde_json::from_str(&pruned.stdout).unwrap();
    assert_eq!(pruned.as_array().unwrap().len(), 3);
    assert_eq!(env.ok(["learnings", "list"]), "No matching learnings found\n");
    let listed = json(&env, &["learnings", "restore", "--list", "--json"]);
    assert_eq!(listed.as_array().unwrap().len(), 3);
    let back = later(
        &["learnings", "restore", &ids[1], &ids[0], &ids[1]],
        "2025-04-21T00:00:00Z",
    );
    assert_eq!(
        back.stdout,
        format!(
            "Learning restored: {} (promoted)\nLearning restored: {} (promoted)\n",
            ids[1], ids[0]
        )
    );
    let twice = env.ralph(["learnings", "restore", &ids[1]]).run();
    assert_eq!(twice.code, Some(1), "{twice}");
    assert!(
        twice
            .stderr
            .starts_with(&format!("Error: {} is promoted, not pruned", ids[1])),
        "{twice}"
    );
    let again = later(&["learnings", "prune", "--dry-run"], "2025-05-01T00:00:00Z");
    assert_eq!(
        again.stdout, "Nothing would be pruned.\n",
        "a person's decision counts as use"
    );
}

#[test]
fn merged_learning_can_be_restored() {
    let (env, ids) = sample();
    let mut store = Store::open_or_create(&env.path(DATABASE)).unwrap();
    let id = |text: &str| LearningId::parse(text).unwrap();
    let group = MergeGroup {
        newest: id(&ids[2]),
        others: vec![id(&ids[1]), id(&ids[0])],
    };
    store
        .merge_learnings(&[group], "2025-01-20T12:00:00Z".parse().unwrap())
        .unwrap();
    let merged = format!("Merged into {}.", ids[2]);
    let restorable = env.ralph(["learnings", "restore", "--list"]).run();
    restorable.printed(&[&ids[1], &merged, &ids[0], &merged, "Showing 2 learnings\n"]);
    let listed = env.ok(["learnings", "list"]);
    assert!(listed.contains("One file a command (+2)"), "{listed}");
    env.ok(["learnings", "restore", &ids[0]]);
    let one = store.learning(&id(&ids[2])).unwrap().unwrap();
    assert_eq!(one.examples, ["The cache hides the fault:\nclear it first"]);
    let back = store.learning(&id(&ids[0])).unwrap().unwrap();
    assert_eq!((back.status, back.superseded_by), (LearningStatus::Promoted, None));
}
