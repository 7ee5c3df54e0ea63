//! `ralph learnings extract` and `ralph journal export`.

use insta::assert_snapshot;
use ralph_model::{Captured, CapturedLearning, EndKind, ErrorCategory, FailureReport, Outcome, ReportOrigin, RunId};
use ralph_store::{Store, Wait};
use ralph_testkit::TestEnv;
use serde_json::Value;

use crate::past::{Worked, task, work};
use crate::{DATABASE, env, json, names};

/// A loop history in another tool's format.
pub(crate) const STATE: &str = r#"{
  "loopId": "ralph-001",
  "objective": "Fix failing authentication tests",
  "status": "completed",
  "currentIteration": 3,
  "startedBy": {"unknown": "keys are fine"},
  "iterations": [
    {
      "number": 1, "status": "failed", "duration": 90000,
      "analysis": { "progressMade": false, "errors": ["SyntaxError: Unexpected token"] },
      "learnings": [], "filesModified": ["src/auth/login.ts"]
    },
    {
      "number": 2, "status": "failed", "duration": 90000,
      "analysis": { "progressMade": false, "errors": ["src/auth/login.ts: could not parse it"] },
      "learnings": [], "filesModified": []
    },
    {
      "number": 3, "status": "completed", "duration": 42000,
      "analysis": { "progressMade": true },
      "learnings": ["Write tests first"],
      "filesModified": ["src/auth/login.ts", "test/auth/login.test.ts", "test/auth/logout.test.ts"]
    }
  ]
}"#;

/// Two runs. The first has ended: two identical failures, then done.
fn past() -> TestEnv {
    let env = env();
    let dates = task(&env, "Fix the failing tests of dates");
    let refused = |why: &str| Worked {
        task: &dates,
        outcome: Outcome::Retried,
        reason: "The gate failed.",
        signature: Some(7),
        captured: Captured {
            failure: Some(FailureReport {
                what_tried: "It.".to_owned(),
                why_failed: why.to_owned(),
                category: ErrorCategory::TestFailure,
                relevant_files: Vec::new(),
                error_output: None,
                origin: ReportOrigin::Agent,
                gate: None,
            }),
            ..Captured::default()
        },
        ..Worked::default()
    };
    let fixed = Worked {
        task: &dates,
        notes: Some("Leap years: `is_leap` was wrong."),
        captured: Captured {
            learnings: vec![CapturedLearning {
                category: "testing_strategy".to_owned(),
                tags: Vec::new(),
                content: "Write tests first".to_owned(),
            }],
            ..Captured::default()
        },
        ..Worked::default()
    };
    let mut store = work(
        &env,
        1,
        &[refused("leap fails at line 4"), refused("leap fails at line 9"), fixed],
    );
    let now = "2025-01-25T10:00:00Z".parse().unwrap();
    store
        .end_run(&RunId::new(1), (EndKind::Complete, 0), "Everything is done.", now)
        .unwrap();
    let tea = task(&env, "Make tea");
    work(
        &env,
        2,
        &[Worked {
            task: &tea,
            ..Worked::default()
        }],
    );
    env
}

#[test]
fn loop_history_is_extracted() {
    let env = env();
    env.write("state.json", STATE);
    let before = names(&env);
    assert_snapshot!(env.ok(["learnings", "extract", "--from", "state.json", "--dry-run"]), @"
    KIND         WORK      CONFIDENCE  REJECTED                    LEARNING
    strategy     test-fix  0.90                                    Test-driven development approach
    antipattern  test-fix  0.50                                    Avoid: Syntax errors - check code carefully before execution
    estimate     test-fix  0.20        Confidence too low (< 0.3)  test-fix tasks of medium complexity: about 3 iterations, 42 s each
    convention   general   0.70                                    Tests in test/ directory
    convention   general   0.80                                    Modules are TypeScript (.ts)

    5 learnings would be extracted
    ");
    assert_eq!(names(&env), before, "a dry run creates no files");
    env.write(".aiwg/ralph-external/state.json", STATE);
    let of_file = env.ok(["learnings", "extract", "--from", "state.json", "--dry-run"]);
    for folder in [".", ".aiwg", ".aiwg/ralph-external"] {
        assert_eq!(
            env.ok(["learnings", "extract", "--from", folder, "--dry-run"]),
            of_file,
            "{folder}"
        );
    }
    assert_eq!(
        env.ok(["learnings", "extract", "--from", "state.json"]),
        "Extracted: 5 learnings\nValidated: 4\nRejected:  1\nPromoted:  4\nSkipped:   0\n"
    );
    let listed = json(&env, &["learnings", "list", "--json", "--kind", "antipattern"]);
    assert_eq!(listed[0]["source"], "extracted");
    assert_eq!(listed[0]["sourceLoops"], serde_json::json!(["ralph-001"]));
    assert_eq!(listed[0]["successRate"], 0.0);
    assert_eq!(
        json(&env, &["learnings", "extract", "--from", "state.json", "--json"]),
        serde_json::json!({
            "run": "ralph-001", "extracted": 5, "validated": 0, "rejected": 0, "promoted": 0, "known": 0, "skipped": 5
        }),
        "the same loop adds nothing"
    );
    let second = STATE.replace("ralph-001", "ralph-002");
    let again = env.ralph(["learnings", "extract", "--from", "-"]).input(second).run();
    assert!(
        again.stdout.contains("Rejected:  0\nPromoted:  5 (4 already known)\n"),
        "{again}"
    );
    let estimate = json(&env, &["learnings", "list", "--json", "--kind", "estimate"]);
    assert_eq!(estimate.as_array().unwrap().len(), 1, "{estimate}");
    assert_eq!(
        estimate[0]["confidence"], 0.4,
        "two loops give more confidence than one"
    );
}

#[test]
fn pipes_are_read() {
    for script in [
        "cat state.json | \"$RALPH\" learnings extract --from /dev/stdin",
        "\"$RALPH\" learnings extract --from /dev/stdin < state.json",
        "cat state.json | \"$RALPH\" learnings extract --from /dev/fd/3 3<&0 < /dev/null",
        "mkfifo pipe && { cat state.json > pipe & } && \"$RALPH\" learnings extract --from pipe",
    ] {
        let env = env();
        env.write("state.json", STATE);
        let read = env.sh(script).run();
        assert!(read.stdout.starts_with("Extracted: 5 learnings\n"), "{script}: {read}");
    }
    let env = env();
    env.write("plan.md", "- [ ] Boil the water\n");
    for command in [
        "task import /dev/stdin",
        "feature create tea --plan /dev/stdin",
        "knowledge add Tea --tags tea --file /dev/stdin",
    ] {
        let read = env.sh(&format!("cat plan.md | \"$RALPH\" {command}")).run();
        assert_eq!(read.code, Some(0), "{command}: {read}");
    }
}

#[test]
fn endless_and_binary_input_is_refused() {
    let env = env();
    for (source, code, texts) in [
        (
            "RALPH /dev/zero",
            1,
            ["/dev/zero: not a file or a pipe", "`-` for standard input"],
        ),
        (
            "RALPH /dev/stdin < /dev/null",
            1,
            ["/dev/stdin: not a file or a pipe", "`-` for standard input"],
        ),
        ("RALPH .", 1, ["/project", "is a directory"]),
        ("cat /dev/zero | RALPH /dev/stdin", 2, ["longer than", "4194304 bytes"]),
        ("printf 'a\\377' | RALPH /dev/stdin", 2, ["not UTF-8 text", "(byte 1)"]),
    ] {
        let script = format!("ulimit -v 600000; {source}");
        env.sh(&script.replace("RALPH", "\"$RALPH\" learnings extract --from"))
            .run()
            .refused(code, &texts);
    }
    assert_eq!(names(&env), [""; 0]);
}

#[test]
fn bad_histories_change_nothing() {
    let env = env();
    env.write("bad.json", "{\"loopId\": \"a\"");
    env.write("list.json", "{\"loopId\": \"a\", \"iterations\": 3}");
    let before = names(&env);
    for (source, code, texts) in [
        (
            &["--from", "bad.json"][..],
            1,
            &["bad.json: invalid loop history: EOF", "`ralph journal export`"][..],
        ),
        (
            &["--from", "list.json"],
            1,
            &[
                "list.json: invalid loop history: invalid type",
                "`ralph journal export`",
            ],
        ),
        (&["--from", "none.json"], 1, &["file not found: none.json"]),
        (&[], 2, &[]),
        (&["run-00000001"], 1, &["there is no run \"run-00000001\""]),
    ] {
        let refused = env.ralph([&["learnings", "extract"], source].concat()).run();
        refused.refused(code, texts);
    }
    assert_eq!(names(&env), before);
}

#[test]
fn recorded_run_is_extracted_once() {
    let env = past();
    let extract = |arguments: &[&'static str]| env.ralph([&["learnings", "extract"], arguments].concat()).run();
    extract(&["00000001", "--dry-run"]).printed(&[
        "Avoid: leap fails at line 4\n",
        "about 3 iterations, 1 min 23 s each\n",
        "Code is written in Rust\n",
        "5 learnings would be extracted\n",
    ]);
    extract(&["run-00000001"]).printed(&["Promoted:  4\nSkipped:   0\n"]);
    let all = || json(&env, &["learnings", "list", "--json", "--all"]);
    let first = all();
    extract(&["run-00000001"]).printed(&["Promoted:  0\nSkipped:   5\n"]);
    assert_eq!(all(), first, "fault 21: nothing is stored again");
    extract(&["run-00000001", "--dry-run"]).printed(&["5 learnings; already extracted before"]);
    let shown = json(&env, &["journal", "show", "run-00000001/3", "--json"]);
    assert_eq!(
        shown["learnings"].as_array().unwrap().len(),
        1,
        "the agent's learning: {shown}"
    );
    extract(&["run-00000002"]).refused(1, &["run-00000002 has not ended", "--dry-run"]);
    extract(&["run-ffffffff"]).refused(1, &["there is no run \"run-ffffffff\""]);
}

#[test]
fn unfinished_run_is_not_extracted() {
    let env = past();
    env.ok(["journal", "export", "run-00000002", "--to", "out"]);
    let all = || json(&env, &["learnings", "list", "--json", "--all"]);
    let before = all();
    let from = ["learnings", "extract", "--from", "out/state.json"];
    env.ralph(from).run().refused(1, &["run-00000002 has not ended"]);
    assert_eq!(all(), before);
    env.ok(from.into_iter().chain(["--dry-run"]));
}

#[test]
fn exported_run_gives_the_same_learnings() {
    let env = past();
    assert_eq!(
        env.ok(["journal", "export", "00000001", "--format", "state", "--to", "out/run"]),
        "Exported run-00000001 with 3 iterations to out/run/state.json\n"
    );
    let files: Vec<String> = names(&env)
        .into_iter()
        .filter(|name| name.starts_with("out/") && !name.ends_with('/'))
        .collect();
    assert_eq!(
        files,
        [
            "out/run/iterations/iteration-001.json",
            "out/run/iterations/iteration-002.json",
            "out/run/iterations/iteration-003.json",
            "out/run/state.json"
        ]
    );
    let drawn = |arguments: &[&str]| {
        json(
            &env,
            &[&["learnings", "extract", "--dry-run", "--json"], arguments].concat(),
        )
    };
    assert_eq!(drawn(&["--from", "out/run/state.json"]), drawn(&["run-00000001"]));
    let state: Value = serde_json::from_str(&env.read("out/run/state.json")).unwrap();
    assert_eq!(
        (&state["loopId"], &state["status"], &state["currentIteration"]),
        (&"run-00000001".into(), &"completed".into(), &3.into())
    );
    assert_eq!(state["iterations"][0]["analysis"]["errors"][0], "leap fails at line 4");
    env.ok(["journal", "export", "run-00000001", "--to", "out/run"]);
    env.ok(["journal", "export", "run-00000001"]);
    assert!(env.path("run-00000001/state.json").is_file());
}

#[test]
fn stopped_run_is_not_exported_as_completed() {
    for (kind, code) in [(EndKind::Stopped, 4), (EndKind::Stopped, 0), (EndKind::Killed, 1)] {
        let env = past();
        let mut store = Store::open_existing(&env.path(DATABASE), Wait::Long).unwrap().unwrap();
        let now = "2025-01-25T11:00:00Z".parse().unwrap();
        store.end_run(&RunId::new(2), (kind, code), "It ended.", now).unwrap();
        env.ok(["journal", "export", "run-00000002", "--to", "out"]);
        let state: Value = serde_json::from_str(&env.read("out/state.json")).unwrap();
        assert_eq!(
            (&state["status"], &state["iterations"][0]["status"]),
            (&"interrupted".into(), &"completed".into()),
            "{kind}"
        );
    }
}

#[test]
fn export_overwrites_nothing() {
    let env = past();
    env.write("out/iterations/iteration-002.json", "mine\n");
    let before = env.tree();
    let export = |arguments: &[&'static str]| env.ralph([&["journal", "export"], arguments].concat()).run();
    export(&["run-00000001", "--to", "out"]).refused(1, &["iteration-002.json already exists with different content"]);
    assert_eq!(env.read("out/iterations/iteration-002.json"), "mine\n");
    assert_eq!(crate::changes(&before, &env.tree()), [] as [String; 0]);
    env.write("file", "mine\n");
    export(&["run-00000001", "--to", "file"]).refused(1, &["Error: "]);
    assert_eq!(env.read("file"), "mine\n");
    for run in ["beef", "run-beefbeef"] {
        export(&[run]).refused(1, &[&format!("run not found: \"{run}\"")]);
    }
}
