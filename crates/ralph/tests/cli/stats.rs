//! Tests of `ralph stats`.

use insta::assert_snapshot;
use ralph_model::{
    Captured, CapturedLearning, Difficulty, ErrorCategory, FailedGate, FailureReport, Outcome, ReportOrigin,
    display_width,
};
use ralph_testkit::TestEnv;
use serde_json::{Value, json};

use crate::past::{Worked, task, work};
use crate::terminal::at_terminal;
use crate::{env, json};

/// A failure report of the agent, with the gate that refused the work.
pub(crate) fn failure(what_tried: &str, why_failed: &str) -> Captured {
    Captured {
        failure: Some(FailureReport {
            what_tried: what_tried.to_owned(),
            why_failed: why_failed.to_owned(),
            category: ErrorCategory::TestFailure,
            relevant_files: vec!["src/draw.rs".to_owned()],
            error_output: Some(why_failed.to_owned()),
            origin: ReportOrigin::Agent,
            gate: Some(FailedGate {
                command: "cargo test".to_owned(),
                end: "exit code 101".to_owned(),
            }),
        }),
        ..Captured::default()
    }
}

/// A task done at once, one that failed after four attempts (three the same way), and one that was done on a later
/// attempt after a first that taught a learning.
pub(crate) fn week(hard: &str) -> TestEnv {
    let env = env();
    env.ok(["init"]);
    let [easy, hard, again] = ["Document the colours", hard, "Add a palette"].map(|title| task(&env, title));
    let failed = |signature, model| Worked {
        task: &hard,
        outcome: Outcome::Retried,
        reason: "The gate `cargo test` refused it:\n1 test failed",
        captured: failure(
            "Drew every pixel by hand",
            "The picture is upside down\nin both directions\nand too late",
        ),
        signature: Some(signature),
        model,
        difficulty: Some(Difficulty::Hard),
        ..Worked::default()
    };
    let mut last = failed(2, "opus");
    last.captured.retry_suggestion = Some("Turn the picture over first".to_owned());
    let learning = CapturedLearning {
        category: "pitfall".to_owned(),
        tags: vec!["palette".to_owned(), "src/palette.rs".to_owned()],
        content: "A palette has at most 256 colours\nand the first is the background".to_owned(),
    };
    let taught = Captured {
        learnings: vec![learning],
        ..Captured::default()
    };
    work(
        &env,
        0xabc,
        &[
            Worked {
                task: &easy,
                model: "haiku",
                ..Worked::default()
            },
            failed(1, "haiku"),
            failed(2, "sonnet"),
            failed(2, "opus"),
            last,
            Worked {
                task: &again,
                outcome: Outcome::Blocked,
                reason: "the agent said nothing about the task.",
                captured: taught,
                ..Worked::default()
            },
            Worked {
                task: &again,
                outcome: Outcome::Interrupted,
                ..Worked::default()
            },
            Worked {
                task: &again,
                ..Worked::default()
            },
        ],
    );
    env
}

const HARD: &str = "Draw the colours, all of them, in the right order and without a pause between two of them";

fn printed(env: &TestEnv, columns: &str) -> String {
    let printed = env.ralph(["stats"]).env("COLUMNS", columns).run();
    assert_eq!((printed.code, printed.stderr.as_str()), (Some(0), ""));
    printed.stdout
}

#[test]
fn stats_without_runs_are_zero() {
    let env = env();
    let bare = (env.ok(["stats"]), json(&env, &["stats", "--json"]));
    assert_eq!(bare.0, "No iterations yet. Run `ralph run` to start.\n");
    env.ok(["init"]);
    assert_eq!((env.ok(["stats"]), json(&env, &["stats", "--json"])), bare);
    for count in [
        "runs",
        "tasks",
        "accepted_tasks",
        "iterations",
        "duration_ms",
        "different_failures",
        "hard_tasks",
    ] {
        assert_eq!(bare.1[count], 0, "{count}");
    }
    for unknown in [
        "since",
        "run",
        "cost_per_accepted_task",
        "cost_usd",
        "input_tokens",
        "output_tokens",
    ] {
        assert_eq!(bare.1.get(unknown), Some(&Value::Null), "{unknown}");
    }
    for list in ["by_day", "by_run", "by_model", "by_task_type", "failures", "hardest"] {
        assert_eq!(bare.1[list], json!([]), "{list}");
    }
    let outcomes = json!({"done": 0, "failed": 0, "retried": 0, "blocked": 0, "interrupted": 0});
    assert_eq!(
        (&bare.1["outcomes"], &bare.1["success"]),
        (&outcomes, &json!({"done": 0, "of": 0}))
    );
}

#[test]
fn stats_fit_80_columns() {
    assert_snapshot!(printed(&week(HARD), "80"), @"
    Runs        1 on 3 tasks
    Days        2025-01-21 to 2025-01-28
    Iterations  8: 2 done, 4 retried, 1 blocked, 1 interrupted
    Success     2 of 7 done (29 %)
    Spent       11 min 07 s, $2.00, 8k tokens, $1.00 per accepted task

    Over time
      success     1/1  0/1  0/1  0/1  0/1  0/1  .  1/1
      iterations  1    1    1    1    1    1    1  1
      2025-01-21 to 2025-01-28, one per day
      success: done of counted iterations
      . nothing to count

    By model
      MODEL   DONE  COST   TIME        ITERATIONS  TOKENS
      sonnet  1/3   $1.00  5 min 33 s  4           4k
      haiku   1/2   $0.50  2 min 46 s  2           2k
      opus    0/2   $0.50  2 min 46 s  2           2k

    By kind of work
      WORK           DONE  RATE  COST   TIME        ITERATIONS  TOKENS
      general        1/6   17 %  $1.75  9 min 44 s  7           7k
      documentation  1/1         $0.25  1 min 23 s  1           1k

    Most frequent failures
      TIMES  KIND          TASKS     LAST        WHY
      3      test failure  t-8eec67  2025-01-25  The picture is upside down
      1      test failure  t-8eec67  2025-01-22  The picture is upside down

    Hardest tasks
      TASK      FAILED  COST   RATED  NOW     TITLE
      t-8eec67  4/4     $1.00  hard   failed  Draw the colours, all of them, in the…
      t-32555e  1/2     $0.75         done    Add a palette
    ");
}

#[test]
fn narrow_stats_have_fewer_columns_and_days() {
    let narrow = printed(&week(HARD), "44");
    for rows in [
        "\nIterations  8: 2 done, 4 retried, 1 blocked,\n            1 interrupted\n",
        "\n  success     0/1  0/1  .  1/1\n  iterations  1    1    1  1\n",
        "\n  4 earlier days not shown\n",
        "\n  MODEL   DONE  COST   TIME\n  sonnet  1/3   $1.00  5 min 33 s\n",
        "\n  WORK           DONE  RATE  COST\n  general        1/6   17 %  $1.75\n",
        "\n  TIMES  WHY\n  3      The picture is upside down\n",
        "\n  TASK      FAILED  TITLE\n  t-8eec67  4/4     Draw the colours, all o…\n",
    ] {
        assert!(narrow.contains(rows), "{rows}: {narrow}");
    }
}

#[test]
fn terminal_gets_bars_and_styled_titles() {
    let shown = at_terminal(&week(HARD), "stats --limit 1");
    shown.printed(&[
        "^[[1mRuns^[[0m        1 on 3 tasks\n",
        "^[[1mOver time^[[0m\n  success     █▁▁▁▁▁·█\n  iterations  ████████\n^[[2m  2025-01-21 to 2025-01-28, ",
        "\n^[[1mMost frequent failures (1 of 2)^[[0m\n^[[2m  TIMES ",
        "  0000000000000002  The picture is upside down\n",
        "\n^[[1mHardest tasks (1 of 2)^[[0m\n^[[2m  TASK ",
        "  t-8eec67  4/4 ",
    ]);
    assert!(!shown.stdout.contains("t-32555e"), "{shown}");
}

#[test]
fn json_has_the_same_figures() {
    let env = week(HARD);
    let stats = json(&env, &["stats", "--json"]);
    assert_eq!([&stats["runs"], &stats["tasks"], &stats["iterations"]], [1, 3, 8]);
    let outcomes = json!({"done": 2, "failed": 0, "retried": 4, "blocked": 1, "interrupted": 1});
    assert_eq!(stats["outcomes"], outcomes);
    let figures = |done: u32, of: u32, iterations: u32| {
        json!({
            "success": {"done": done, "of": of},
            "iterations": iterations,
            "duration_ms": iterations * 83_450,
            "cost_usd": f64::from(iterations) * 0.25,
            "input_tokens": iterations * 1000,
            "output_tokens": iterations * 20,
        })
    };
    let models = [
        ("sonnet", figures(1, 3, 4)),
        ("haiku", figures(1, 2, 2)),
        ("opus", figures(0, 2, 2)),
    ];
    for (row, (model, figures)) in stats["by_model"].as_array().unwrap().iter().zip(models) {
        assert_eq!(row["model"], model);
        assert_has(row, &figures);
    }
    assert_eq!(stats["by_model"].as_array().unwrap().len(), 3);
    let failure = |signature: u64, times: u32, journal: u32, at: &str| {
        json!({
            "signature": format!("{signature:016x}"),
            "times": times,
            "category": "test_failure",
            "why": "The picture is upside down",
            "last_journal": journal,
            "last_at": at,
            "tasks": ["t-8eec67"],
        })
    };
    let [frequent, rare] = [
        failure(2, 3, 5, "2025-01-25T10:00:00.000Z"),
        failure(1, 1, 2, "2025-01-22T10:00:00.000Z"),
    ];
    assert_eq!(stats["failures"], json!([frequent, rare]));
    let [hardest, again] = [&stats["hardest"][0], &stats["hardest"][1]];
    assert_has(hardest, &figures(0, 4, 4));
    assert_has(
        hardest,
        &json!({"task": "t-8eec67", "title": HARD, "status": "failed", "failures": 4, "difficulty": "hard"}),
    );
    assert_has(again, &figures(1, 2, 3));
    assert_has(
        again,
        &json!({"task": "t-32555e", "title": "Add a palette", "status": "done", "failures": 1, "difficulty": null}),
    );
    assert_eq!(stats["by_day"].as_array().unwrap().len(), 8);
    assert_eq!(stats["by_day"][0]["day"], "2025-01-21");
}

/// Checks that an object has these keys with these values.
#[track_caller]
fn assert_has(object: &Value, expected: &Value) {
    for (key, value) in expected.as_object().unwrap() {
        assert_eq!(object.get(key), Some(value), "{key}: {object}");
    }
}

#[test]
fn stats_filter_by_run_and_time() {
    let env = week(HARD);
    let other = task(&env, "Another one");
    let worked = Worked {
        task: &other,
        ..Worked::default()
    };
    work(&env, 0xdef, &[worked]);
    let iterations = |arguments: &[&str]| {
        let arguments: Vec<&str> = ["stats", "--json"].iter().chain(arguments).copied().collect();
        json(&env, &arguments)["iterations"].clone()
    };
    assert_eq!(iterations(&[]), 9);
    assert_eq!(iterations(&["--run", "run-00000def"]), 1);
    assert_eq!(iterations(&["--run", "00000a"]), 8);
    assert_eq!(iterations(&["--since", "2025-01-22"]), 7);
    let lately = env
        .ralph(["stats", "--json", "--since", "2d"])
        .env("RALPH_NOW", "2025-01-28T12:00:00Z")
        .run();
    let lately: Value = serde_json::from_str(&lately.stdout).unwrap();
    assert_eq!(lately["since"], "2025-01-26T12:00:00.000Z");
    assert_eq!(lately["iterations"], 2);
    assert_eq!(iterations(&["--since", "2025-01-22T10:00:00Z", "--run", "00000d"]), 0);
    let none = env.ok(["stats", "--since", "2031-01-01"]);
    assert_eq!(none, "No iterations found\n");
    assert_eq!(
        json(&env, &["stats", "--json", "--run", "run-00000def"])["run"],
        "run-00000def"
    );

    for (arguments, code) in [
        (["--since", "yesterday"], 2),
        (["--limit", "-1"], 2),
        (["--run", "ffff"], 1),
        (["--run", "00000"], 1),
    ] {
        let refused = env.ralph(["stats"].into_iter().chain(arguments)).run();
        assert_eq!(
            (refused.code, refused.stdout.as_str()),
            (Some(code), ""),
            "{arguments:?}"
        );
        assert!(!refused.stderr.is_empty());
    }
}

#[test]
fn limit_controls_the_lists() {
    let env = week(HARD);
    let listed = |limit| {
        let stats = json(&env, &["stats", "--json", "--limit", limit]);
        let listed = |key: &str| stats[key].as_array().unwrap().len();
        (
            listed("failures"),
            listed("hardest"),
            stats["different_failures"].clone(),
        )
    };
    assert_eq!(listed("1"), (1, 1, 2.into()));
    assert_eq!(listed("0"), (2, 2, 2.into()));
}

#[test]
fn hostile_titles_stay_on_their_line() {
    for title in [
        "\u{1b}[2J\u{1b}[31mred\u{7} \u{202e}nimda\u{9b}",
        "色を描く色を描く色を描く色を描く色を描く色を描く色を描く色を描く色を描く色を描く",
        "a title 👩‍👩‍👧‍👧 that is longer than any screen is wide: "
            .repeat(40)
            .as_str(),
    ] {
        let env = week(title);
        for columns in ["44", "80"] {
            for line in printed(&env, columns).lines() {
                assert!(!line.contains(char::is_control), "{line:?}");
                let most: usize = columns.parse().unwrap();
                assert!(display_width(line) <= most, "{line:?}");
            }
        }
        let shown = at_terminal(&env, "stats");
        assert!(
            !shown.stdout.contains("^[[2J") && !shown.stdout.contains("^[[31m"),
            "{shown}"
        );
        let stats = json(&env, &["stats", "--json"]);
        assert_eq!(stats["hardest"][0]["title"], title.trim());
    }
}
