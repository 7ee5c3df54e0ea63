//! `ralph learnings query` on extracted learnings: errors, files, tasks and scores.

use insta::assert_snapshot;
use ralph_model::{Facts, Learning, LearningKind, LearningSource, TaskType};
use ralph_store::Store;
use ralph_testkit::{Finished, TestEnv, extracted_warning, put_learnings, run_learning};
use serde_json::json;

use crate::{DATABASE, env};

use LearningKind::{Antipattern, Convention, Estimate, Strategy};
use TaskType::{BugFix, TestFix};

fn changed(number: u64, kind: LearningKind, text: &str, change: impl FnOnce(&mut Learning)) -> Learning {
    let mut learning = run_learning(number, kind, TestFix, text);
    change(&mut learning);
    learning
}

/// A project with extracted learnings.
fn taught() -> TestEnv {
    let env = env();
    env.write(".ralph/keep", "");
    drop(Store::open_or_create(&env.path(DATABASE)).unwrap());
    let learnings = [
        changed(1, Strategy, "Test-driven development approach", |it| {
            (it.success_rate, it.use_count, it.first_use_count) = (0.75, 90, 90);
            it.facts = Some(Facts::Strategy {
                effectiveness: 0.85,
                iterations: 12,
            });
        }),
        changed(
            2,
            Antipattern,
            "Avoid: Module not found - verify dependencies installed",
            |_| (),
        ),
        changed(
            3,
            Antipattern,
            "Avoid: Permission errors - check file/directory permissions",
            |it| {
                (it.task_type, it.source) = (Some(BugFix), LearningSource::Imported);
            },
        ),
        changed(4, Estimate, "test-fix tasks of medium complexity", |it| {
            it.facts = Some(Facts::Estimate {
                avg_iteration_time: 45_000.0,
                total_iterations: 3.0,
                complexity: "medium".to_owned(),
                success_rate: 0.9,
                sampled: 4,
            });
        }),
        changed(5, Convention, "Tests live beside what they test", |it| {
            let examples = vec!["src/auth/login.test.ts".to_owned(), "src/types.test.ts".to_owned()];
            it.facts = Some(Facts::Convention { examples });
        }),
        changed(6, Convention, "One file a command", |it| {
            let examples = vec!["src/commands/add.rs".to_owned()];
            it.facts = Some(Facts::Convention { examples });
        }),
    ];
    let learnings = learnings.iter();
    put_learnings(&env.path(DATABASE), learnings);
    env
}

/// Queries ten days after the learnings were stored.
fn query(env: &TestEnv, arguments: &[&str]) -> Finished {
    let arguments = ["learnings", "query"].into_iter().chain(arguments.iter().copied());
    env.ralph(arguments).env("RALPH_NOW", "2025-01-30T12:00:00Z").run()
}

#[track_caller]
fn ids(env: &TestEnv, arguments: &[&str]) -> Vec<String> {
    let finished = query(env, &[arguments, &["--format", "quiet"]].concat());
    assert_eq!((finished.code, finished.stderr.as_str()), (Some(0), ""), "{finished}");
    finished
        .stdout
        .lines()
        .map(|id| id.trim_start_matches("learn-0000000").to_owned())
        .collect()
}

#[test]
fn for_shows_what_a_prompt_would_contain() {
    let env = taught();
    let objective = "Fix failing authentication tests";
    query(&env, &["--for", objective, "--format", "markdown"]).printed(&[
        "## Knowledge Base (from previous loops)\n",
        "## Proven Strategies\n",
        "- (extracted) Test-driven development approach (effectiveness: 85%)\n",
        "## Anti-Patterns to Avoid\n",
        "- (extracted) Avoid: Module not found - verify dependencies installed\n",
        "## Time/Iteration Estimates\n",
        "~3 iterations, ~45s per iteration\n",
        "## Project Conventions\n",
        "- (extracted) Tests live beside what they test\n",
        "Examples: src/auth/login.test.ts, src/types.test.ts\n",
        "- (extracted) One file a command\n",
    ]);
    let listed = query(&env, &["--objective", objective]);
    assert_snapshot!(listed, @"
    exit 0
    --- stdout
    ID              SCORE  CATEGORY     CONFIDENCE  SHOWN      LEARNING
    learn-00000001  0.86   strategy     0.80        90 before  Test-driven development approach
    learn-00000002  0.91   antipattern  0.80        0/0        Avoid: Module not found - verify dependencies installed
    learn-00000004  0.91   estimate     0.80        0/0        test-fix tasks of medium complexity: about 3 iterations, 45 s each
    learn-00000005  0.91   convention   0.80        0/0        Tests live beside what they test
    learn-00000006  0.91   convention   0.80        0/0        One file a command

    Showing 5 learnings
    ");
    for error in ["permission errors", "permission"] {
        assert_eq!(ids(&env, &["--for", "Do it", "--error", error]), ["3"], "{error}");
    }
    assert_eq!(ids(&env, &["--for", "Do it", "--task-type", "bug-fix"]), ["3"]);
    let all = ids(&env, &["--for", objective]);
    assert!(all.len() > 1, "{all:?}");
    let first = ids(&env, &["--for", objective, "--limit", "1"]);
    assert_eq!(first.as_slice(), all.get(..1).unwrap());
    let kinds = ["strategy", "antipattern", "estimate", "convention"];
    let by_kind = |kind: &&str| ids(&env, &["--for", objective, "--type", kind]);
    let mut together: Vec<String> = kinds.iter().flat_map(by_kind).collect();
    together.sort_unstable();
    let mut sorted = all.clone();
    sorted.sort_unstable();
    assert_eq!(together, sorted);
    assert_eq!(ids(&env, &["--for", "Do it", "--file", "commands/*.rs"]), ["6"]);
    assert_eq!(query(&env, &["--for", "Do it"]).stdout, "No matching learnings found\n");
    assert_eq!(query(&env, &["--for", "Do it", "--format", "markdown"]).stdout, "");
    assert_eq!(query(&env, &["--for", "Do it", "--json"]).stdout, "[]\n");
}

#[test]
fn scores_are_explained() {
    let env = taught();
    let explained = query(&env, &["--type", "strategy", "--task-type", "test-fix", "--explain"]);
    explained.printed(&[
        "learn-00000001  1.200  0.320 + 0.300 + 0.150 + 0.089 + 0.000 = 0.859  0.80 × 0.75 × 2.00",
        "Showing 1 learning\n",
    ]);
    let capped = ["--for", "Fix failing tests", "--error", "module not found", "--explain"];
    let capped = query(&env, &capped).stdout;
    assert!(
        capped.contains("0.320 + 0.300 + 0.200 + 0.089 + 0.300 = 1.209, capped at 1.000"),
        "{capped}"
    );
    let plain = query(&env, &["--type", "strategy", "--explain"]);
    assert!(
        plain.stdout.contains("learn-00000001  1.200  0.80 × 0.75 × 2.00"),
        "{plain}"
    );
    let explained = query(&env, &["--error", "module not found", "--explain", "--json"]);
    let explained: serde_json::Value = serde_json::from_str(&explained.stdout).unwrap();
    assert_eq!(
        explained[0]["support"],
        json!({"confidence": 0.8, "rate": 1.0, "uses": 1.0})
    );
    let errors = explained[0]["relevance"]["errors"].as_f64().unwrap();
    assert!((errors - 0.3).abs() < 1e-9, "{explained}");
    let silent = query(&env, &["--error", "module not found", "--json"]);
    assert!(!silent.stdout.contains("relevance"), "{silent}");
}

#[test]
fn antipatterns_match_errors_and_conventions_match_files() {
    let env = taught();
    assert_eq!(ids(&env, &["--error", "modules not FOUND"]), ["2"]);
    assert_eq!(
        ids(&env, &["--error", "module not found", "--error", "permission errors"]),
        ["3", "2"]
    );
    assert_eq!(ids(&env, &["--error", "not found anywhere"]), [] as [&str; 0]);
    assert_eq!(
        ids(&env, &["--error", "development"]),
        [] as [&str; 0],
        "not an anti-pattern"
    );
    assert_eq!(ids(&env, &["--file", ".test.ts"]), ["5"]);
    assert_eq!(ids(&env, &["--file", "src/*.ts", "--file", "add.rs"]), ["6", "5"]);
    assert_eq!(ids(&env, &["--file", "lib/"]), [] as [&str; 0]);
    assert_eq!(
        ids(&env, &["--min-success-rate", "0.8", "--type", "strategy"]),
        [] as [&str; 0]
    );
    assert_eq!(ids(&env, &["--min-success", "0.7", "--type", "strategy"]), ["1"]);
    assert_eq!(ids(&env, &["--limit", "2"]), ["1", "6"]);
}

/// Someone who wants to reject a duplicate must be able to find it.
#[test]
fn duplicates_are_all_listed() {
    let env = env();
    env.write(".ralph/keep", "");
    drop(Store::open_or_create(&env.path(DATABASE)).unwrap());
    let migrations = "Run the migrations before the integration tests";
    let timeouts = "Avoid: Timeout errors - break into smaller steps";
    let learnings = [
        changed(1, Strategy, migrations, |_| ()),
        changed(2, Strategy, migrations, |it| it.task_type = Some(BugFix)),
        changed(3, Strategy, "Before the integration tests, run the migrations", |_| ()),
        extracted_warning(4, TestFix, timeouts),
        extracted_warning(5, BugFix, timeouts),
    ];
    put_learnings(&env.path(DATABASE), learnings.iter());
    let question = "before the integration tests run the migrations";
    for limit in ["0", "10"] {
        assert_eq!(ids(&env, &[question, "--limit", limit]), ["3", "2", "1"]);
        assert_eq!(ids(&env, &["--error", "timed out", "--limit", limit]), ["5", "4"]);
    }
    let found = query(&env, &[question, "--json"]);
    let found: serde_json::Value = serde_json::from_str(&found.stdout).unwrap();
    assert_eq!(found.as_array().unwrap().len(), 3, "{found:#}");
}

#[test]
fn invalid_queries_are_refused() {
    let env = taught();
    for (arguments, why) in [
        (vec!["--error", "..."], "has no searchable word"),
        (vec!["--file", "*"], "needs a part of a path"),
        (vec!["--for", "Do it", "--category", "odd"], "cannot be used with"),
        (vec!["--min-success-rate", "2"], "a number from 0 to 1"),
    ] {
        query(&env, &arguments).refused(2, &[why]);
    }
}

#[test]
fn recall_finds_extracted_learnings() {
    let env = taught();
    let found = env.ok(["recall", "dependencies of the module", "--format", "quiet"]);
    assert_eq!(found, "learn-00000002\n");
    let imported = env.ok(["recall", "permission of a directory", "--format", "quiet"]);
    assert_eq!(imported, "learn-00000003\n");
}
