//! A person corrects an estimate: its figures change, and nothing else says others.

use insta::assert_snapshot;
use ralph_model::{Facts, Learning, LearningKind, LearningStatus, TaskType};
use ralph_testkit::{Terminal, TestEnv, known_lesson, put_lessons};

use crate::{DATABASE, env, json};

const STRATEGY: &str = "learn-00000001";
const ESTIMATE: &str = "learn-00000002";

/// A project that knows a strategy, and an estimate that has come so far.
fn estimated(status: LearningStatus) -> TestEnv {
    let env = env();
    env.ok(["init"]);
    env.ok(["learnings", "list"]);
    let lesson = |number, kind, text| known_lesson(number, kind, TaskType::BugFix, text);
    let facts = Facts::Estimate {
        avg_iteration_time: 14_400.0,
        total_iterations: 1.0,
        complexity: "low".to_owned(),
        success_rate: 1.0,
        sampled: 4,
    };
    let lessons = [
        lesson(1, LearningKind::Strategy, "Read the log first"),
        Learning {
            status,
            facts: Some(facts),
            ..lesson(2, LearningKind::Estimate, "bug-fix tasks of low complexity")
        },
    ];
    put_lessons(
        &env.path(DATABASE),
        lessons.iter().map(|lesson| (lesson, String::new())),
    );
    env
}

fn taught() -> TestEnv {
    estimated(LearningStatus::Promoted)
}

/// What the list, all of it, and a prompt say of the estimate.
fn told(env: &TestEnv) -> String {
    let list = env.ok(["learnings", "list", "--kind", "estimate", "--format", "markdown"]);
    let shown = env.ok(["learnings", "show", ESTIMATE]);
    let learned = shown.lines().find(|line| line.starts_with("learned")).unwrap();
    let prompt = env.ok([
        "learnings",
        "query",
        "--for",
        "Fix the bug in the parser",
        "--format",
        "markdown",
    ]);
    let similar = prompt.lines().find(|line| line.contains("Similar tasks")).unwrap();
    format!("{list}{learned}\n{similar}\n")
}

#[test]
fn its_figures_are_named() {
    let env = taught();
    let updated = env.ok(["learnings", "update", ESTIMATE, "--iterations", "9", "--seconds", "90"]);
    assert_eq!(updated, format!("Learning updated: {ESTIMATE}\n"));
    assert_snapshot!(told(&env), @"
    - bug-fix tasks of low complexity: about 9 iterations, 1 min 30 s each
    learned     bug-fix tasks of low complexity: about 9 iterations, 1 min 30 s each
    - (extracted) Similar tasks: ~9 iterations, ~90s per iteration
    ");
    env.ok(["learnings", "update", ESTIMATE, "--seconds", "30"]);
    assert_snapshot!(told(&env), @"
    - bug-fix tasks of low complexity: about 9 iterations, 30 s each
    learned     bug-fix tasks of low complexity: about 9 iterations, 30 s each
    - (extracted) Similar tasks: ~9 iterations, ~30s per iteration
    ");
    let whole = json(&env, &["learnings", "show", ESTIMATE, "--json"]);
    assert_eq!(whole["content"]["sampled"], 4, "what it was drawn from stays");
    let earlier: Vec<&str> = whole["earlier"]
        .as_array()
        .unwrap()
        .iter()
        .map(|version| version["content"].as_str().unwrap())
        .collect();
    assert_eq!(
        earlier,
        [
            "bug-fix tasks of low complexity: about 1 iteration, 14 s",
            "bug-fix tasks of low complexity: about 9 iterations, 1 min 30 s each",
        ]
    );
}

#[test]
fn its_text_has_its_figures() {
    let env = taught();
    let write = |text: &str| env.ok(["learnings", "update", ESTIMATE, "--content", text]);
    write("small faults: about 3 iterations, 2 min 05 s each");
    assert_snapshot!(told(&env), @"
    - small faults: about 3 iterations, 2 min 05 s each
    learned     small faults: about 3 iterations, 2 min 05 s each
    - (extracted) Similar tasks: ~3 iterations, ~125s per iteration
    ");
    write("small faults of the parser");
    assert_snapshot!(told(&env), @"
    - small faults of the parser: about 3 iterations, 2 min 05 s each
    learned     small faults of the parser: about 3 iterations, 2 min 05 s each
    - (extracted) Similar tasks: ~3 iterations, ~125s per iteration
    ");
}

#[test]
fn what_would_contradict_its_figures_is_refused() {
    let env = taught();
    let before = told(&env);
    for text in [
        "bug-fix tasks take about 9 iterations",
        "bug-fix tasks take nine iterations",
        "bug-fix tasks: about 9 iterations, soon each",
        "bug-fix tasks: about 0 iterations, 5 s each",
        "bug-fix tasks take 9 rounds: about 2 iterations, 5 s each",
    ] {
        let refused = env.ralph(["learnings", "update", ESTIMATE, "--content", text]).run();
        assert_eq!(
            (refused.code, refused.stderr.as_str()),
            (
                Some(1),
                "Error: learn-00000002 is an estimate, and its figures cannot be read: end the text as in \": about 1 \
                 iteration, 14 s\", and name no others in it\n\
                 Hint: `ralph learnings update learn-00000002 --iterations N --seconds S` changes the figures alone\n"
            ),
            "{text}"
        );
    }
    assert_eq!(told(&env), before);
    let strategy = env.ralph(["learnings", "update", STRATEGY, "--iterations", "9"]).run();
    assert_snapshot!(strategy, @"
    exit 1
    --- stderr
    Error: learn-00000001 is of the kind strategy and has no figures that could be changed
    Hint: `ralph learnings update learn-00000001 --content TEXT` changes what it says
    ");
    for figure in [["--iterations", "0"], ["--seconds", "soon"]] {
        let refused = env.ralph(["learnings", "update", ESTIMATE, figure[0], figure[1]]).run();
        assert_eq!(refused.code, Some(2), "{refused}");
    }
}

/// The estimate waits, and a person presses `e` with this editor.
fn edited(editor: &str, says: &str) -> TestEnv {
    let env = estimated(LearningStatus::Validated);
    let review = env.ralph(["review"]).env("NO_COLOR", "1").env("EDITOR", editor);
    let mut terminal = Terminal::start(review, 100);
    terminal.shows("e edit");
    terminal.types("e");
    terminal.shows(says);
    if !says.starts_with("Learning") {
        terminal.shows("e edit");
        terminal.types("s");
    }
    assert_eq!(terminal.end().0, Some(0));
    env
}

#[test]
fn the_review_offers_its_figures_and_reads_them_back() {
    let env = edited(
        "sed -i 's/1 iteration, 14 s/9 iterations, 30 s each/'",
        "Learning promoted",
    );
    assert_snapshot!(told(&env), @"
    - bug-fix tasks of low complexity: about 9 iterations, 30 s each
    learned     bug-fix tasks of low complexity: about 9 iterations, 30 s each
    - (extracted) Similar tasks: ~9 iterations, ~30s per iteration
    ");
    let env = edited("sed -i 's/14 s/a while/'", "its figures cannot be read");
    assert_eq!(
        json(&env, &["learnings", "show", ESTIMATE, "--json"])["status"],
        "validated"
    );
}
