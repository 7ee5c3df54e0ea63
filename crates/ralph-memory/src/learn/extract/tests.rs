//! Extraction of learnings, with exact numbers.

use ralph_model::config::Promote;
use ralph_model::{
    ErrorCategory, ExtractedLearning, Facts, LearningKind, PastEnd, PastError, PastIteration, RunHistory, Signature,
    SplitMix64, TaskType,
};
use ralph_search::task_type_of;
use ralph_store::Store;

use super::strategies::approach_of;
use super::{extract_learnings, learn_from};

fn iteration(number: u32, end: PastEnd) -> PastIteration {
    PastIteration {
        number,
        journal: Some(i64::from(number)),
        task: None,
        title: "Fix failing authentication tests".to_owned(),
        task_type: TaskType::TestFix,
        end,
        progress_made: end == PastEnd::Completed,
        duration_ms: 45_000.0,
        learned: Vec::new(),
        notes: None,
        errors: Vec::new(),
        files: Vec::new(),
    }
}

fn done(number: u32, learned: &[&str]) -> PastIteration {
    PastIteration {
        learned: learned.iter().map(|text| (*text).to_owned()).collect(),
        ..iteration(number, PastEnd::Completed)
    }
}

fn failed(number: u32, errors: &[&str]) -> PastIteration {
    let error = |text: &&str| PastError {
        text: (*text).to_owned(),
        category: None,
        signature: None,
    };
    PastIteration {
        errors: errors.iter().map(error).collect(),
        ..iteration(number, PastEnd::Failed)
    }
}

fn changed(files: &[&str]) -> PastIteration {
    PastIteration {
        files: files.iter().map(|file| (*file).to_owned()).collect(),
        ..iteration(1, PastEnd::Other)
    }
}

fn extracted(iterations: Vec<PastIteration>, kind: LearningKind) -> Vec<ExtractedLearning> {
    let history = RunHistory {
        loop_id: "ralph-001".to_owned(),
        objective: "Fix failing authentication tests".to_owned(),
        iterations,
    };
    let mut extracted = extract_learnings(&history);
    extracted.retain(|learning| learning.kind == kind);
    extracted
}

/// Content, confidence and success rate of each.
fn summaries(extracted: &[ExtractedLearning]) -> Vec<(&str, f64, f64)> {
    let summaries = extracted
        .iter()
        .map(|learning| (learning.content.as_str(), learning.confidence, learning.success_rate));
    summaries.collect()
}

#[test]
fn approaches_are_known_by_their_words() {
    for (text, expected) in [
        (
            "Write tests first before implementation",
            "Test-driven development approach",
        ),
        ("Write tests first", "Test-driven development approach"),
        ("Used TDD, as the task said", "Test-driven development approach"),
        (
            "Implemented incrementally, one function at a time",
            "Incremental implementation",
        ),
        ("Went step by step", "Incremental implementation"),
        ("Made minimal changes to fix the bug", "Minimal changes approach"),
        ("The smallest change was enough", "Minimal changes approach"),
        ("Refactored after tests passed", "Implement first, refactor after"),
        ("Made it work, then refactored", "Implement first, refactor after"),
        (
            "Wrote the code.\nRefactored after that.",
            "Implement first, refactor after",
        ),
        // Parts of words and words out of phrase match no category.
        (
            "Contest firsts are in the latest file",
            "Contest firsts are in the latest file",
        ),
        (
            "The lock allows one writer at a time",
            "The lock allows one writer at a time",
        ),
        ("Incremented the counter twice", "Incremented the counter twice"),
        ("Fixed the first failing test", "Fixed the first failing test"),
    ] {
        assert_eq!(approach_of(text).as_deref(), Some(expected), "{text}");
    }
    assert_eq!(approach_of("Done."), None, "too short");
}

#[test]
fn approach_of_most_successes_is_a_strategy() {
    let tdd = "Write tests first";
    let mut iterations: Vec<PastIteration> = (1..=17).map(|number| done(number, &[tdd, "tests first!"])).collect();
    iterations.extend((18..=20).map(|number| done(number, &[])));
    iterations.push(failed(21, &[]));
    iterations.push(PastIteration {
        progress_made: false,
        ..done(22, &["Made minimal changes"])
    });
    let learnings = extracted(iterations, LearningKind::Strategy);
    assert_eq!(
        summaries(&learnings),
        [("Test-driven development approach", 0.85, 0.85)]
    );
    let learning = &learnings[0];
    assert_eq!(learning.task_type, TaskType::TestFix);
    assert_eq!(
        learning.facts,
        Facts::Strategy {
            effectiveness: 0.85,
            iterations: 17
        }
    );
    assert_eq!(learning.journal, (1..=17).collect::<Vec<i64>>());
    let half = vec![done(1, &[tdd]), done(2, &["Looked at the log first"])];
    assert_eq!(
        extracted(half, LearningKind::Strategy),
        [],
        "a half is not more than a half"
    );
    let all = vec![done(1, &[tdd]), done(2, &["Test-driven, again"])];
    assert_eq!(
        summaries(&extracted(all, LearningKind::Strategy)),
        [("Test-driven development approach", 0.9, 1.0)],
        "confidence is at most 0.9"
    );
}

#[test]
fn strategies_ignore_case_and_punctuation() {
    let iterations = vec![
        done(1, &["Read the log before anything else."]),
        done(2, &["read the `log` before anything else!"]),
    ];
    let learnings = extracted(iterations, LearningKind::Strategy);
    assert_eq!(
        summaries(&learnings),
        [("Read the log before anything else.", 0.9, 1.0)]
    );
}

#[test]
fn paraphrases_are_one_strategy() {
    let iterations = vec![
        done(1, &["Start the emulator before the integration suite runs"]),
        done(
            2,
            &[
                "Before the integration suite runs, start the emulator",
                "The emulator: start it before the integration suite",
            ],
        ),
        done(3, &["Never start the emulator before the integration suite runs"]),
    ];
    let learnings = extracted(iterations, LearningKind::Strategy);
    let [learning] = learnings.as_slice() else {
        panic!("{learnings:#?}")
    };
    assert_eq!(learning.content, "Start the emulator before the integration suite runs");
    assert_eq!(
        learning.facts,
        Facts::Strategy {
            effectiveness: 2.0 / 3.0,
            iterations: 2
        }
    );
    assert_eq!(learning.journal, [1, 2]);
}

/// A completed run that reports an approach.
fn run_reporting(loop_id: &str, text: &str) -> RunHistory {
    let summaries = PastIteration {
        journal: None,
        ..done(1, &[text])
    };
    RunHistory {
        loop_id: loop_id.to_owned(),
        objective: "Fix failing authentication tests".to_owned(),
        iterations: vec![summaries],
    }
}

#[test]
fn fault_21_what_runs_teach_in_other_words_or_another_order_is_one_learning() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = Store::open_or_create(&folder.path().join("progress.db")).unwrap();
    let now = "2025-01-20T12:00:00Z".parse().unwrap();
    let mut bits = SplitMix64::new(1);
    let mut learn = |loop_id: &str, text: &str| {
        let history = run_reporting(loop_id, text);
        learn_from(&mut store, &history, Promote::Auto, &mut bits, now).unwrap();
        let mut all = store.learnings().unwrap();
        all.retain(|learning| learning.kind == LearningKind::Strategy);
        all
    };
    let [first] = learn("ralph-001", "Start the emulator before the integration suite runs")
        .try_into()
        .unwrap();
    learn("ralph-002", "Before the integration suite runs, start the emulator");
    let [third] = learn(
        "ralph-003",
        "Always start the emulator before you run the integration suite!",
    )
    .try_into()
    .unwrap();
    assert_eq!((&third.id, &third.content), (&first.id, &first.content));
    assert_eq!(third.source_loops, ["ralph-001", "ralph-002", "ralph-003"]);
    assert_eq!(third.examples.len(), 2);
    // The negation is another learning.
    let both = learn(
        "ralph-004",
        "Do not start the emulator before the integration suite runs",
    );
    assert_eq!(both.len(), 2, "{both:#?}");
}

#[test]
fn note_is_a_strategy_only_if_known_or_repeated() {
    let noted = |number: u32, notes: &str| PastIteration {
        notes: Some(notes.to_owned()),
        ..done(number, &[])
    };
    let contents_of = |iterations| -> Vec<String> {
        let learnings = extracted(iterations, LearningKind::Strategy);
        learnings.into_iter().map(|learning| learning.content).collect()
    };
    assert_eq!(
        contents_of(vec![noted(1, "Leap years: `is_leap` was wrong.")]),
        [] as [String; 0]
    );
    assert_eq!(
        contents_of(vec![noted(1, "Leap years were wrong. Wrote the tests first.")]),
        ["Test-driven development approach"]
    );
    assert_eq!(
        contents_of(vec![noted(1, "Looked at the log."), noted(2, "looked at the log")]),
        ["Looked at the log."]
    );
    let learned = PastIteration {
        learned: vec!["Looked at the log.".to_owned()],
        ..noted(1, "Looked at the log.")
    };
    assert_eq!(
        contents_of(vec![learned]),
        ["Looked at the log."],
        "a learning is not a mere note"
    );
}

#[test]
fn kinds_of_work_are_kept_apart() {
    let other = |iteration| PastIteration {
        task_type: TaskType::Feature,
        ..iteration
    };
    let iterations = vec![
        done(1, &["Write tests first"]),
        other(done(2, &["Went step by step"])),
        failed(3, &["SyntaxError: bad"]),
        other(failed(4, &["SyntaxError: worse"])),
    ];
    let strategies = extracted(iterations.clone(), LearningKind::Strategy);
    let said: Vec<(TaskType, &str)> = strategies
        .iter()
        .map(|learning| (learning.task_type, learning.content.as_str()))
        .collect();
    assert_eq!(
        said,
        [
            (TaskType::TestFix, "Test-driven development approach"),
            (TaskType::Feature, "Incremental implementation")
        ]
    );
    assert_eq!(
        extracted(iterations, LearningKind::Antipattern),
        [],
        "each occurred once in its kind of work"
    );
}

#[test]
fn failures_are_known_by_their_words() {
    for (error, expected) in [
        (
            "SyntaxError: Unexpected token '}'",
            "Avoid: Syntax errors - check code carefully before execution",
        ),
        (
            "could not parse the expression",
            "Avoid: Syntax errors - check code carefully before execution",
        ),
        (
            "TypeError: undefined is not a function",
            "Avoid: Null/undefined errors - add validation checks",
        ),
        (
            "java.lang.NullPointerException",
            "Avoid: Null/undefined errors - add validation checks",
        ),
        (
            "Connection timed out after 30 s",
            "Avoid: Timeout errors - break into smaller steps",
        ),
        (
            "EACCES: permission denied, open '/etc/x'",
            "Avoid: Permission errors - check file/directory permissions",
        ),
        (
            "Access denied for user 'x'",
            "Avoid: Permission errors - check file/directory permissions",
        ),
        (
            "Error: Cannot find module 'left-pad'",
            "Avoid: Module not found - verify dependencies installed",
        ),
        // Parts of words match no category.
        (
            "src/parser.rs:4: assertion failed",
            "Avoid: src/parser.rs:4: assertion failed",
        ),
        (
            "the value is annulled too early",
            "Avoid: the value is annulled too early",
        ),
    ] {
        let learnings = extracted(
            vec![failed(1, &[error]), failed(2, &[error])],
            LearningKind::Antipattern,
        );
        assert_eq!(summaries(&learnings), [(expected, 0.5, 0.0)], "{error}");
    }
}

#[test]
fn repeated_failure_is_an_antipattern() {
    let syntax = "Avoid: Syntax errors - check code carefully before execution";
    let met =
        |times: u32| -> Vec<PastIteration> { (1..=times).map(|number| failed(number, &["syntax error"])).collect() };
    for (times, confidence) in [(2, 0.5), (3, 0.75), (4, 0.8), (40, 0.8)] {
        let learnings = extracted(met(times), LearningKind::Antipattern);
        assert_eq!(summaries(&learnings), [(syntax, confidence, 0.0)], "{times} times");
    }
    assert_eq!(extracted(met(1), LearningKind::Antipattern), []);
    let learnings = extracted(met(3), LearningKind::Antipattern);
    assert_eq!(
        learnings[0].facts,
        Facts::Antipattern {
            occurrences: 3,
            impact: "high".to_owned(),
            error: Some("Syntax errors - check code carefully before execution".to_owned()),
        }
    );
    assert_eq!(learnings[0].journal, [1, 2, 3]);
    let done_with_errors = PastIteration {
        end: PastEnd::Completed,
        ..failed(2, &["syntax error"])
    };
    assert_eq!(
        extracted(
            vec![failed(1, &["syntax error"]), done_with_errors],
            LearningKind::Antipattern
        ),
        [],
        "a completed iteration has not failed"
    );
    let mut late = vec![failed(1, &["it did not end"]), failed(2, &["nor did this"])];
    for iteration in &mut late {
        iteration.errors[0].category = Some(ErrorCategory::Timeout);
    }
    let learnings = extracted(late, LearningKind::Antipattern);
    assert_eq!(learnings[0].content, "Avoid: Timeout errors - break into smaller steps");
    let short = vec![failed(1, &["it broke"]), failed(2, &["it broke"])];
    assert_eq!(extracted(short, LearningKind::Antipattern), [], "too short");
}

#[test]
fn uncategorized_failures_are_grouped_by_signature() {
    let with = |number: u32, text: &str, signature: u64| PastIteration {
        errors: vec![PastError {
            text: text.to_owned(),
            category: None,
            signature: Some(Signature::new(signature)),
        }],
        ..iteration(number, PastEnd::Failed)
    };
    let iterations = vec![
        with(1, "assertion failed at line 4\nleft: 1", 7),
        with(2, "assertion failed at line 9\nleft: 1", 7),
        with(3, "assertion failed at line 9\nleft: 1", 8),
    ];
    let learnings = extracted(iterations, LearningKind::Antipattern);
    assert_eq!(summaries(&learnings), [("Avoid: assertion failed at line 4", 0.5, 0.0)]);
    assert_eq!(learnings[0].signatures, [Signature::new(7)]);
    assert_eq!(learnings[0].journal, [1, 2]);
}

#[test]
fn estimate_uses_completed_iterations() {
    let iterations = vec![
        PastIteration {
            duration_ms: 42_000.0,
            ..done(1, &[])
        },
        PastIteration {
            duration_ms: 48_000.0,
            ..done(2, &[])
        },
        done(3, &[]),
    ];
    let learnings = extracted(iterations.clone(), LearningKind::Estimate);
    assert_eq!(
        summaries(&learnings),
        [("test-fix tasks of medium complexity", 0.6, 1.0)]
    );
    let estimate = |time: f64, iterations: f64, complexity: &str, success_rate: f64, sampled: u32| Facts::Estimate {
        avg_iteration_time: time,
        total_iterations: iterations,
        complexity: complexity.to_owned(),
        success_rate,
        sampled,
    };
    assert_eq!(learnings[0].facts, estimate(45_000.0, 3.0, "medium", 1.0, 3));
    let mut longer = iterations;
    longer.push(PastIteration {
        duration_ms: 999_000.0,
        ..failed(4, &[])
    });
    longer.push(iteration(5, PastEnd::Other));
    longer.push(iteration(6, PastEnd::Unproven));
    let learnings = extracted(longer, LearningKind::Estimate);
    assert_eq!(
        learnings[0].facts,
        estimate(45_000.0, 4.0, "medium", 0.75, 3),
        "what failed counts, but not for how long a thing takes; what was interrupted or left a gate red does not"
    );
    assert_eq!(extracted(vec![failed(1, &[])], LearningKind::Estimate), []);
}

#[test]
fn estimates_are_grouped_by_complexity() {
    let of = |task: &str, iteration: PastIteration| PastIteration {
        task: Some(task.to_owned()),
        ..iteration
    };
    let mut iterations = vec![
        of("t-1", done(1, &[])),
        of("t-2", failed(2, &[])),
        of("t-2", done(3, &[])),
    ];
    iterations.extend((4..10).map(|number| of("t-3", failed(number, &[]))));
    iterations.push(of("t-3", done(10, &[])));
    let learnings = extracted(iterations, LearningKind::Estimate);
    let numbers: Vec<(&str, f64, f64)> = learnings
        .iter()
        .map(|learning| match &learning.facts {
            Facts::Estimate {
                complexity,
                total_iterations,
                ..
            } => (complexity.as_str(), *total_iterations, learning.confidence),
            facts => panic!("{facts:?}"),
        })
        .collect();
    assert_eq!(numbers, [("low", 1.5, 0.4), ("high", 7.0, 0.2)]);
    let many_files = PastIteration {
        end: PastEnd::Completed,
        ..changed(&["a", "b", "c", "d", "e", "f"])
    };
    let learnings = extracted(vec![many_files], LearningKind::Estimate);
    assert_eq!(learnings[0].content, "test-fix tasks of high complexity");
}

#[track_caller]
fn conventions(files: &[&str], expected: &[(&str, f64)]) {
    let learnings = extracted(vec![changed(files)], LearningKind::Convention);
    let said: Vec<(&str, f64)> = learnings
        .iter()
        .map(|learning| (learning.content.as_str(), learning.confidence))
        .collect();
    assert_eq!(said, expected, "{files:?}");
    for learning in learnings {
        assert_eq!((learning.task_type, learning.success_rate), (TaskType::General, 1.0));
        let Facts::Convention { examples } = learning.facts else {
            panic!("{:?}", learning.facts)
        };
        assert!((1..=3).contains(&examples.len()), "{examples:?}");
    }
}

#[test]
fn conventions_are_found_from_the_paths() {
    conventions(
        &["src/auth/login.test.ts", "test/integration/api.test.mjs"],
        &[
            ("Tests co-located with source or in test/ directory", 0.7),
            ("ES modules (.mjs) or TypeScript (.ts)", 0.8),
        ],
    );
    conventions(
        &["src/a.test.ts", "src/b.spec.ts", "src/user-list.ts", "src/user-page.ts"],
        &[
            ("Tests co-located with source", 0.7),
            ("Modules are TypeScript (.ts)", 0.8),
            ("TypeScript files are named in kebab-case", 0.6),
        ],
    );
    conventions(
        &[
            "crates/one/src/by_name/mod.rs",
            "crates/one/src/by_name/from_text.rs",
            "crates/two/src/merge/mod.rs",
            "crates/two/src/merge/two_sides.rs",
            "crates/two/tests/cli/list.rs",
            "crates/two/tests/cli/main.rs",
            "README.md",
        ],
        &[
            ("Tests in tests/ directory", 0.7),
            ("Code is written in Rust", 0.8),
            ("Rust files are named in snake_case", 0.6),
            ("Rust modules with parts are a folder with a mod.rs", 0.6),
            ("Source is organised as crates/<part>/src/", 0.6),
        ],
    );
    conventions(
        &[
            "src/open.rs",
            "src/open/lock.rs",
            "src/walk.rs",
            "src/walk/stat.rs",
            "src/main.rs",
        ],
        &[
            ("Code is written in Rust", 0.8),
            ("Rust modules with parts are name.rs beside a folder name/", 0.6),
            ("Source is organised as src/<area>/", 0.6),
        ],
    );
}

/// The rule of the earlier tool: "Test files | Files matching `.test.` or `.spec.` | 0.7". It requires only one, and
/// the loop in its own example changed these two files.
#[test]
fn one_test_is_enough_for_a_convention() {
    let tests_in_test = ("Tests in test/ directory", 0.7);
    conventions(
        &["src/auth/login.ts", "test/auth/login.test.ts"],
        &[tests_in_test, ("Modules are TypeScript (.ts)", 0.8)],
    );
    conventions(&["src/login.test.ts"], &[("Tests co-located with source", 0.7)]);
    conventions(&["src/login.spec.ts"], &[("Tests co-located with source", 0.7)]);
    conventions(&["tests/file_1.rs"], &[("Tests in tests/ directory", 0.7)]);
}

#[test]
fn single_or_contradicting_files_are_no_convention() {
    conventions(&["src/auth/by_name.rs"], &[]);
    conventions(&["README.md", "docs/a.md", "Cargo.lock"], &[]);
    conventions(&["a.py", "b.go", "c.rb", "by_name.py", "ByName.py"], &[]);
    conventions(
        &["a/one_two.py", "b/three-four.py", "c/five_six.py"],
        &[("Code is written in Python", 0.8)],
    );
}

#[test]
fn examples_alternate_and_are_limited_to_three() {
    let files = [
        "src/a.test.ts",
        "src/b.test.ts",
        "src/c.test.ts",
        "test/d.test.ts",
        "test/e.test.ts",
    ];
    let learnings = extracted(vec![changed(&files)], LearningKind::Convention);
    assert_eq!(
        learnings[0].facts,
        Facts::Convention {
            examples: ["src/a.test.ts", "test/d.test.ts", "src/b.test.ts"]
                .map(str::to_owned)
                .into()
        }
    );
    assert_eq!(learnings[0].tags, ["tests"]);
    assert_eq!(learnings[0].journal, [1]);
}

#[test]
fn fault_25_inspect_and_latest_are_no_test_fix() {
    for (objective, expected) in [
        ("Fix failing authentication tests", TaskType::TestFix),
        ("Fix failing tests", TaskType::TestFix),
        ("Implement user registration feature", TaskType::Feature),
        ("Refactor auth module for clarity", TaskType::Refactor),
        ("Optimize database queries", TaskType::Performance),
        ("Inspect the latest figures", TaskType::General),
        ("Fix the inspector of the latest build", TaskType::Feature),
        ("Whatever", TaskType::General),
    ] {
        assert_eq!(task_type_of(objective, ""), expected, "{objective}");
    }
}

#[test]
fn fault_26_nothing_that_succeeded_is_a_rate_of_nothing() {
    let learnings = extracted(
        vec![failed(1, &["syntax"]), failed(2, &["syntax"])],
        LearningKind::Antipattern,
    );
    assert!(
        learnings.iter().all(|learning| learning.success_rate == 0.0),
        "{learnings:?}"
    );
    assert_eq!(learnings.len(), 1);
}

#[test]
fn run_without_iterations_has_no_learnings() {
    let history = RunHistory {
        loop_id: String::new(),
        objective: String::new(),
        iterations: Vec::new(),
    };
    assert_eq!(extract_learnings(&history), []);
}
