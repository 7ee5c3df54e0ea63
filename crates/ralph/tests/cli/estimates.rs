//! Tests of correcting an estimate: its figures change everywhere.

use ralph_model::{Facts, Learning, LearningKind, TaskType};
use ralph_testkit::{TestEnv, put_learnings, run_learning};

use crate::{DATABASE, env, json};

const STRATEGY: &str = "learn-00000001";
const ESTIMATE: &str = "learn-00000002";

/// A project with a strategy and an estimate.
fn taught() -> TestEnv {
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
            facts: Some(facts),
            ..learning(2, LearningKind::Estimate, "bug-fix tasks of low complexity")
        },
    ];
    put_learnings(&env.path(DATABASE), learnings.iter());
    env
}

/// Checks the estimate in the list, in `show` and in a prompt.
#[track_caller]
fn assert_shown(env: &TestEnv, text: &str, in_prompt: &str) {
    let list = env.ok(["learnings", "list", "--kind", "estimate", "--format", "markdown"]);
    assert_eq!(list, format!("- {text}\n"));
    let shown = env.ok(["learnings", "show", ESTIMATE]);
    assert!(shown.contains(&format!("\nlearned     {text}\n")), "{shown}");
    let task = ["--for", "Fix the bug in the parser", "--format", "markdown"];
    let prompt = env.ok(["learnings", "query"].into_iter().chain(task));
    assert!(prompt.contains(&format!(" Similar tasks: {in_prompt}\n")), "{prompt}");
}

#[test]
fn figures_can_be_set() {
    let env = taught();
    let updated = env.ok(["learnings", "update", ESTIMATE, "--iterations", "9", "--seconds", "90"]);
    assert_eq!(updated, format!("Learning updated: {ESTIMATE}\n"));
    assert_shown(
        &env,
        "bug-fix tasks of low complexity: about 9 iterations, 1 min 30 s each",
        "~9 iterations, ~90s per iteration",
    );
    env.ok(["learnings", "update", ESTIMATE, "--seconds", "30"]);
    assert_shown(
        &env,
        "bug-fix tasks of low complexity: about 9 iterations, 30 s each",
        "~9 iterations, ~30s per iteration",
    );
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
fn text_changes_without_the_figures() {
    let env = taught();
    let text = ["--content", "small faults of the parser"];
    env.ok(["learnings", "update", ESTIMATE].into_iter().chain(text));
    assert_shown(
        &env,
        "small faults of the parser: about 1 iteration, 14 s",
        "~1 iteration, ~14s per iteration",
    );
}

#[test]
fn wrong_figures_are_refused() {
    let env = taught();
    let strategy = env.ralph(["learnings", "update", STRATEGY, "--iterations", "9"]).run();
    strategy.refused(1, &[STRATEGY, "kind strategy", "Hint: ", STRATEGY, "--content TEXT"]);
    for figure in [["--iterations", "0"], ["--seconds", "soon"]] {
        let refused = env.ralph(["learnings", "update", ESTIMATE, figure[0], figure[1]]).run();
        assert_eq!(refused.code, Some(2), "{refused}");
    }
}
