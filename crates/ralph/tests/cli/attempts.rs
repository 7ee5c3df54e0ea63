//! Tests of `ralph task show` for a task with attempts.

use insta::assert_snapshot;
use ralph_model::{Outcome, display_width};
use ralph_testkit::TestEnv;

use crate::past::{Worked, task, work};
use crate::stats::week;
use crate::terminal::{at_terminal, on_screen};
use crate::{env, json};

const ROWS: usize = 40;

fn shown(env: &TestEnv, task: &str, columns: &str) -> String {
    let shown = env.ralph(["task", "show", task]).env("COLUMNS", columns).run();
    assert_eq!((shown.code, shown.stderr.as_str()), (Some(0), ""));
    shown.stdout
}

/// The id of the failed task.
fn failed(env: &TestEnv) -> String {
    let tasks = json(env, &["task", "list", "--status", "failed", "--json"]);
    tasks[0]["id"].as_str().unwrap().to_owned()
}

#[test]
fn failed_task_fits_on_one_screen() {
    let env = week("Draw the colours");
    let wide = shown(&env, &failed(&env), "80");
    assert!(wide.lines().count() <= ROWS, "{wide}");
    assert_snapshot!(wide, @"
    t-8eec67  Draw the colours
    status: failed
    priority: 5
    attempts: 4, retries used: 3 of 3
    created: 2025-01-20T11:20:00Z
    updated: 2025-01-25T10:00:00Z
    ready: no: it failed; reopen with `ralph task reset t-8eec67`

    Attempts
      1. retried, haiku, 1 min 23 s, $0.25, rated hard (run-00000abc/2)
         tried  Drew every pixel by hand
         why    test failure: The picture is upside down
                in both directions …
         gate   cargo test (exit code 101)
      2. retried, sonnet, 1 min 23 s, $0.25, rated hard (run-00000abc/3)
         tried  Drew every pixel by hand
         why    test failure: The picture is upside down
                in both directions …
         gate   cargo test (exit code 101)
      3. retried, opus, 1 min 23 s, $0.25, rated hard (run-00000abc/4)
         tried  Drew every pixel by hand
         why    same as attempt 2
      4. retried, opus, 1 min 23 s, $0.25, rated hard (run-00000abc/5)
         tried  Drew every pixel by hand
         why    same as attempt 2
         files  src/part_5.rs
         next   Turn the picture over first

    Log
      6 earlier: ralph task log t-8eec67
      2025-01-24T10:00:00Z  Attempt 3 (run-00000abc): retried: The gate `cargo test` refused it: 1 test failed. Next: retry 3 of 3.
      2025-01-20T10:00:01Z  In progress: attempt 4, by run-00000abc.
      2025-01-25T10:00:00Z  Attempt 4 (run-00000abc): retried: The gate `cargo test` refused it: 1 test failed. No retries left; needs attention.

    Next
      ralph task reset t-8eec67          # try again
      ralph why run-00000abc/5           # show what was in the last prompt
      ralph journal show run-00000abc/5  # show the last attempt in full
    ");
}

#[test]
fn narrow_terminal_cuts_reports_but_not_commands() {
    let env = week("Draw the colours");
    let narrow = shown(&env, &failed(&env), "44");
    for rows in [
        "\nready: no: it failed; reopen with `ralph task reset t-8eec67`\n",
        "\n  1. retried, haiku (run-00000abc/2)\n     tried  Drew every pixel by hand\n",
        "\n     why    test failure: The picture is up…\n            in both directions …\n",
        "\n     gate   cargo test (exit code 101)\n",
        "\n  6 earlier: ralph task log t-8eec67\n",
    ] {
        assert!(narrow.contains(rows), "{rows}: {narrow}");
    }
    let next = "\nNext\n  ralph task reset t-8eec67\n  ralph why run-00000abc/5\n  ralph journal show run-00000abc/5\n";
    assert!(narrow.ends_with(next), "{narrow}");
}

#[test]
fn log_entries_take_one_row_each() {
    let env = week("Draw the colours");
    let hard = failed(&env);
    let log = |shown: &str| shown.split("\nLog\n").nth(1).unwrap().to_owned();
    let wide = on_screen(&env, &format!("task show {hard}"), 80);
    assert!(wide.lines().count() <= ROWS, "{wide}");
    let row = "2025-01-24T10:00:00Z  Attempt 3 (run-00000abc): retried: The gate `cargo test…";
    assert_eq!(log(&wide).lines().nth(1).unwrap().trim(), row, "{wide}");
    assert_eq!(
        log(&wide).lines().take_while(|line| !line.is_empty()).count(),
        4,
        "{wide}"
    );
    let narrow = on_screen(&env, &format!("task show {hard}"), 44);
    assert!(narrow.lines().count() <= ROWS, "{narrow}");
    assert!(
        narrow.contains("\n  2025-01-25T10:00:00Z  Attempt 4 (run-0000…\n"),
        "{narrow}"
    );
    let whole = on_screen(&env, &format!("task log {hard}"), 44);
    assert!(whole.contains("retries left; needs\n"), "{whole}");
}

#[test]
fn terminal_styles_titles() {
    let env = week("Draw the colours");
    let shown = at_terminal(&env, &format!("task show {}", failed(&env)));
    assert!(
        shown.stdout.contains("\n^[[1mAttempts^[[0m\n  1. retried, haiku, "),
        "{shown}"
    );
}

#[test]
fn done_task_shows_its_attempts() {
    let env = week("Draw the colours");
    let tasks = json(&env, &["task", "list", "--status", "done", "--json"]);
    let again = tasks
        .as_array()
        .unwrap()
        .iter()
        .find(|task| task["title"] == "Add a palette");
    let again = again.unwrap()["id"].as_str().unwrap();
    let wide = shown(&env, again, "80");
    for rows in [
        "\nstatus: done\n",
        "\nevidence: gates\nattempts: 3, retries used: 0 of 3\n",
        "\nready: no: it is done\n",
        "\n  1. blocked, sonnet, 1 min 23 s, $0.25 (run-00000abc/6)\n     why    the agent said nothing",
        "\n  2. interrupted, sonnet, 1 min 23 s, $0.25 (run-00000abc/7)\n     files  src/part_7.rs\n",
        "\n  3. done, sonnet, 1 min 23 s, $0.25 (run-00000abc/8)\n     files  src/part_8.rs\n",
    ] {
        assert!(wide.contains(rows), "{rows}: {wide}");
    }
    assert!(!wide.contains("\nNext\n"), "{wide}");
    assert_eq!(
        json(&env, &["task", "show", again, "--json"])["failed_attempts"],
        serde_json::json!([]),
        "those before it was done are over"
    );
}

#[test]
fn json_has_every_failed_attempt_with_its_report() {
    let env = week("Draw the colours");
    let whole = json(&env, &["task", "show", &failed(&env), "--json"]);
    let attempts = whole["failed_attempts"].as_array().unwrap();
    let numbers: Vec<&serde_json::Value> = attempts.iter().map(|attempt| &attempt["attempt"]).collect();
    assert_eq!(numbers, [1, 2, 3, 4]);
    assert_eq!(attempts[0]["report"]["gate"]["command"], "cargo test");
    assert_eq!(attempts[3]["report"]["suggestion"], "Turn the picture over first");
    assert_eq!(attempts[0]["model"], "haiku");
    let untried = task(&env, "Open");
    let whole = json(&env, &["task", "show", &untried, "--json"]);
    assert_eq!(whole["failed_attempts"], serde_json::json!([]));
    assert!(!shown(&env, &untried, "80").contains("Attempts"));
}

#[test]
fn last_of_many_attempts_are_shown() {
    let env = env();
    env.ok(["init"]);
    let hard = task(&env, "Draw the colours");
    let again = || Worked {
        task: &hard,
        outcome: Outcome::Failed,
        reason: "It cannot be done.",
        max_retries: 20,
        ..Worked::default()
    };
    work(&env, 0xabc, &(0..11).map(|_| again()).collect::<Vec<_>>());
    let shown = shown(&env, &hard, "80");
    assert!(
        shown.contains(&format!("\n  3 earlier: ralph journal list --task {hard}\n  4. failed")),
        "{shown}"
    );
    assert!(shown.contains("\n  11. failed, sonnet"), "{shown}");
    assert!(shown.lines().count() <= ROWS, "{shown}");
    assert!(!shown.contains("\nNext\n"), "it is open still: {shown}");
}

#[test]
fn long_attempts_fit_and_interruptions_keep_suggestions() {
    let env = env();
    env.ok(["init"]);
    let hard = task(&env, "Draw the colours");
    let failed = |number: u64| {
        let mut captured = crate::stats::failure(&format!("Way {number}"), &format!("Because of {number}\nand more"));
        captured.retry_suggestion = (number == 8).then(|| "Turn the picture over first".to_owned());
        Worked {
            task: &hard,
            outcome: Outcome::Failed,
            reason: "It cannot be done.",
            captured,
            signature: Some(number),
            max_retries: 8,
            ..Worked::default()
        }
    };
    let interrupted = Worked {
        task: &hard,
        outcome: Outcome::Interrupted,
        max_retries: 8,
        ..Worked::default()
    };
    work(
        &env,
        0xabc,
        &(1..=8).map(failed).chain([interrupted]).collect::<Vec<_>>(),
    );
    let shown = shown(&env, &hard, "80");
    assert!(shown.lines().count() <= ROWS, "{shown}");
    let attempts = shown.split("\nAttempts\n").nth(1).unwrap();
    let attempts = attempts.split("\nLog\n").next().unwrap();
    let begin = format!(
        "  1 earlier: ralph journal list --task {hard}\n  what 7 tried: ralph journal show RUN/ITERATION\n  2. failed"
    );
    assert!(attempts.starts_with(&begin), "{attempts}");
    for number in 2..=8 {
        let row = format!("(run-00000abc/{number})\n     why    test failure: Because of {number} …\n");
        assert!(attempts.contains(&row), "{attempts}");
    }
    let interrupted = "(run-00000abc/9)\n     next   after attempt 8: Turn the picture over first\n";
    assert!(attempts.ends_with(interrupted), "{attempts}");
}

#[test]
fn hostile_reports_stay_on_their_lines() {
    let env = env();
    env.ok(["init"]);
    let hard = task(&env, "Draw the colours");
    let hostile = "\u{1b}[2J\u{1b}[31mred\u{7} \u{202e}nimda 色を描く色を描く色を描く色を描く色を描く色を描く色を描く "
        .repeat(300);
    let worked = || Worked {
        task: &hard,
        outcome: Outcome::Failed,
        reason: &hostile,
        captured: crate::stats::failure(&hostile, &hostile),
        ..Worked::default()
    };
    work(&env, 0xabc, &[worked(), worked(), worked(), worked()]);
    for columns in ["44", "80"] {
        let shown = shown(&env, &hard, columns);
        let attempts = shown
            .split("\nAttempts\n")
            .nth(1)
            .unwrap()
            .split("\nLog\n")
            .next()
            .unwrap();
        for line in attempts.lines() {
            assert!(!line.contains(char::is_control), "{line:?}");
            assert!(display_width(line) <= columns.parse().unwrap(), "{line:?}");
        }
    }
    let shown = at_terminal(&env, &format!("task show {hard}"));
    assert!(
        !shown.stdout.contains("^[[2J") && !shown.stdout.contains("^[[31m"),
        "{shown}"
    );
}
