//! Tests of `ralph review`: the list of what needs review.

use insta::assert_snapshot;
use ralph_model::{
    CapturedLearning, ErrorCategory, Learning, LearningKind, LearningStatus, Outcome, TaskType, display_width,
};
use ralph_testkit::{TestEnv, put_learnings, run_learning};

use crate::past::{Worked, task, work};
use crate::stats::{failure, week};
use crate::terminal::at_terminal;
use crate::{DATABASE, MEMORIES, add, env, json};

fn printed(env: &TestEnv, columns: &str) -> String {
    let printed = env.ralph(["review"]).env("COLUMNS", columns).run();
    assert_eq!((printed.code, printed.stderr.as_str()), (Some(0), ""));
    printed.stdout
}

#[test]
fn nothing_needs_review_without_failures() {
    let env = env();
    for _ in ["before and after init", ""] {
        assert_eq!(env.ok(["review"]), "Nothing needs review.\n");
        let whole = json(&env, &["review", "--json"]);
        let nothing = serde_json::json!({
            "failed_tasks": [], "unverified_tasks": [], "finished_tasks": [], "conflicts": [], "learnings": [], "proposed_tasks": [],
            "proposals": [], "vanished": [], "problems": [],
        });
        assert_eq!(whole, nothing);
        env.ok(["init"]);
    }
    task(&env, "Open");
    assert_eq!(env.ok(["review"]), "Nothing needs review.\n");
}

#[test]
fn failed_tasks_and_learnings_are_listed() {
    let env = week("Draw the colours");
    let after = env.ok(["task", "add", "Print the colours", "--after", "t-8eec67"]);
    assert_snapshot!(printed(&env, "100"), @"
    1 task has failed
      t-8eec67  Draw the colours
        4 attempts, and the last 3 failed the same way (test failure)
        The gate `cargo test` refused it: 1 test failed
        1. retried, haiku, 1 min 23 s, $0.25, rated hard (run-00000abc/2)
           why    test failure: The picture is upside down …
        2. retried, sonnet, 1 min 23 s, $0.25, rated hard (run-00000abc/3)
           why    test failure: The picture is upside down …
        3. retried, opus, 1 min 23 s, $0.25, rated hard (run-00000abc/4)
           why    same as attempt 2
        4. retried, opus, 1 min 23 s, $0.25, rated hard (run-00000abc/5)
           tried  Drew every pixel by hand
           why    same as attempt 2
           next   Turn the picture over first
        t-42c90b depends on it
        ralph task show t-8eec67   # show all attempts
        ralph task reset t-8eec67  # try again

    1 learning to review
      learn-00000001  pitfall, confidence 0.50
        A palette has at most 256 colours
        and the first is the background
        tags: palette, src/palette.rs
        from run-00000abc/6 [blocked] Add a palette
        ralph learnings promote learn-00000001  # promote it
        ralph learnings reject learn-00000001   # reject it
    ");
    let narrow = printed(&env, "44");
    assert!(narrow.lines().all(|line| display_width(line) <= 44), "{narrow}");
    for line in [
        "    1. retried, haiku (run-00000abc/2)\n       why    test failure: The picture i…\n",
        "    ralph task reset t-8eec67\n",
        "    A palette has at most 256 colours\n    and the first is the background\n",
        "    ralph learnings promote learn-00000001\n",
    ] {
        assert!(narrow.contains(line), "{line} in {narrow}");
    }
    let whole = json(&env, &["review", "--json"]);
    let failed = &whole["failed_tasks"][0];
    assert_eq!([&failed["attempts"], &failed["same"]], [4, 3]);
    assert_eq!(failed["holds_up"][0], after.trim_end());
    assert_eq!(failed["failed_attempts"].as_array().unwrap().len(), 4);
    assert_eq!(failed["failed_attempts"][3]["report"]["signature"], "0000000000000002");
    assert_eq!(whole["learnings"][0]["category"], "pitfall");
    assert_eq!(whole["learnings"][0]["taught_in"][0]["outcome"], "blocked");
}

#[test]
fn only_shows_one_group() {
    let env = week("Draw the colours");
    let learnings = env.ok(["review", "--only", "notes"]);
    assert!(learnings.starts_with("1 learning to review\n"), "{learnings}");
    assert_eq!(env.ok(["review", "--only", "conflicts"]), "Nothing needs review.\n");
    let failed = json(&env, &["review", "--only", "failed", "--json"]);
    assert_eq!(failed.as_object().unwrap().keys().collect::<Vec<_>>(), ["failed_tasks"]);
    assert_eq!(env.ralph(["review", "--only", "everything"]).run().code, Some(2));
}

/// A project with a proposed learning, taught by this iteration.
pub(crate) fn learning(text: &str, taught_in: Worked<'_>) -> TestEnv {
    let env = env();
    env.ok(["init"]);
    let task = task(&env, "Parse the colours");
    let learning = CapturedLearning {
        category: "tool_usage".to_owned(),
        tags: Vec::new(),
        content: text.to_owned(),
    };
    let mut taught_in = Worked {
        task: &task,
        ..taught_in
    };
    taught_in.captured.learnings.push(learning);
    work(&env, 0xabc, &[taught_in]);
    env
}

#[test]
fn learning_is_shown_whole_with_its_failed_gate() {
    let long = format!(
        "The parser {}stops at a colon.",
        "reads every word of the file and ".repeat(12)
    );
    let env = learning(
        &format!("{long}\n  indented {}", "z".repeat(60)),
        Worked {
            outcome: Outcome::Retried,
            reason: "The gate refused it.",
            captured: failure("This", "That"),
            ..Worked::default()
        },
    );
    for columns in ["44", "100", "500"] {
        let shown = env
            .ralph(["review", "--only", "notes"])
            .env("COLUMNS", columns)
            .run()
            .stdout;
        let most: usize = columns.parse().unwrap();
        assert!(shown.lines().all(|line| display_width(line) <= most), "{shown}");
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words(&shown).contains(&words(&long)), "{shown}");
        assert_eq!(shown.matches('z').count(), 60, "{shown}");
    }
    let shown = env.ok(["review", "--only", "notes"]);
    assert!(
        shown.contains("\n    from run-00000abc/1 [retried, gate `cargo test`: exit code 101] Parse the colours\n"),
        "{shown}"
    );
}

#[test]
fn unknown_error_category_is_not_shown() {
    let env = env();
    env.ok(["init"]);
    let task = task(&env, "Ask the server");
    let mut unknown = failure("Asked it", "The server does not answer.");
    unknown.failure.as_mut().unwrap().category = ErrorCategory::Unknown;
    let failed = || Worked {
        task: &task,
        outcome: Outcome::Failed,
        reason: "The agent said that it cannot be done: no server",
        captured: unknown.clone(),
        signature: Some(1),
        max_retries: 1,
        ..Worked::default()
    };
    work(&env, 0xabc, &[failed(), failed()]);
    let shown = printed(&env, "80");
    for line in [
        "2 attempts, and all 2 failed the same way\n",
        "why    The server does not answer.\n",
        "why    same as attempt 1\n",
    ] {
        assert!(shown.contains(line), "{line} in {shown}");
    }
}

/// Adds two active learnings that conflict.
pub(crate) fn contradicting(env: &TestEnv) -> [String; 2] {
    ["4", "8"].map(|jobs| add_learning(env, &format!("Run the tests with -j {jobs}")))
}

pub(crate) fn add_learning(env: &TestEnv, text: &str) -> String {
    let category = ["--category", "tool_usage", "--tags", "tests", "--format", "quiet"];
    let added = env.ok(["learnings", "add", text].into_iter().chain(category));
    added.trim_end().to_owned()
}

#[test]
fn conflicts_missing_notes_and_file_problems_are_listed() {
    let env = env();
    env.ok(["init"]);
    let [four, eight] = contradicting(&env);
    let gone = add(&env, "kept by hand\nand lost");
    env.write(MEMORIES, "# Memories\n\n## Fixes\n### mem-1\n> x\n");
    let shown = env
        .ok(["review"])
        .replace(&four, "learn-of-4444")
        .replace(&eight, "learn-of-8888");
    assert_snapshot!(shown, @"
    1 pair of conflicting learnings
      one says 4, the other 8
        1  learn-of-4444  tool_usage, confidence 0.50
           Run the tests with -j 4
        2  learn-of-8888  tool_usage, confidence 0.50
           Run the tests with -j 8
        ralph learnings supersede learn-of-8888 learn-of-4444              # keep the first
        ralph learnings supersede learn-of-4444 learn-of-8888              # keep the second
        ralph learnings conflicts --both-hold learn-of-4444 learn-of-8888  # keep both

    1 note disappeared from its file
      mem-1737372000-910a  pattern, 2025-01-20, missing from .agent/memories.md
        kept by hand
        and lost
        ralph memory restore mem-1737372000-910a  # restore it
        ralph memory delete mem-1737372000-910a   # delete it for good

    1 problem in note files, to be fixed there
      .agent/memories.md:4: \"mem-1\" is not a valid id, so this block is not read
    ");
    let whole = json(&env, &["review", "--json"]);
    assert_eq!(whole["vanished"][0]["memory"]["id"], gone.as_str());
    assert_eq!(whole["problems"][0]["line"], 4);
    assert_eq!(whole["conflicts"][0]["why"]["by"], "value");
    let status = env.ok(["status"]);
    assert!(
        status.contains("\nWaiting  1 conflict needs review: ralph review\n"),
        "{status}"
    );
    assert!(
        status.contains("\nNext     ralph review    # decide what needs review\n"),
        "{status}"
    );
    let programs = json(&env, &["status", "--json"]);
    assert_eq!(programs["contradictions"], 1);
    assert_eq!(programs["next"], "ralph review");
    task(&env, "Draw the colours");
    let status = env.ok(["status"]);
    assert!(
        status.contains("\nNext     ralph run "),
        "open tasks come first: {status}"
    );
    env.ok(["memory", "delete", &gone]);
    assert_eq!(env.ok(["review", "--only", "vanished"]), "Nothing needs review.\n");
}

#[test]
fn status_suggests_review_for_a_proposed_learning() {
    let env = learning(
        "Run the parser with --locked",
        Worked {
            outcome: Outcome::Blocked,
            max_retries: 0,
            ..Worked::default()
        },
    );
    let next = |env: &TestEnv| json(env, &["status", "--json"])["next"].clone();
    let tasks = json(&env, &["task", "list", "--json"]);
    env.ok(["task", "delete", tasks[0]["id"].as_str().unwrap()]);
    assert_eq!(next(&env), "ralph review");
    env.ok(["learnings", "promote", "learn-00000001"]);
    assert_ne!(next(&env), "ralph review");
}

#[test]
fn status_skips_conflicts_among_very_many_learnings() {
    let env = env();
    env.ok(["init"]);
    contradicting(&env);
    let put = |from: u64, status: LearningStatus| {
        let learning = |number: u64| Learning {
            status,
            ..run_learning(
                number,
                LearningKind::Strategy,
                TaskType::General,
                &format!("Step {number}"),
            )
        };
        let many: Vec<Learning> = (from..from + 1000).map(learning).collect();
        put_learnings(&env.path(DATABASE), many.iter());
        env.ok(["status"])
    };
    let status = put(1, LearningStatus::Pruned);
    assert!(status.contains("1 conflict needs review: ralph review\n"), "{status}");
    let status = put(2000, LearningStatus::Promoted);
    let unknown = "\nWaiting  Too many learnings to check for conflicts here: ralph review\n";
    assert!(status.contains(unknown), "{status}");
    assert!(json(&env, &["status", "--json"])["contradictions"].is_null());
}

#[test]
fn colors_only_at_a_terminal() {
    let env = week("Draw the colours");
    let painted = at_terminal(&env, "review --list").stdout;
    assert!(painted.starts_with("^[[1m1 task has failed^[[0m\n"), "{painted}");
    let plain = env
        .sh("NO_COLOR=1 script -qec '\"$RALPH\" review --list' /dev/null")
        .env("TERM", "xterm")
        .run();
    assert!(!plain.stdout.contains('\u{1b}'), "{}", plain.stdout);
}

#[test]
fn task_failed_by_the_user_is_listed_with_the_reason() {
    let env = env();
    let given_up = task(&env, "Draw the colours");
    env.ok(["task", "fail", &given_up, "--reason", "Nobody wants it."]);
    let shown = printed(&env, "80");
    assert!(
        shown.contains("no attempts\n") && shown.contains("Failed: Nobody wants it.\n"),
        "{shown}"
    );
    env.ok(["task", "reset", &given_up]);
    assert_eq!(printed(&env, "80"), "Nothing needs review.\n");
}

#[test]
fn many_failed_tasks_are_all_listed() {
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
    assert_eq!(shown.matches("ralph task reset").count(), 12, "{shown}");
    assert_eq!(
        json(&env, &["review", "--json"])["failed_tasks"]
            .as_array()
            .unwrap()
            .len(),
        12
    );
}

#[test]
fn status_counts_learnings_to_review() {
    let env = week("Draw the colours");
    let status = env.ok(["status"]);
    assert!(
        status.contains("\n         1 learning needs review: ralph review\n"),
        "{status}"
    );
    assert!(status.contains("\nNext     ralph review "), "{status}");
    let whole = json(&env, &["status", "--json"]);
    assert_eq!(whole["runs"]["waiting_learnings"], 1);
    assert_eq!(whole["next"], "ralph review");
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
        let shown = at_terminal(&env, "review --list");
        assert!(
            !shown.stdout.contains("^[[2J") && !shown.stdout.contains("^[[31m"),
            "{shown}"
        );
    }
}
