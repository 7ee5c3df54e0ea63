//! `ralph review`: what waits for a person.

use insta::assert_snapshot;
use ralph_model::{Outcome, display_width};
use ralph_testkit::TestEnv;

use crate::past::{Worked, task, work};
use crate::stats::{failure, week};
use crate::terminal::at_terminal;
use crate::{env, json};

fn printed(env: &TestEnv, columns: &str) -> String {
    let printed = env.ralph(["review"]).env("COLUMNS", columns).run();
    assert_eq!((printed.code, printed.stderr.as_str()), (Some(0), ""));
    printed.stdout
}

#[test]
fn nothing_waits_where_nothing_has_failed() {
    let env = env();
    for _ in ["before and after init", ""] {
        assert_eq!(env.ok(["review"]), "Nothing waits for you.\n");
        let whole = json(&env, &["review", "--json"]);
        assert_eq!(whole, serde_json::json!({"failed_tasks": [], "learnings": []}));
        env.ok(["init"]);
    }
    task(&env, "Open");
    assert_eq!(env.ok(["review"]), "Nothing waits for you.\n");
}

#[test]
fn failed_tasks_and_lessons_that_wait_stand_in_one_place() {
    let env = week("Draw the colours");
    let after = env.ok(["task", "add", "Print the colours", "--after", "t-8eec67"]);
    assert_snapshot!(printed(&env, "80"), @"
    1 task has failed
      t-8eec67  Draw the colours
        4 attempts, and the last 3 failed the same way (test failure)
        The gate `cargo test` refused it: 1 test failed
        t-42c90b waits for it

      ralph task show t-8eec67   # every attempt at it
      ralph task reset t-8eec67  # let it be tried again

    1 lesson waits
      learn-00000001  pitfall, from run-00000abc/6 (Add a palette)
        A palette has at most 256 colours
        and the first is the background
        tags: palette, src/palette.rs

      ralph learnings promote learn-00000001  # it holds
      ralph learnings reject learn-00000001   # it does not
    ");
    assert_snapshot!(printed(&env, "44"), @"
    1 task has failed
      t-8eec67  Draw the colours
        4 attempts, and the last 3 failed the
        same way (test failure)
        The gate `cargo test` refused it: 1 test
        failed
        t-42c90b waits for it

      ralph task show t-8eec67
      ralph task reset t-8eec67

    1 lesson waits
      learn-00000001  pitfall, from run-00000ab…
        A palette has at most 256 colours
        and the first is the background
        tags: palette, src/palette.rs

      ralph learnings promote learn-00000001
      ralph learnings reject learn-00000001
    ");
    let whole = json(&env, &["review", "--json"]);
    let failed = &whole["failed_tasks"][0];
    assert_eq!([&failed["attempts"], &failed["same"]], [4, 3]);
    assert_eq!(failed["holds_up"][0], after.trim_end());
    assert_eq!(failed["failed_attempts"].as_array().unwrap().len(), 4);
    assert_eq!(failed["failed_attempts"][3]["report"]["signature"], "0000000000000002");
    assert_eq!(whole["learnings"][0]["category"], "pitfall");
}

#[test]
fn a_task_that_a_person_gave_up_waits_with_their_word() {
    let env = env();
    let given_up = task(&env, "Draw the colours");
    env.ok(["task", "fail", &given_up, "--reason", "Nobody wants it."]);
    assert_snapshot!(printed(&env, "80"), @"
    1 task has failed
      t-025cc1  Draw the colours
        nothing was tried
        Failed: Nobody wants it.

      ralph task show t-025cc1   # every attempt at it
      ralph task reset t-025cc1  # let it be tried again
    ");
    env.ok(["task", "reset", &given_up]);
    assert_eq!(printed(&env, "80"), "Nothing waits for you.\n");
}

#[test]
fn of_many_the_first_are_shown_and_programs_get_all() {
    let env = env();
    env.ok(["init"]);
    let tasks: Vec<String> = (0..12).map(|n| task(&env, &format!("Task {n}"))).collect();
    let failed = tasks.iter().map(|task| Worked {
        task,
        outcome: Outcome::Failed,
        reason: "It cannot be done.",
        captured: failure("This", "That"),
        max_retries: 0,
        ..Worked::default()
    });
    work(&env, 0xabc, &failed.collect::<Vec<_>>());
    let shown = printed(&env, "80");
    assert!(shown.starts_with("12 tasks have failed\n"), "{shown}");
    assert!(
        shown.contains("\n  and 2 more: ralph task list --status failed\n"),
        "{shown}"
    );
    assert_eq!(
        json(&env, &["review", "--json"])["failed_tasks"]
            .as_array()
            .unwrap()
            .len(),
        12
    );
}

#[test]
fn status_names_the_review_when_something_waits() {
    let env = week("Draw the colours");
    let status = env.ok(["status"]);
    assert!(
        status.contains("\n         1 lesson waits for you: ralph review\n"),
        "{status}"
    );
    assert!(status.contains("\nNext     ralph review "), "{status}");
    let whole = json(&env, &["status", "--json"]);
    assert_eq!(whole["runs"]["waiting_learnings"], 1);
    assert_eq!(whole["next"], "ralph review");
}

#[test]
fn no_title_breaks_out_of_its_line() {
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
        let shown = at_terminal(&env, "review");
        assert!(
            !shown.stdout.contains("^[[2J") && !shown.stdout.contains("^[[31m"),
            "{shown}"
        );
    }
}
