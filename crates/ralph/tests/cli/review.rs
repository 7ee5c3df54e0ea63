//! `ralph review`: what waits for a person.

use insta::assert_snapshot;
use ralph_model::{
    CapturedLearning, ErrorCategory, Learning, LearningKind, LearningStatus, Outcome, TaskType, display_width,
};
use ralph_testkit::{TestEnv, known_lesson, put_lessons};

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
fn nothing_waits_where_nothing_has_failed() {
    let env = env();
    for _ in ["before and after init", ""] {
        assert_eq!(env.ok(["review"]), "Nothing waits for you.\n");
        let whole = json(&env, &["review", "--json"]);
        let nothing = serde_json::json!({
            "failed_tasks": [], "unverified_tasks": [], "finished_tasks": [], "conflicts": [], "learnings": [], "proposed_tasks": [],
            "proposals": [], "vanished": [], "problems": [],
        });
        assert_eq!(whole, nothing);
        env.ok(["init"]);
    }
    task(&env, "Open");
    assert_eq!(env.ok(["review"]), "Nothing waits for you.\n");
}

#[test]
fn failed_tasks_and_lessons_that_wait_stand_in_one_place() {
    let env = week("Draw the colours");
    let after = env.ok(["task", "add", "Print the colours", "--after", "t-8eec67"]);
    assert_snapshot!(printed(&env, "100"), @"
    1 task has failed
      t-8eec67  Draw the colours
        4 attempts, and the last 3 failed the same way (test failure)
        The gate `cargo test` refused it: 1 test failed
        1. retried, haiku, 1 min 23 s, $0.25, called hard (run-00000abc/2)
           why    test failure: The picture is upside down …
        2. retried, sonnet, 1 min 23 s, $0.25, called hard (run-00000abc/3)
           why    test failure: The picture is upside down …
        3. retried, opus, 1 min 23 s, $0.25, called hard (run-00000abc/4)
           why    the same as in attempt 2
        4. retried, opus, 1 min 23 s, $0.25, called hard (run-00000abc/5)
           tried  Drew every pixel by hand
           why    the same as in attempt 2
           next   Turn the picture over first
        t-42c90b waits for it
        ralph task show t-8eec67   # every attempt at it
        ralph task reset t-8eec67  # let it be tried again

    1 lesson waits
      learn-00000001  pitfall, confidence 0.50
        A palette has at most 256 colours
        and the first is the background
        tags: palette, src/palette.rs
        from run-00000abc/6 [blocked] Add a palette
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
        1. retried, haiku (run-00000abc/2)
           why    test failure: The picture i…
        2. retried, sonnet (run-00000abc/3)
           why    test failure: The picture i…
        3. retried, opus (run-00000abc/4)
           why    the same as in attempt 2
        4. retried, opus (run-00000abc/5)
           tried  Drew every pixel by hand
           why    the same as in attempt 2
           next   Turn the picture over first
        t-42c90b waits for it
        ralph task show t-8eec67
        ralph task reset t-8eec67

    1 lesson waits
      learn-00000001  pitfall, confidence 0.50
        A palette has at most 256 colours
        and the first is the background
        tags: palette, src/palette.rs
        from run-00000abc/6 [blocked] Add a
        palette
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
    assert_eq!(whole["learnings"][0]["taught_in"][0]["outcome"], "blocked");
}

#[test]
fn a_group_is_shown_alone() {
    let env = week("Draw the colours");
    let lessons = env.ok(["review", "--only", "notes"]);
    assert!(lessons.starts_with("1 lesson waits\n"), "{lessons}");
    assert_eq!(env.ok(["review", "--only", "conflicts"]), "Nothing waits for you.\n");
    let failed = json(&env, &["review", "--only", "failed", "--json"]);
    assert_eq!(failed.as_object().unwrap().keys().collect::<Vec<_>>(), ["failed_tasks"]);
    assert_eq!(env.ralph(["review", "--only", "everything"]).run().code, Some(2));
}

/// A project with a lesson that waits, told by an iteration that ended so.
pub(crate) fn lesson(text: &str, told: Worked<'_>) -> TestEnv {
    let env = env();
    env.ok(["init"]);
    let task = task(&env, "Parse the colours");
    let learning = CapturedLearning {
        category: "tool_usage".to_owned(),
        tags: Vec::new(),
        content: text.to_owned(),
    };
    let mut told = Worked { task: &task, ..told };
    told.captured.learnings.push(learning);
    work(&env, 0xabc, &[told]);
    env
}

#[test]
fn a_lesson_is_whole_with_the_gate_that_refused_the_work_it_came_from() {
    let long = format!(
        "The parser {}stops at a colon.",
        "reads every word of the file and ".repeat(12)
    );
    let env = lesson(
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
fn what_nobody_knows_is_not_said() {
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
    assert_snapshot!(printed(&env, "80"), @"
    1 task has failed
      t-025cc1  Ask the server
        2 attempts, and all 2 failed the same way
        The agent said that it cannot be done: no server
        1. failed, sonnet, 1 min 23 s, $0.25 (run-00000abc/1)
           why    The server does not answer.
        2. failed, sonnet, 1 min 23 s, $0.25 (run-00000abc/2)
           tried  Asked it
           why    the same as in attempt 1
        ralph task show t-025cc1   # every attempt at it
        ralph task reset t-025cc1  # let it be tried again
    ");
}

/// Two lessons that contradict each other, which hold.
pub(crate) fn contradicting(env: &TestEnv) -> [String; 2] {
    ["4", "8"].map(|jobs| add_lesson(env, &format!("Run the tests with -j {jobs}")))
}

/// A lesson that holds.
pub(crate) fn add_lesson(env: &TestEnv, text: &str) -> String {
    let category = ["--category", "tool_usage", "--tags", "tests", "--format", "quiet"];
    let added = env.ok(["learnings", "add", text].into_iter().chain(category));
    added.trim_end().to_owned()
}

#[test]
fn contradictions_and_what_is_wrong_with_files_stand_there_too() {
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
    1 pair of lessons contradicts each other
      one says 4, the other 8
        1  learn-of-4444  tool_usage, confidence 0.50
           Run the tests with -j 4
        2  learn-of-8888  tool_usage, confidence 0.50
           Run the tests with -j 8
        ralph learnings supersede learn-of-8888 learn-of-4444              # the first holds
        ralph learnings supersede learn-of-4444 learn-of-8888              # the second holds
        ralph learnings conflicts --both-hold learn-of-4444 learn-of-8888  # both hold

    1 note is gone without having been deleted
      mem-1737372000-910a  pattern, 2025-01-20, gone from .agent/memories.md
        kept by hand
        and lost
        ralph memory restore mem-1737372000-910a  # bring it back
        ralph memory delete mem-1737372000-910a   # it may stay gone

    1 place is wrong in files of notes, to be mended there
      .agent/memories.md:4: \"mem-1\" is not a valid id, so this block is not read
    ");
    let whole = json(&env, &["review", "--json"]);
    assert_eq!(whole["vanished"][0]["memory"]["id"], gone.as_str());
    assert_eq!(whole["problems"][0]["line"], 4);
    assert_eq!(whole["conflicts"][0]["why"]["by"], "value");
    let status = env.ok(["status"]);
    assert!(
        status.contains("\nWaiting  1 contradiction waits for you: ralph review\n"),
        "{status}"
    );
    assert!(
        status.contains("\nNext     ralph review    # what waits for your word\n"),
        "{status}"
    );
    let programs = json(&env, &["status", "--json"]);
    assert_eq!(programs["contradictions"], 1);
    assert_eq!(programs["next"], "ralph review");
    task(&env, "Draw the colours");
    let status = env.ok(["status"]);
    assert!(status.contains("\nNext     ralph run "), "work goes first: {status}");
    env.ok(["memory", "delete", &gone]);
    assert_eq!(env.ok(["review", "--only", "vanished"]), "Nothing waits for you.\n");
}

#[test]
fn status_sends_to_the_review_when_a_lesson_waits() {
    let env = lesson(
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
fn status_looks_for_contradictions_unless_very_many_lessons_hold() {
    let env = env();
    env.ok(["init"]);
    contradicting(&env);
    let put = |from: u64, status: LearningStatus| {
        let lesson = |number: u64| Learning {
            status,
            ..known_lesson(
                number,
                LearningKind::Strategy,
                TaskType::General,
                &format!("Step {number}"),
            )
        };
        let many: Vec<Learning> = (from..from + 1000).map(lesson).collect();
        put_lessons(&env.path(DATABASE), many.iter().map(|lesson| (lesson, String::new())));
        env.ok(["status"])
    };
    let status = put(1, LearningStatus::Pruned);
    assert!(
        status.contains("1 contradiction waits for you: ralph review\n"),
        "{status}"
    );
    let status = put(2000, LearningStatus::Promoted);
    let unknown = "\nWaiting  Contradictions were not looked for among so many lessons: ralph review\n";
    assert!(status.contains(unknown), "{status}");
    assert!(json(&env, &["status", "--json"])["contradictions"].is_null());
}

#[test]
fn colours_are_those_of_a_terminal() {
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
fn of_many_all_are_listed() {
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
        let shown = at_terminal(&env, "review --list");
        assert!(
            !shown.stdout.contains("^[[2J") && !shown.stdout.contains("^[[31m"),
            "{shown}"
        );
    }
}
