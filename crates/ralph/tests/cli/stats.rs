//! Tests of `ralph stats`.

use insta::assert_snapshot;
use ralph_model::{
    Captured, CapturedLearning, Difficulty, ErrorCategory, FailedGate, FailureReport, Outcome, ReportOrigin,
    display_width,
};
use ralph_testkit::TestEnv;

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
    assert_snapshot!(serde_json::to_string(&bare.1).unwrap(), @r#"{"since":null,"run":null,"runs":0,"tasks":0,"accepted_tasks":0,"cost_per_accepted_task":null,"outcomes":{"done":0,"failed":0,"retried":0,"blocked":0,"interrupted":0},"iterations":0,"success":{"done":0,"of":0},"duration_ms":0,"cost_usd":null,"input_tokens":null,"output_tokens":null,"by_day":[],"by_run":[],"by_model":[],"by_task_type":[],"different_failures":0,"failures":[],"hard_tasks":0,"hardest":[]}"#);
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
fn stats_fit_44_columns() {
    assert_snapshot!(printed(&week(HARD), "44"), @"
    Runs        1 on 3 tasks
    Days        2025-01-21 to 2025-01-28
    Iterations  8: 2 done, 4 retried, 1 blocked,
                1 interrupted
    Success     2 of 7 done (29 %)
    Spent       11 min 07 s, $2.00, 8k tokens,
                $1.00 per accepted task

    Over time
      success     0/1  0/1  .  1/1
      iterations  1    1    1  1
      2025-01-25 to 2025-01-28, one per day
      4 earlier days not shown
      success: done of counted iterations
      . nothing to count

    By model
      MODEL   DONE  COST   TIME
      sonnet  1/3   $1.00  5 min 33 s
      haiku   1/2   $0.50  2 min 46 s
      opus    0/2   $0.50  2 min 46 s

    By kind of work
      WORK           DONE  RATE  COST
      general        1/6   17 %  $1.75
      documentation  1/1         $0.25

    Most frequent failures
      TIMES  WHY
      3      The picture is upside down
      1      The picture is upside down

    Hardest tasks
      TASK      FAILED  TITLE
      t-8eec67  4/4     Draw the colours, all o…
      t-32555e  1/2     Add a palette
    ");
}

#[test]
fn terminal_gets_bars_and_styled_titles() {
    assert_snapshot!(at_terminal(&week(HARD), "stats --limit 1"), @"
    exit 0
    --- stdout
    ^[[1mRuns^[[0m        1 on 3 tasks
    ^[[1mDays^[[0m        2025-01-21 to 2025-01-28
    ^[[1mIterations^[[0m  8: 2 done, 4 retried, 1 blocked, 1 interrupted
    ^[[1mSuccess^[[0m     2 of 7 done (29 %)
    ^[[1mSpent^[[0m       11 min 07 s, $2.00, 8k tokens, $1.00 per accepted task

    ^[[1mOver time^[[0m
      success     █▁▁▁▁▁·█
      iterations  ████████
    ^[[2m  2025-01-21 to 2025-01-28, one per day^[[0m
    ^[[2m  success: ▁ none done, █ all done^[[0m
    ^[[2m  iterations: █ is 1; · nothing to count^[[0m

    ^[[1mBy model^[[0m
    ^[[2m  MODEL   DONE  COST   TIME        ITERATIONS  TOKENS^[[0m
      sonnet  1/3   $1.00  5 min 33 s  4           4k
      haiku   1/2   $0.50  2 min 46 s  2           2k
      opus    0/2   $0.50  2 min 46 s  2           2k

    ^[[1mBy kind of work^[[0m
    ^[[2m  WORK           DONE  RATE  COST   TIME        ITERATIONS  TOKENS^[[0m
      general        1/6   17 %  $1.75  9 min 44 s  7           7k
      documentation  1/1         $0.25  1 min 23 s  1           1k

    ^[[1mMost frequent failures (1 of 2)^[[0m
    ^[[2m  TIMES  KIND          TASKS     LAST        SIGNATURE         WHY^[[0m
      3      test failure  t-8eec67  2025-01-25  0000000000000002  The picture is upside down

    ^[[1mHardest tasks (1 of 2)^[[0m
    ^[[2m  TASK      FAILED  COST   RATED  NOW     TITLE^[[0m
      t-8eec67  4/4     $1.00  hard   failed  Draw the colours, all of them, in the right order and without a pause between…
    ");
}

#[test]
fn json_has_the_same_figures() {
    let env = week(HARD);
    let stats = json(&env, &["stats", "--json"]);
    assert_eq!([&stats["runs"], &stats["tasks"], &stats["iterations"]], [1, 3, 8]);
    assert_snapshot!(stats["outcomes"], @r#"{"done":2,"failed":0,"retried":4,"blocked":1,"interrupted":1}"#);
    assert_snapshot!(stats["by_model"], @r#"[{"model":"sonnet","iterations":4,"success":{"done":1,"of":3},"duration_ms":333800,"cost_usd":1.0,"input_tokens":4000,"output_tokens":80},{"model":"haiku","iterations":2,"success":{"done":1,"of":2},"duration_ms":166900,"cost_usd":0.5,"input_tokens":2000,"output_tokens":40},{"model":"opus","iterations":2,"success":{"done":0,"of":2},"duration_ms":166900,"cost_usd":0.5,"input_tokens":2000,"output_tokens":40}]"#);
    assert_snapshot!(stats["failures"], @r#"[{"signature":"0000000000000002","times":3,"category":"test_failure","why":"The picture is upside down","last_journal":5,"last_at":"2025-01-25T10:00:00.000Z","tasks":["t-8eec67"]},{"signature":"0000000000000001","times":1,"category":"test_failure","why":"The picture is upside down","last_journal":2,"last_at":"2025-01-22T10:00:00.000Z","tasks":["t-8eec67"]}]"#);
    assert_snapshot!(stats["hardest"], @r#"[{"task":"t-8eec67","title":"Draw the colours, all of them, in the right order and without a pause between two of them","status":"failed","failures":4,"difficulty":"hard","iterations":4,"success":{"done":0,"of":4},"duration_ms":333800,"cost_usd":1.0,"input_tokens":4000,"output_tokens":80},{"task":"t-32555e","title":"Add a palette","status":"done","failures":1,"difficulty":null,"iterations":3,"success":{"done":1,"of":2},"duration_ms":250350,"cost_usd":0.75,"input_tokens":3000,"output_tokens":60}]"#);
    assert_eq!(stats["by_day"].as_array().unwrap().len(), 8);
    assert_eq!(stats["by_day"][0]["day"], "2025-01-21");
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
    let lately: serde_json::Value = serde_json::from_str(&lately.stdout).unwrap();
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
