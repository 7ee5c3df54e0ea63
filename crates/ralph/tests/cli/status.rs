//! Tests of `ralph status`. The results of runs are written to the database directly.

use insta::assert_snapshot;
use jiff::Timestamp;
use ralph_model::{Captured, CapturedKnowledge, CapturedLearning, EndKind, Outcome, RunId};
use ralph_testkit::TestEnv;

use crate::past::{Worked, begin, task, work};
use crate::{DATABASE, env, json, names};

const RUN: u64 = 0xabc;

/// A time before the clock of the tests.
fn before(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_737_372_000 - seconds).unwrap()
}

fn learnings() -> Captured {
    let learning = CapturedLearning {
        category: "pitfall".to_owned(),
        tags: Vec::new(),
        content: "x".to_owned(),
    };
    let note = CapturedKnowledge {
        title: "Colours".to_owned(),
        tags: vec!["css".to_owned()],
        feature: None,
        body: "Hex.".to_owned(),
    };
    Captured {
        learnings: vec![learning],
        knowledge: vec![note],
        ..Captured::default()
    }
}

/// A run in which these tasks were done and failed, with one task left.
fn night(done: &[&str], failed: &[&str]) -> TestEnv {
    let env = env();
    env.ok(["init"]);
    env.ok(["remember", "the build takes an hour", "--type", "context"]);
    let done: Vec<String> = done.iter().map(|title| task(&env, title)).collect();
    let failed: Vec<String> = failed.iter().map(|title| task(&env, title)).collect();
    env.ok(["task", "add", "Print the colours", "--priority", "9"]);
    let done = done.iter().map(|task| Worked {
        task,
        captured: learnings(),
        ..Worked::default()
    });
    let failed = failed.iter().map(|task| Worked {
        task,
        outcome: Outcome::Retried,
        reason: "The gate `cargo test` refused it:\n1 test failed",
        captured: learnings(),
        max_retries: 0,
        ..Worked::default()
    });
    let mut store = work(&env, RUN, &done.chain(failed).collect::<Vec<_>>());
    let why = "The limit of 2 iterations was reached.";
    store
        .end_run(&RunId::new(RUN), (EndKind::Stopped, 4), why, before(7000))
        .unwrap();
    env
}

fn short_night() -> TestEnv {
    night(&["Parse the colours"], &["Draw the colours"])
}

#[test]
fn status_after_a_run() {
    let env = short_night();
    let status = env.ralph(["status"]).run();
    assert_snapshot!(status, @r#"
    exit 0
    --- stdout
    Project  [TMP]/project
    Since    the beginning: 2 iterations
    Run      run-00000abc (all tasks) ended 1 hour ago: The limit of 2 iterations was reached.
    Done     1 task was done
               t-025cc1  Parse the colours
    Learned  1 learning, 1 knowledge entry
    Spent    2 min 46 s, $0.50, 2040 tokens, $0.50 per accepted task
    Waiting  1 task needs your attention
               t-8eec67  Draw the colours
                 The gate `cargo test` refused it: 1 test failed
    Tasks    1 open, 1 failed, 1 done
    Notes    1 memory in .agent/memories.md (1 context)
    Next     ralph review    # see why it failed and what helps
    "#);
    assert_eq!(
        env.ralph([]).run().stdout,
        status.stdout,
        "`ralph` prints the same, and repeatedly"
    );
}

#[test]
fn long_status_fits_on_one_screen() {
    let long = "Parse every colour that people write, in all the forms that there are, and then some";
    let env = night(&[long; 9], &[long; 9]);
    for run in 1..5 {
        begin(&env, run, "here");
    }
    let status = env.ralph(["status"]).env("COLUMNS", "80").run();
    assert_snapshot!(status, @"
    exit 0
    --- stdout
    Project  [TMP]/project
    Since    the beginning: 18 iterations
    Run      run-00000004 (all tasks) is lost; its last heartbeat was 1 hour ago
    Run      run-00000003 (all tasks) is lost; its last heartbeat was 1 hour ago
    Run      run-00000abc (all tasks) ended 1 hour ago: The limit of 2 iterations
             was reached.
    Done     9 tasks were done
               t-025cc1  Parse every colour that people write, in all the forms th…
               t-8eec67  Parse every colour that people write, in all the forms th…
               t-32555e  Parse every colour that people write, in all the forms th…
               and 6 more
    Learned  1 learning, 1 knowledge entry
    Spent    25 min 02 s, $4.50, 18360 tokens, $0.50 per accepted task
    Waiting  9 tasks need your attention
               t-616796  Parse every colour that people write, in all the forms th…
                 The gate `cargo test` refused it: 1 test failed
               t-564f61  Parse every colour that people write, in all the forms th…
                 The gate `cargo test` refused it: 1 test failed
               t-cf8bfe  Parse every colour that people write, in all the forms th…
                 The gate `cargo test` refused it: 1 test failed
               and 6 more: ralph review
    Tasks    1 open, 9 failed, 9 done
    Notes    1 memory in .agent/memories.md (1 context)
    Next     ralph review    # see why it failed and what helps
    ");
    let rows: usize = status
        .stdout
        .lines()
        .map(|line| line.chars().count().div_ceil(80))
        .sum();
    assert!(rows <= 24, "{rows} rows");
}

#[test]
fn only_a_terminal_or_seen_counts_as_a_look() {
    let env = short_night();
    let first = env.ok(["status"]);
    env.ok(["status", "--json"]);
    assert_eq!(env.ok(["status"]), first, "neither a pipe nor a program counts as seen");
    assert_eq!(env.ok(["status", "--seen"]), first);
    let seen = env.ralph(["status"]).run();
    seen.printed(&[
        "you last looked, just now: nothing new\n",
        "Waiting  1 task needs your attention\n",
    ]);
    let is_news = |line: &str| ["Done", "Learned", "Spent"].iter().any(|label| line.starts_with(label));
    assert!(!seen.stdout.lines().any(is_news), "{seen}");
    let at_terminal = short_night();
    let shown = at_terminal
        .sh("script -qec '\"$RALPH\"' /dev/null")
        .env("TERM", "xterm")
        .run();
    assert!(shown.stdout.contains("the beginning: 2 iterations"), "{shown}");
    assert!(
        at_terminal
            .ok(["status"])
            .contains("you last looked, just now: nothing new")
    );
}

#[test]
fn json_is_complete() {
    let env = short_night();
    let status = json(&env, &["status", "--json"]);
    assert_eq!(status["last_look"], serde_json::Value::Null);
    assert_eq!(status["next"], "ralph review");
    assert_eq!(
        status["notes"],
        serde_json::json!({ "memories": 1, "guardrails": 0, "knowledge": 0 })
    );
    let runs = &status["runs"];
    assert_eq!(runs["done"][0]["id"], "t-025cc1");
    assert_eq!(
        runs["failed"][0]["reason"],
        "The gate `cargo test` refused it:\n1 test failed"
    );
    assert_eq!(runs["waiting"][0]["attempts"], 1);
    assert_eq!(runs["outcomes"], serde_json::json!({ "done": 1, "retried": 1 }));
    assert_eq!(
        runs["tasks"],
        serde_json::json!({ "pending": 1, "done": 1, "failed": 1 })
    );
    assert_eq!(
        (&runs["cost_usd"], &runs["input_tokens"]),
        (&serde_json::json!(0.5), &serde_json::json!(2000))
    );
    assert_eq!(runs["last"]["end_reason"], "The limit of 2 iterations was reached.");
    assert_eq!(runs["open"], serde_json::json!([]));
}

#[test]
fn running_and_lost_runs() {
    let env = env();
    env.ok(["task", "add", "Parse the colours"]);
    let (mut store, run) = begin(&env, RUN, "here");
    let question = "what should be done differently on t-8eec67 (Parse the colours)";
    store.put_question(&run, Some(question)).unwrap();
    let shown = env.ok(["status"]);
    assert!(
        shown.contains("Run      run-00000abc (all tasks) is lost; its last heartbeat was 1 hour ago\n"),
        "{shown}"
    );
    store
        .heartbeat(&run, std::time::Duration::from_secs(1), before(10))
        .unwrap();
    let shown = env.ok(["status"]);
    let waits = format!("Run      run-00000abc is waiting for your answer in its terminal: {question}\n");
    assert!(shown.contains(&waits), "{shown}");
    assert_eq!(json(&env, &["status", "--json"])["runs"]["open"][0]["asks"], question);
    store.put_question(&run, None).unwrap();
    let shown = env.ok(["status"]);
    assert!(
        shown.contains("Run      run-00000abc (all tasks) is running, started 1 hour ago\n"),
        "{shown}"
    );
    assert!(
        shown.ends_with("Next     ralph journal list    # see what the run has done so far\n"),
        "{shown}"
    );
}

#[test]
fn knowledge_entries_are_counted() {
    let env = env();
    env.write(".ralph/knowledge/colours.md", "x");
    env.write(".ralph/knowledge/forms.md", "x");
    env.write(".ralph/knowledge/.forms.md.ralph-old", "x");
    env.write(".ralph/knowledge/picture.png", "x");
    let shown = env.ok(["status"]);
    assert!(
        shown.contains("Notes    2 knowledge entries in .ralph/knowledge\n"),
        "{shown}"
    );
    assert_eq!(json(&env, &["status", "--json"])["notes"]["knowledge"], 2);
}

#[test]
fn missing_or_broken_database() {
    let env = env();
    assert_eq!(
        json(&env, &["status", "--json", "--seen"])["runs"],
        serde_json::Value::Null
    );
    assert_eq!(names(&env), [""; 0]);
    env.write(DATABASE, "no database");
    let shown = env.ralph(["status"]).run();
    shown.printed(&[
        "Notes    none yet\n",
        "Next     ralph init ",
        "Warning: Cannot show the results of runs",
        "[TMP]/project/.ralph/progress.db is not an SQLite database",
    ]);
}
