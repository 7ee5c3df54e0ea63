//! Reports of failed attempts, with the output of real tools.

use insta::assert_snapshot;
use ralph_agent::TurnEnd;
use ralph_memory::capture::{MAX_ERROR_OUTPUT, WhyLines, why_lines};
use ralph_model::{Captured, Outcome, RunId, TaskId, TaskKind};
use ralph_store::PauseChange;
use ralph_testkit::{RECORDED_ROOT, recorded};

use super::*;
use crate::gates::{Baseline, Changed, failure_lines};
use crate::settle::{Claimed, Facts, SettlementDecision, TaskTransition, Then, judge_gates};
use crate::state::{Current, DiscardedVerifications};
use crate::summary::TurnSummary;

fn draft(decision: SettlementDecision) -> PendingSettlement {
    let current = Current {
        run: RunId::new(1),
        iteration: 1,
        task: TaskId::new(1),
        task_title: "Show prices".to_owned(),
        feature: None,
        kind: TaskKind::Once,
        checks: Vec::new(),
        attempt: 1,
        fence: 1,
        marker: String::new(),
        model: None,
        rationale: String::new(),
        overflowed_before: false,
        spent_before: ralph_model::Usage::default(),
        baseline: None,
        before: None,
        place: crate::state::Place::Project,
        landed: None,
        pause: None,
        verifier_pause: None,
    };
    let turn = TurnSummary {
        end: TurnEnd::Finished,
        cause: None,
        spoke: true,
        last_words: "I rewrote total() and ran nothing.".to_owned(),
        ..TurnSummary::lost()
    };
    PendingSettlement {
        current: Box::new(current),
        turn: Box::new(turn),
        decision,
        files: vec!["src/lib.rs".to_owned(), "README.md".to_owned()],
        unseen: None,
        changed_before: false,
        basis_changed: Vec::new(),
        unverified: None,
        changed: Changed::Something,
        gates: Vec::new(),
        baseline: None,
        commit: None,
        landed_on: None,
        moves: 0,
        verification: None,
        decision_before_verifier: None,
        discarded: DiscardedVerifications::default(),
        pause: PauseChange::Keep,
        verifier_pause: PauseChange::Keep,
    }
}

fn decision(outcome: Outcome, stop: StopReason, reason: &str) -> SettlementDecision {
    SettlementDecision {
        outcome,
        stop,
        task: TaskTransition::Attempt,
        then: Then::GoOn,
        reason: reason.to_owned(),
        quoted: String::new(),
    }
}

/// A pending settlement of work refused by a gate with this output.
fn refused(command: &str, end: GateEnd, output: &str) -> PendingSettlement {
    refused_in(RECORDED_ROOT, command, end, output)
}

/// The same in another project folder.
fn refused_in(root: &str, command: &str, end: GateEnd, output: &str) -> PendingSettlement {
    let gate = GateResult {
        // The amount picked must not depend on where the test runs.
        why: why_lines(output, Path::new(RECORDED_ROOT), MAX_ERROR_OUTPUT).replace(RECORDED_ROOT, root),
        ..ran(command, end, output)
    };
    refused_after(&Baseline::default(), gate)
}

/// The result of a gate with this output.
fn ran(command: &str, end: GateEnd, output: &str) -> GateResult {
    GateResult {
        command: command.to_owned(),
        end,
        output: output.to_owned(),
        duration_ms: 1,
        failures: failure_lines(output),
        why: String::new(),
    }
}

/// A pending settlement of work refused by a gate with this baseline.
fn refused_after(baseline: &Baseline, gate: GateResult) -> PendingSettlement {
    let gates = vec![gate];
    let verdict = baseline.verdict(&gates, Changed::Something);
    let facts = Facts {
        assigned: &TaskId::new(1),
        kind: TaskKind::Once,
        turn: &TurnSummary::lost(),
        overflowed_before: false,
        complete_is_done: false,
        limits: ralph_model::config::Limits::default(),
    };
    let decision = judge_gates(&facts, Claimed::Done, &verdict);
    PendingSettlement {
        baseline: Some(baseline.shrunk(&gates)),
        gates,
        ..draft(decision)
    }
}

/// The report for a recorded gate output, in a project with the same files.
fn reported(name: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().to_str().unwrap();
    std::fs::create_dir_all(folder.path().join("src")).unwrap();
    std::fs::create_dir_all(folder.path().join("tests")).unwrap();
    let files = "src/lib.rs tests/file.rs main.rs cart.js cart.test.js main.js cart.py test_cart.py main.py build.sh cart.c Makefile";
    for file in files.split(' ') {
        std::fs::File::create(folder.path().join(file)).unwrap();
    }
    let recorded = recorded(name);
    let end = GateEnd::Failed(format!("exit code {}", recorded.exit));
    let draft = refused_in(root, recorded.command, end, recorded.output);
    let report = Failed::of(&draft, folder.path()).report.unwrap();
    shown(&report).replace(root, RECORDED_ROOT)
}

fn shown(report: &FailureReport) -> String {
    let FailureReport {
        what_tried,
        why_failed,
        category,
        relevant_files,
        error_output,
        origin,
        gate,
    } = report;
    let gate = gate.as_ref().map(|gate| format!("{} ({})", gate.command, gate.end));
    format!(
        "{category} of {origin}, in {}\ntried: {what_tried}\nwhy: {why_failed}\ngate: {}\n{}",
        relevant_files.join(", "),
        gate.unwrap_or_default(),
        error_output.clone().unwrap_or_default()
    )
}

#[test]
fn cargo_test_reports_assertions_and_values() {
    assert_snapshot!(reported("cargo_test_assertion"), @"
    test_failure of ralph, in src/lib.rs
    tried: I rewrote total() and ran nothing.
    why: The gate `cargo test` failed (exit code 101).
    gate: cargo test (exit code 101)
    thread 'tests::adds_prices' (1229) panicked at src/lib.rs:19:9:
    assertion `left == right` failed: two prices
      left: 350
     right: 550
    ");
    assert_snapshot!(reported("cargo_test_backtrace"), @r#"
    test_failure of ralph, in src/lib.rs
    tried: I rewrote total() and ran nothing.
    why: The gate `RUST_BACKTRACE=1 cargo test` failed (exit code 101).
    gate: RUST_BACKTRACE=1 cargo test (exit code 101)
    thread 'tests::adds_prices' (1822) panicked at src/lib.rs:19:9:
    assertion `left == right` failed: two prices
      left: 350
     right: 550
    thread 'tests::shows_cents' (1825) panicked at src/lib.rs:24:9:
    assertion `left == right` failed
      left: "1050"
     right: "10.50"
    "#);
    assert_snapshot!(reported("cargo_test_missing_file"), @r#"
    test_failure of ralph, in tests/file.rs
    tried: I rewrote total() and ran nothing.
    why: The gate `cargo test` failed (exit code 101).
    gate: cargo test (exit code 101)
    thread 'reads_the_price_list' (2603) panicked at tests/file.rs:3:54:
    called `Result::unwrap()` on an `Err` value: Os { code: 2, kind: NotFound, message: "No such file or directory" }
    thread 'writes_below_a_temporary_folder' (2604) panicked at tests/file.rs:10:56:
    cannot write /tmp/cart-2602/cart.json: No such file or directory (os error 2)
    "#);
    assert_snapshot!(reported("cargo_missing_dependency"), @"
    dependency_error of ralph, in src/lib.rs, README.md
    tried: I rewrote total() and ran nothing.
    why: The gate `cargo test` failed (exit code 101).
    gate: cargo test (exit code 101)
    error: failed to get `prices` as a dependency of package `cart v0.1.0 (/home/dev/project)`
    Caused by:
      failed to load source for dependency `prices`
    Caused by:
      unable to update /home/dev/prices
    Caused by:
      failed to read `/home/dev/prices/Cargo.toml`
    Caused by:
      No such file or directory (os error 2)
    ");
}

#[test]
fn compiler_reports_errors_and_locations() {
    assert_snapshot!(reported("rustc_types"), @"
    type_error of ralph, in src/lib.rs
    tried: I rewrote total() and ran nothing.
    why: The gate `cargo test` failed (exit code 101).
    gate: cargo test (exit code 101)
    error[E0308]: mismatched types
     --> src/lib.rs:5:23
    5 |     let sum: String = prices.iter().sum::<u32>(); sum
      |              ------   ^^^^^^^^^^^^^^^^^^^^^^^^^^ expected `String`, found `u32`
    error[E0308]: mismatched types
     --> src/lib.rs:5:51
    5 |     let sum: String = prices.iter().sum::<u32>(); sum
      |                                                   ^^^ expected `u32`, found `String`
    ");
    assert_snapshot!(reported("rustc_syntax"), @r#"
    build_error of ralph, in src/lib.rs
    tried: I rewrote total() and ran nothing.
    why: The gate `cargo test` failed (exit code 101).
    gate: cargo test (exit code 101)
    error: mismatched closing delimiter: `}`
     --> src/lib.rs:10:12
    10 |     format!("{}.{:02}", cents / 100, cents % 100
       |            ^ unclosed delimiter
    11 | }
       | ^ mismatched closing delimiter
    "#);
    assert_snapshot!(reported("rustc_unresolved_crate"), @"
    dependency_error of ralph, in src/lib.rs
    tried: I rewrote total() and ran nothing.
    why: The gate `cargo test` failed (exit code 101).
    gate: cargo test (exit code 101)
    error[E0432]: unresolved import `rand`
     --> src/lib.rs:2:5
    2 | use rand::Rng;
      |     ^^^^ use of unresolved module or unlinked crate `rand`
      = help: if you wanted to use a crate named `rand`, use `cargo add rand` to add it to your `Cargo.toml`
    ");
    assert_snapshot!(reported("rustc_missing_module"), @r#"
    missing_file of ralph, in src/lib.rs
    tried: I rewrote total() and ran nothing.
    why: The gate `cargo test` failed (exit code 101).
    gate: cargo test (exit code 101)
    error[E0583]: file not found for module `prices`
     --> src/lib.rs:2:1
    2 | mod prices;
      | ^^^^^^^^^^^
      = help: to create the module `prices`, create file "src/prices.rs" or "src/prices/mod.rs"
    "#);
    assert_snapshot!(reported("rustc_alone"), @r#"
    build_error of ralph, in main.rs
    tried: I rewrote total() and ran nothing.
    why: The gate `rustc main.rs` failed (exit code 1).
    gate: rustc main.rs (exit code 1)
    error[E0382]: borrow of moved value: `name`
     --> main.rs:4:16
    4 |     println!("{name} {other}");
      |                ^^^^ value borrowed here after move
    "#);
    assert_snapshot!(reported("gcc_build"), @r#"
    build_error of ralph, in cart.c
    tried: I rewrote total() and ran nothing.
    why: The gate `gcc cart.c` failed (exit code 1).
    gate: gcc cart.c (exit code 1)
    cart.c:4:20: error: ‘totl’ undeclared (first use in this function); did you mean ‘total’?
        4 |     printf("%d\n", totl);
          |                    ^~~~
    "#);
}

#[test]
fn node_reports_test_error_and_line() {
    assert_snapshot!(reported("node_test_assertion"), @"
    test_failure of ralph, in cart.test.js
    tried: I rewrote total() and ran nothing.
    why: The gate `node --test` failed (exit code 1).
    gate: node --test (exit code 1)
    not ok 1 - adds prices
      location: '/home/dev/project/cart.test.js:6:3'
      Expected values to be strictly equal:
      350 !== 550
        at TestContext.<anonymous> (/home/dev/project/cart.test.js:7:12)
    ");
    assert_snapshot!(reported("node_test_type_error"), @"
    type_error of ralph, in cart.test.js, cart.js
    tried: I rewrote total() and ran nothing.
    why: The gate `node --test` failed (exit code 1).
    gate: node --test (exit code 1)
    not ok 2 - of nothing is nothing
      location: '/home/dev/project/cart.test.js:9:3'
      name: 'TypeError'
      error: 'Reduce of empty array with no initial value'
        at exports.total (/home/dev/project/cart.js:2:36)
    ");
    assert_snapshot!(reported("node_test_two"), @"
    test_failure of ralph, in cart.test.js
    tried: I rewrote total() and ran nothing.
    why: The gate `node --test` failed (exit code 1).
    gate: node --test (exit code 1)
    not ok 1 - adds prices
      location: '/home/dev/project/cart.test.js:6:3'
      Expected values to be strictly equal:
      551 !== 550
        at TestContext.<anonymous> (/home/dev/project/cart.test.js:7:12)
    not ok 2 - of nothing is nothing
      location: '/home/dev/project/cart.test.js:9:3'
      Expected values to be strictly deep-equal:
      + actual - expected
        {
      +   total: 1
      -   total: 0
        }
        at TestContext.<anonymous> (/home/dev/project/cart.test.js:10:12)
    ");
    assert_snapshot!(reported("node_test_type_error_spec"), @"
    type_error of ralph, in cart.js
    tried: I rewrote total() and ran nothing.
    why: The gate `node --test --test-reporter=spec` failed (exit code 1).
    gate: node --test --test-reporter=spec (exit code 1)
    ✖ of nothing is nothing (12.418224ms)
    TypeError [Error]: Reduce of empty array with no initial value
        at exports.total (/home/dev/project/cart.js:2:36)
    ");
}

#[test]
fn node_reports_startup_errors() {
    assert_snapshot!(reported("node_test_missing_module"), @"
    missing_file of ralph, in cart.test.js
    tried: I rewrote total() and ran nothing.
    why: The gate `node --test` failed (exit code 1).
    gate: node --test (exit code 1)
    Error: Cannot find module './cort.js'
    Require stack:
    - /home/dev/project/cart.test.js
        at Object.<anonymous> (/home/dev/project/cart.test.js:3:19)
    ");
    assert_snapshot!(reported("node_test_syntax"), @"
    build_error of ralph, in cart.js, cart.test.js
    tried: I rewrote total() and ran nothing.
    why: The gate `node --test` failed (exit code 1).
    gate: node --test (exit code 1)
    /home/dev/project/cart.js:3
    const x = ;
    SyntaxError: Unexpected token ';'
        at Object.<anonymous> (/home/dev/project/cart.test.js:3:19)
    ");
    assert_snapshot!(reported("node_uncaught"), @"
    type_error of ralph, in cart.js
    tried: I rewrote total() and ran nothing.
    why: The gate `node main.js` failed (exit code 1).
    gate: node main.js (exit code 1)
    /home/dev/project/cart.js:2
    exports.total = (prices) => prices.reduce((sum, price) => sum + price, 0);
    TypeError: Cannot read properties of undefined (reading 'reduce')
        at exports.total (/home/dev/project/cart.js:2:36)
    ");
}

#[test]
fn python_reports_exception_and_project_line() {
    assert_snapshot!(reported("unittest_assertion"), @r#"
    test_failure of ralph, in test_cart.py
    tried: I rewrote total() and ran nothing.
    why: The gate `python3 -m unittest` failed (exit code 1).
    gate: python3 -m unittest (exit code 1)
    FAIL: test_adds_prices (test_cart.CartTest.test_adds_prices)
    File "/home/dev/project/test_cart.py", line 8, in test_adds_prices
      self.assertEqual(cart.total([200, 350]), 550, "two prices")
    AssertionError: 350 != 550 : two prices
    File "/home/dev/project/test_cart.py", line 14, in test_lists
    AssertionError: {'total': 2, 'n': 2} != {'total': 3, 'n': 2}
    "#);
    assert_snapshot!(reported("unittest_type_error"), @r#"
    type_error of ralph, in cart.py
    tried: I rewrote total() and ran nothing.
    why: The gate `python3 -m unittest` failed (exit code 1).
    gate: python3 -m unittest (exit code 1)
    ERROR: test_shows_cents (test_cart.CartTest.test_shows_cents)
    File "/home/dev/project/cart.py", line 7, in shown
      return cents / "100"
    TypeError: unsupported operand type(s) for /: 'int' and 'str'
    "#);
    assert_snapshot!(reported("unittest_import"), @r#"
    dependency_error of ralph, in cart.py
    tried: I rewrote total() and ran nothing.
    why: The gate `python3 -m unittest` failed (exit code 1).
    gate: python3 -m unittest (exit code 1)
    ERROR: test_cart (unittest.loader._FailedTest.test_cart)
    File "/home/dev/project/cart.py", line 1, in <module>
      import requests_of_old
    ModuleNotFoundError: No module named 'requests_of_old'
    "#);
    assert_snapshot!(reported("unittest_syntax"), @r#"
    build_error of ralph, in cart.py
    tried: I rewrote total() and ran nothing.
    why: The gate `python3 -m unittest` failed (exit code 1).
    gate: python3 -m unittest (exit code 1)
    ERROR: test_cart (unittest.loader._FailedTest.test_cart)
    File "/home/dev/project/cart.py", line 7
      return f"{cents"
    SyntaxError: f-string: expecting '}'
    "#);
    assert_snapshot!(reported("python_chained"), @r#"
    unknown of ralph, in cart.py
    tried: I rewrote total() and ran nothing.
    why: The gate `python3 main.py` failed (exit code 1).
    gate: python3 main.py (exit code 1)
    File "/home/dev/project/cart.py", line 5, in total
      return sum(json.loads(prices))
    json.decoder.JSONDecodeError: Expecting ',' delimiter: line 1 column 10 (char 9)
    File "/home/dev/project/cart.py", line 7, in total
      raise ValueError(f"no list of prices: {prices!r}") from error
    ValueError: no list of prices: '[200, 350'
    "#);
}

#[test]
fn script_reports_shell_output() {
    assert_snapshot!(reported("shell_command_not_found"), @"
    dependency_error of ralph, in build.sh
    tried: I rewrote total() and ran nothing.
    why: The gate `./build.sh` failed (exit code 127).
    gate: ./build.sh (exit code 127)
    ./build.sh: line 4: frobnicate: command not found
    ");
    assert_snapshot!(reported("shell_missing_file"), @"
    missing_file of ralph, in build.sh
    tried: I rewrote total() and ran nothing.
    why: The gate `./build.sh` failed (exit code 2).
    gate: ./build.sh (exit code 2)
    ./build.sh: line 3: [: missing `]'
    grep: prices.csv: No such file or directory
    ");
    assert_snapshot!(reported("shell_syntax"), @"
    build_error of ralph, in build.sh
    tried: I rewrote total() and ran nothing.
    why: The gate `./build.sh` failed (exit code 2).
    gate: ./build.sh (exit code 2)
    ./build.sh: line 5: syntax error near unexpected token `fi'
    ./build.sh: line 5: `fi'
    ");
    assert_snapshot!(reported("shell_syntax_dash"), @r#"
    build_error of ralph, in build.sh
    tried: I rewrote total() and ran nothing.
    why: The gate `dash build.sh` failed (exit code 2).
    gate: dash build.sh (exit code 2)
    build.sh: 5: Syntax error: "fi" unexpected (expecting "done")
    "#);
    assert_snapshot!(reported("shell_silent"), @"
    unknown of ralph, in src/lib.rs, README.md
    tried: I rewrote total() and ran nothing.
    why: The gate `./build.sh` failed (exit code 1).
    gate: ./build.sh (exit code 1)
    step 1: lint
    step 2: compare
    ");
    assert_snapshot!(reported("shell_temporary"), @"
    missing_file of ralph, in src/lib.rs, README.md
    tried: I rewrote total() and ran nothing.
    why: The gate `./build.sh` failed (exit code 1).
    gate: ./build.sh (exit code 1)
    cp: cannot stat '/tmp/tmp.bSKMIxIu0F/prices.csv': No such file or directory
    ");
    assert_snapshot!(reported("make_check"), @"
    unknown of ralph, in src/lib.rs, README.md
    tried: I rewrote total() and ran nothing.
    why: The gate `make` failed (exit code 2).
    gate: make (exit code 2)
    ./check.sh
    2 prices are negative: a.csv line 3, b.csv line 9
    make: *** [Makefile:2: all] Error 3
    ");
}

#[test]
fn same_failure_is_recognised_despite_other_changes() {
    let signed = |mut draft: PendingSettlement, files: &[&str]| {
        draft.files = files.iter().map(|file| (*file).to_owned()).collect();
        Failed::of(&draft, Path::new("/home/dev/project")).signature.unwrap()
    };
    let gate = || {
        let end = GateEnd::Failed("exit code 1".to_owned());
        refused("./check.sh", end, "expected 3 lines, got 2\n")
    };
    let silent = || draft(decision(Outcome::Failed, StopReason::Idle, "The agent was silent."));
    let elsewhere = || {
        let end = GateEnd::Failed("exit code 1".to_owned());
        refused("./check.sh", end, "/srv/web/cart.py:3: error: no price\n")
    };
    for draft in [&gate as &dyn Fn() -> PendingSettlement, &silent, &elsewhere] {
        let one = signed(draft(), &["src/a.rs"]);
        assert_eq!(one, signed(draft(), &["src/a.rs", "src/b.rs"]));
        assert_eq!(one, signed(draft(), &["web/cart.py"]));
        assert_eq!(one, signed(draft(), &[]));
    }
}

#[test]
fn failing_gate_reports_new_failures() {
    let panics = |tests: &[&str]| -> String {
        let panic = |test: &&str| {
            format!(
                "thread '{test}' panicked at src/{test}.rs:9:5:\nassertion `left == right` failed\n  left: 1\n right: 2\nnote: run with\n"
            )
        };
        tests.iter().map(panic).collect()
    };
    let end = || GateEnd::Failed("exit code 101".to_owned());
    let before = Baseline::of(&[ran("cargo test", end(), &panics(&["a", "b", "c"]))]);
    let failed = |output: &str| {
        let mut lines = WhyLines::new(Path::new(RECORDED_ROOT), before.failures_of("cargo test"));
        output.lines().for_each(|line| drop(lines.take(line)));
        let gate = GateResult {
            why: lines.pick(MAX_ERROR_OUTPUT),
            ..ran("cargo test", end(), output)
        };
        Failed::of(&refused_after(&before, gate), Path::new(RECORDED_ROOT))
    };
    let one = failed(&panics(&["a", "b", "c", "x"]));
    let other = failed(&panics(&["a", "b", "c", "y"]));
    assert_ne!(one.signature, other.signature);
    // Fixing a test that failed before does not change the failure.
    assert_eq!(one.signature, failed(&panics(&["b", "x"])).signature);
    let build = failed(&format!(
        "{}{}",
        panics(&["a"]),
        "error[E0308]: mismatched types\n --> src/lib.rs:5:23\n"
    ));
    assert_eq!(build.category, Some(ErrorCategory::TypeError));
    assert_snapshot!(shown(&one.report.unwrap()), @"
    test_failure of ralph, in src/lib.rs, README.md
    tried: I rewrote total() and ran nothing.
    why: The gate `cargo test` already failed before the run, and now shows a new failure: thread 'x' panicked at src/x.rs:#:#:
    The gate `cargo test` failed (exit code 101).
    gate: cargo test (exit code 101)
    thread 'x' panicked at src/x.rs:9:5:
    assertion `left == right` failed
      left: 1
     right: 2
    ");
}

#[test]
fn sentences_after_gate_lines_are_kept() {
    let end = GateEnd::Failed("exit code 1".to_owned());
    let mut draft = refused("make", end, "error: no\n");
    draft.decision.also("The commit was not made.");
    let report = Failed::of(&draft, Path::new("/")).report.unwrap();
    assert_eq!(
        report.why_failed,
        "The gate `make` failed (exit code 1).\nThe commit was not made."
    );
    assert_eq!(report.error_output.as_deref(), Some("error: no"));
}

#[test]
fn attempt_without_gate_reports_its_reason() {
    let blocked = decision(
        Outcome::Blocked,
        StopReason::NoSigil,
        "The agent ended without saying whether the task is done.",
    );
    let failed = Failed::of(&draft(blocked), Path::new("/"));
    assert_eq!(failed.category, None, "it is unknown");
    assert_snapshot!(shown(&failed.report.unwrap()), @"
    unknown of ralph, in src/lib.rs, README.md
    tried: I rewrote total() and ran nothing.
    why: The agent ended without saying whether the task is done.
    gate:
    ");
    let timeout = decision(Outcome::Failed, StopReason::Idle, "The agent was silent.");
    let mut silent = draft(timeout);
    silent.turn.last_words = String::new();
    silent.files = (0..12).map(|file| format!("{file}.rs")).collect();
    let failed = Failed::of(&silent, Path::new("/"));
    assert_eq!(failed.category, Some(ErrorCategory::Timeout));
    let report = failed.report.unwrap();
    assert_eq!((report.what_tried.as_str(), report.relevant_files.len()), ("", 10));
}

#[test]
fn hanging_gate_is_a_timeout() {
    let draft = refused(
        "make",
        GateEnd::TimedOut,
        "thread 'a' panicked at src/lib.rs:1:1:\nno\n",
    );
    let report = Failed::of(&draft, Path::new("/")).report.unwrap();
    assert_eq!(report.category, ErrorCategory::Timeout);
    assert_eq!(
        report.why_failed,
        "The gate `make` took longer than `[verify] timeout` allows."
    );
}

fn agent_report() -> FailureReport {
    FailureReport {
        what_tried: "A new parser.".to_owned(),
        why_failed: "It is too slow.".to_owned(),
        category: ErrorCategory::Unknown,
        relevant_files: vec!["parser.rs".to_owned()],
        error_output: None,
        origin: ReportOrigin::Agent,
        gate: None,
    }
}

#[test]
fn agent_report_is_completed_with_gate_output() {
    let output = recorded("cargo_test_assertion").output;
    let mut draft = refused("cargo test", GateEnd::Failed("exit code 101".to_owned()), output);
    draft.turn.captured = Captured {
        failure: Some(agent_report()),
        ..Captured::default()
    };
    let failed = Failed::of(&draft, Path::new("/"));
    assert!(failed.signature.is_some());
    assert_eq!(failed.category, Some(ErrorCategory::TestFailure));
    assert_snapshot!(shown(&failed.report.unwrap()), @"
    test_failure of agent, in parser.rs
    tried: A new parser.
    why: It is too slow.
    gate: cargo test (exit code 101)
    thread 'tests::adds_prices' (1229) panicked at src/lib.rs:19:9:
    assertion `left == right` failed: two prices
      left: 350
     right: 550
    ");
}

#[test]
fn gate_output_overrides_the_agents_error() {
    let complete = FailureReport {
        category: ErrorCategory::LogicError,
        error_output: Some("its own".to_owned()),
        ..agent_report()
    };
    let failed = |output: &str| {
        let mut draft = refused("cargo test", GateEnd::Failed("exit code 101".to_owned()), output);
        draft.turn.captured.failure = Some(complete.clone());
        Failed::of(&draft, Path::new("/"))
    };
    let refused = failed("error: the key does not turn in door.c:7");
    let report = refused.report.unwrap();
    assert_eq!(
        report.error_output.as_deref(),
        Some("error: the key does not turn in door.c:7")
    );
    assert_eq!(report.headline(), "error: the key does not turn in door.c:7");
    assert_eq!(
        (report.category, &report.what_tried, &report.why_failed),
        (complete.category, &complete.what_tried, &complete.why_failed)
    );
    assert_ne!(refused.signature, failed("error: the window is open").signature);
    // Without gate output, the agent's own words are used.
    assert_eq!(failed("").report.unwrap().error_output, complete.error_output);
}

#[test]
fn successful_attempts_have_no_report_or_signature() {
    for outcome in [Outcome::Done, Outcome::Interrupted] {
        let mut draft = draft(decision(outcome, StopReason::TaskDone, ""));
        let none = Failed {
            report: None,
            signature: None,
            category: None,
        };
        assert_eq!(Failed::of(&draft, Path::new("/")), none);
        draft.turn.captured.failure = Some(agent_report());
        let kept = Failed::of(&draft, Path::new("/"));
        assert_eq!((kept.report, kept.signature), (Some(agent_report()), None));
    }
}

#[test]
fn files_outside_the_project_are_ignored() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(folder.path().join("web/src")).unwrap();
    std::fs::File::create(folder.path().join("web/src/cart.ts")).unwrap();
    let changed = ["web/src/cart.ts".to_owned()];
    let named = |text: &str| relevant_files(text, &changed, folder.path());
    assert_eq!(named("web/src/cart.ts:3:1 - error"), ["web/src/cart.ts"]);
    assert_eq!(
        named("src/cart.ts:3:1 - error"),
        ["web/src/cart.ts"],
        "seen from a folder"
    );
    assert_eq!(relevant_files("/etc/a.conf ../b.rs", &[], folder.path()), [""; 0]);
}
