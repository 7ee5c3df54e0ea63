//! Tests of correcting an estimate: its figures change everywhere.

use insta::assert_snapshot;
use ralph_model::{Facts, Learning, LearningKind, LearningStatus, TaskType};
use ralph_testkit::{Terminal, TestEnv, put_learnings, run_learning};

use crate::{DATABASE, env, json};

const STRATEGY: &str = "learn-00000001";
const ESTIMATE: &str = "learn-00000002";

/// A project with a strategy and an estimate in this status.
fn estimated(status: LearningStatus) -> TestEnv {
    let env = env();
    env.ok(["init"]);
    env.ok(["learnings", "list"]);
    let learning = |number, kind, text| run_learning(number, kind, TaskType::BugFix, text);
    let facts = Facts::Estimate {
        avg_iteration_time: 14_400.0,
        total_iterations: 1.0,
        complexity: "low".to_owned(),
        success_rate: 1.0,
        sampled: 4,
    };
    let learnings = [
        learning(1, LearningKind::Strategy, "Read the log first"),
        Learning {
            status,
            facts: Some(facts),
            ..learning(2, LearningKind::Estimate, "bug-fix tasks of low complexity")
        },
    ];
    put_learnings(
        &env.path(DATABASE),
        learnings.iter().map(|learning| (learning, String::new())),
    );
    env
}

fn taught() -> TestEnv {
    estimated(LearningStatus::Promoted)
}

/// The estimate in the list, in `show` and in a prompt.
fn shown_estimate(env: &TestEnv) -> String {
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
fn figures_can_be_set() {
    let env = taught();
    let updated = env.ok(["learnings", "update", ESTIMATE, "--iterations", "9", "--seconds", "90"]);
    assert_eq!(updated, format!("Learning updated: {ESTIMATE}\n"));
    assert_snapshot!(shown_estimate(&env), @"
    - bug-fix tasks of low complexity: about 9 iterations, 1 min 30 s each
    learned     bug-fix tasks of low complexity: about 9 iterations, 1 min 30 s each
    - (extracted) Similar tasks: ~9 iterations, ~90s per iteration
    ");
    env.ok(["learnings", "update", ESTIMATE, "--seconds", "30"]);
    assert_snapshot!(shown_estimate(&env), @"
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
fn text_has_the_figures() {
    let env = taught();
    let write = |text: &str| env.ok(["learnings", "update", ESTIMATE, "--content", text]);
    write("small faults: about 3 iterations, 2 min 05 s each");
    assert_snapshot!(shown_estimate(&env), @"
    - small faults: about 3 iterations, 2 min 05 s each
    learned     small faults: about 3 iterations, 2 min 05 s each
    - (extracted) Similar tasks: ~3 iterations, ~125s per iteration
    ");
    write("small faults of the parser");
    assert_snapshot!(shown_estimate(&env), @"
    - small faults of the parser: about 3 iterations, 2 min 05 s each
    learned     small faults of the parser: about 3 iterations, 2 min 05 s each
    - (extracted) Similar tasks: ~3 iterations, ~125s per iteration
    ");
}

#[test]
fn conflicting_figures_are_refused() {
    let env = taught();
    let before = shown_estimate(&env);
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
                "Error: learn-00000002 is an estimate whose figures cannot be read: end the text as in \": about 1 \
                 iteration, 14 s\", without other figures in it\n\
                 Hint: `ralph learnings update learn-00000002 --iterations N --seconds S` changes only the figures\n"
            ),
            "{text}"
        );
    }
    assert_eq!(shown_estimate(&env), before);
    let strategy = env.ralph(["learnings", "update", STRATEGY, "--iterations", "9"]).run();
    assert_snapshot!(strategy, @"
    exit 1
    --- stderr
    Error: learn-00000001 is of kind strategy and has no figures to change
    Hint: `ralph learnings update learn-00000001 --content TEXT` changes what it says
    ");
    for figure in [["--iterations", "0"], ["--seconds", "soon"]] {
        let refused = env.ralph(["learnings", "update", ESTIMATE, figure[0], figure[1]]).run();
        assert_eq!(refused.code, Some(2), "{refused}");
    }
}

/// Presses `e` on the proposed estimate with this editor.
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
fn review_edits_the_figures() {
    let env = edited(
        "sed -i 's/1 iteration, 14 s/9 iterations, 30 s each/'",
        "Learning promoted",
    );
    assert_snapshot!(shown_estimate(&env), @"
    - bug-fix tasks of low complexity: about 9 iterations, 30 s each
    learned     bug-fix tasks of low complexity: about 9 iterations, 30 s each
    - (extracted) Similar tasks: ~9 iterations, ~30s per iteration
    ");
    let env = edited("sed -i 's/14 s/a while/'", "whose figures cannot be read");
    assert_eq!(
        json(&env, &["learnings", "show", ESTIMATE, "--json"])["status"],
        "validated"
    );
}
