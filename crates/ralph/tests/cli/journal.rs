//! Tests of `ralph journal`.

use insta::assert_snapshot;
use ralph_model::{Captured, CapturedKnowledge, CapturedLearning, ErrorCategory, FailureReport, Outcome};
use ralph_testkit::TestEnv;

use crate::past::{Worked, task, work};
use crate::{env, json, names};

/// Two tasks, three iterations in two runs.
fn past() -> TestEnv {
    let env = env();
    let dates = task(&env, "Parse dates");
    let tea = task(&env, "Make tea");
    let refused = Worked {
        task: &dates,
        outcome: Outcome::Retried,
        reason: "The gate `cargo test` failed:\ntest leap ... FAILED",
        ..Worked::default()
    };
    let mended = Worked {
        task: &dates,
        notes: Some("Leap years: `is_leap` was wrong.\n\nSee src/part_2.rs."),
        ..Worked::default()
    };
    work(&env, 1, &[refused, mended]);
    let brewed = Worked {
        task: &tea,
        notes: Some("The kettle: leaks, (a bit) \"AND\" NOT much"),
        ..Worked::default()
    };
    work(&env, 2, &[brewed]);
    env
}

#[test]
fn iterations_are_listed_newest_first() {
    let env = past();
    assert_snapshot!(env.ok(["journal", "list"]), @r#"
    ID  ITERATION       OUTCOME  TASK      TIME                  WHAT
    3   run-00000002/1  done     t-8eec67  2025-01-21T10:00:00Z  Make tea: The kettle: leaks, (a bit) "AND" NOT much
    2   run-00000001/2  done     t-025cc1  2025-01-22T10:00:00Z  Parse dates: Leap years: `is_leap` was wrong.
    1   run-00000001/1  retried  t-025cc1  2025-01-21T10:00:00Z  Parse dates: The gate `cargo test` failed: test leap ... FAILED

    Showing 3 iterations
    "#);
    let ids = |arguments: &[&str]| {
        let listed = json(&env, &[&["journal", "list", "--json"], arguments].concat());
        let ids = listed.as_array().unwrap().iter().map(|row| row["id"].as_i64().unwrap());
        ids.collect::<Vec<_>>()
    };
    assert_eq!(ids(&[]), [3, 2, 1]);
    assert_eq!(ids(&["--run", "run-00000001"]), [2, 1]);
    assert_eq!(ids(&["--run", "00000001"]), [2, 1]);
    assert_eq!(ids(&["--run", "run-00000002"]), [3]);
    for (beginning, why) in [
        ("run-", "run not found: \"run-\""),
        ("beef", "run not found: \"beef\""),
        ("0", "0 matches several ids: run-00000001, run-00000002"),
    ] {
        let refused = env.ralph(["journal", "list", "--run", beginning]).run();
        refused.refused(1, &[why]);
    }
    assert_eq!(json(&env, &["journal", "show", "00000001/2", "--json"])["id"], 2);
    assert_eq!(ids(&["--outcome", "retried"]), [1]);
    assert_eq!(ids(&["--file", "part_2.rs"]), [2]);
    assert_eq!(ids(&["--since", "2025-01-22"]), [2]);
    assert_eq!(ids(&["--until", "2025-01-21"]), [3, 1]);
    let then = |arguments: [&str; 5]| {
        env.ralph(arguments)
            .env("RALPH_NOW", "2025-01-22T11:00:00Z")
            .run()
            .stdout
    };
    let lately = then(["journal", "list", "--json", "--since", "12h"]);
    assert!(
        lately.contains("\"id\": 2,") && !lately.contains("\"id\": 1,"),
        "{lately}"
    );
    let before = then(["journal", "list", "--json", "--until", "12h"]);
    assert!(
        before.contains("\"id\": 1,") && !before.contains("\"id\": 2,"),
        "{before}"
    );
    assert_eq!(ids(&["--limit", "1"]), [3]);
    assert_eq!(ids(&["--limit", "0", "--task", "t-ffffff"]), [] as [i64; 0]);
    let task = json(&env, &["journal", "show", "3", "--json"])["task"]
        .as_str()
        .unwrap()
        .to_owned();
    env.ok(["task", "delete", &task]);
    assert_eq!(ids(&["--task", &task]), [3], "the journal outlives its tasks");
}

#[test]
fn show_prints_all_details() {
    let env = past();
    assert_snapshot!(env.ok(["journal", "show", "1"]), @"
    Iteration 1 of run-00000001 [retried]
    journal     1
    task        t-025cc1 Parse dates (attempt 1)
    ended       2025-01-21T10:00:00Z, task done
    reason      The gate `cargo test` failed:
                test leap ... FAILED
    evidence    refused by gates
    model       sonnet (the middle of the ladder)
    duration    1 min 23 s
    used        1020 tokens (1000 read, 20 written), $0.2500
    files       src/part_1.rs
    folder      .ralph/runs/run-00000001/001 (pruned or in another worktree)
    ");
    env.write(".ralph/runs/run-00000001/002/prompt.md", "x");
    env.ralph(["journal", "show", "run-00000001/2"]).run().printed(&[
        "(attempt 2)",
        "evidence    gates",
        "notes       Leap years: `is_leap` was wrong.",
        "See src/part_2.rs.",
        ".ralph/runs/run-00000001/002\n",
    ]);
    assert_eq!(json(&env, &["journal", "show", "--json"])["id"], 3, "the last one");
}

#[test]
fn fault_2_iterations_are_found_by_any_text() {
    let env = past();
    let found = |words: &[&str]| {
        let found = json(&env, &[&["journal", "search"], words, &["--json"]].concat());
        assert!(found[0]["score"].as_f64().unwrap() > 0.0, "{found}");
        let ids = found.as_array().unwrap().iter().map(|row| row["id"].as_i64().unwrap());
        ids.collect::<Vec<_>>()
    };
    assert_eq!(found(&["kettle:", "(\"AND\" NOT"]), [3]);
    assert_eq!(found(&["cargo test"]), [1]);
    assert_eq!(found(&["is_leap"]), [2, 1], "the best match comes first");
    assert_eq!(
        env.ok(["journal", "search", "coffee"]),
        "No matching iterations found\n"
    );
}

#[test]
fn empty_project_has_no_journal_and_creates_none() {
    let env = env();
    assert_eq!(env.ok(["journal", "list"]), "No iterations found\n");
    assert_eq!(env.ok(["journal", "list", "--json"]), "[]\n");
    assert_eq!(env.ok(["journal", "search", "x", "--json"]), "[]\n");
    let shown = env.ralph(["journal", "show"]).run();
    shown.refused(1, &["the journal is empty", "ralph run"]);
    assert_eq!(names(&env), [] as [&str; 0]);
}

#[test]
fn invalid_iterations_are_refused() {
    let env = past();
    for (arguments, code) in [
        (vec!["journal", "show", "x"], 2),
        (vec!["journal", "show", "run-1/2"], 1),
        (vec!["journal", "show", "x/2"], 2),
        (vec!["journal", "show", "9"], 1),
        (vec!["journal", "list", "--since", "yesterday"], 2),
        (vec!["journal", "list", "--outcome", "good"], 2),
        (vec!["journal", "list", "--run", "1"], 1),
        (vec!["journal", "list", "--task", "zzz"], 1),
    ] {
        let ran = env.ralph(arguments.iter().copied()).run();
        assert_eq!(ran.code, Some(code), "{arguments:?}: {ran}");
    }
    let unknown = env.ralph(["journal", "show", "run-00000001/7"]).run();
    unknown.refused(1, &["iteration not found: run-00000001/7", "ralph journal list"]);
    let invalid = env.ralph(["journal", "show", "first"]).run();
    invalid.refused(2, &["\"first\"", "12", "run-1a2b3c4d/3"]);
}

#[test]
fn captures_of_the_agent_are_shown() {
    let env = env();
    let task = task(&env, "Parse dates");
    let captured = Captured {
        failure: Some(FailureReport {
            what_tried: "a table".to_owned(),
            why_failed: "too slow".to_owned(),
            category: ErrorCategory::TestFailure,
            relevant_files: vec!["src/a.rs".to_owned(), "src/b.rs".to_owned()],
            error_output: Some("test leap ... FAILED".to_owned()),
            origin: ralph_model::ReportOrigin::Agent,
            gate: None,
        }),
        retry_suggestion: Some("try a map".to_owned()),
        learnings: vec![CapturedLearning {
            category: "pitfall".to_owned(),
            tags: vec!["dates".to_owned()],
            content: "1900 is no leap year.".to_owned(),
        }],
        knowledge: vec![CapturedKnowledge {
            title: "Calendars".to_owned(),
            tags: vec!["dates".to_owned()],
            feature: None,
            body: "There are two.".to_owned(),
        }],
        malformed: 1,
        ..Captured::default()
    };
    let worked = Worked {
        task: &task,
        outcome: Outcome::Failed,
        captured,
        ..Worked::default()
    };
    work(&env, 1, &[worked]);
    env.ralph(["journal", "show"]).run().printed(&[
        "1 tag",
        "a table",
        "too slow",
        "src/b.rs",
        "test leap ... FAILED",
        "try a map",
        "[pitfall] 1900 is no leap year.",
        "Calendars (dates)",
        "There are two.",
    ]);
    let shown = json(&env, &["journal", "show", "--json"]);
    assert_eq!(shown["report"]["what_tried"], "a table");
    assert_eq!(shown["report"]["origin"], "agent");
    assert_eq!(
        (&shown["report"]["gate"], &shown["signature"]),
        (&serde_json::Value::Null, &serde_json::Value::Null)
    );
    assert_eq!(shown["learnings"][0]["category"], "pitfall");
    assert_eq!((&shown["id"], &shown["suggestion"]), (&1.into(), &"try a map".into()));
}
