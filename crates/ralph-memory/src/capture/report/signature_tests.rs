//! Tests of equal and different failures.

use ralph_model::{ErrorCategory, ReportOrigin};
use ralph_testkit::{RECORDED, RECORDED_ROOT, Recorded};

use super::super::message::message_line;
use super::*;
use crate::capture::{MAX_ERROR_OUTPUT, category_of, why_lines};

fn signature(report: &FailureReport) -> Signature {
    super::signature(report, Path::new(RECORDED_ROOT))
}

fn report(output: &str) -> FailureReport {
    FailureReport {
        what_tried: "something".to_owned(),
        why_failed: "The gate failed.".to_owned(),
        category: ErrorCategory::TestFailure,
        relevant_files: vec!["src/lib.rs".to_owned()],
        error_output: Some(output.to_owned()),
        origin: ReportOrigin::Ralph,
        gate: None,
    }
}

#[track_caller]
fn same(one: &str, other: &str) {
    assert_eq!(message_line(one), message_line(other));
    assert_eq!(signature(&report(one)), signature(&report(other)));
}

#[track_caller]
fn different(one: &str, other: &str) {
    assert_ne!(message_line(one), message_line(other));
    assert_ne!(signature(&report(one)), signature(&report(other)));
}

#[test]
fn varying_parts_are_ignored() {
    same("took 0.12s at 0x7ffe12ab", "took 1250 ms at 0x10");
    same(
        "thread 'a' (19892) panicked at src/lib.rs:19:9:",
        "thread 'a' (7) panicked at src/lib.rs:122:13:",
    );
    same("Mon Nov 16 12:24:56 2026 no space", "Sat Feb 3 01:02:03 2027 no space");
    same(
        "2 failures in deps/cart-cc34d4ae7363b857",
        "1 failure in deps/cart-15e6232ad15ba7cc",
    );
    same(
        "no row 550e8400-e29b-41d4-a716-446655440000",
        "no row f47ac10b-58cc-4372-a567-0e02b2c3d479",
    );
    same(
        "cannot stat '/tmp/tmp.5KrgINo1Vt/prices.csv'",
        "cannot stat '/tmp/tmp.UNjnIUEfsZ/prices.csv'",
    );
    same("cannot open /tmp/.tmpAb3xY2", "cannot open /tmp/.tmpqwerty");
    same(
        "connection to 127.0.0.1:43521 refused",
        "connection to 127.0.0.1:8080 refused",
    );
}

#[test]
fn relevant_parts_are_compared() {
    different("  left: 404", "  left: 500");
    different("error[E0308]: mismatched types", "error[E0277]: mismatched types");
    different("test tests::case_1 ... FAILED", "test tests::case_2 ... FAILED");
    different("case 7 ... FAILED", "case 8 ... FAILED");
    different("case 2100-02-29 ... FAILED", "case 2200-02-29 ... FAILED");
    different("step 3 failed (12 ms)", "step 4 failed (12 ms)");
    different("AssertionError: 1 != 2", "AssertionError: 1 != 3");
    different("350 !== 550", "351 !== 550");
    different("exit code 1", "exit code 101");
    different("cannot find a.csv", "cannot find b.csv");
}

#[test]
fn different_values_are_different_failures() {
    different("  left: 12.5", "  left: 13.5");
    different(" right: Some(404)", " right: Some(500)");
    different("AssertionError: 350 != 1550", "AssertionError: 350 != 2550");
    different("HTTP 404", "HTTP 500");
    different("\"GET /a HTTP/1.1\" 404 -", "\"GET /a HTTP/1.1\" 500 -");
    different("status=404", "status=500");
    different("{\"status\":404}", "{\"status\":500}");
    different("exited with code=1", "exited with code=2");
    different("returned 404 instead of 200", "returned 500 instead of 200");
    different("returned 404 instead of 200", "returned 404 instead of 201");
    different("expected:<200> but was:<404>", "expected:<201> but was:<404>");
    different("expected 1.0.0 got 1.0.1", "expected 1.0.0 got 2.3.4");
}

#[test]
fn different_nested_values_are_different_failures() {
    different("  left: [1, 1]", "  left: [1, 2]");
    different(" right: Point { x: 1, y: 2 }", " right: Point { x: 1, y: 3 }");
    different("  left: (1, Some(2))", "  left: (1, Some(3))");
    different("  left: \"total is 1 EUR\"", "  left: \"total is 2 EUR\"");
    different("  left: {\"a\": -1.5}", "  left: {\"a\": -2.5}");
    different("  left: 3.3000000000000003", "  left: 4.4000000000000004");
    different("AssertionError: (1, 2) != (0, 2)", "AssertionError: (2, 2) != (0, 2)");
    different("E   assert [1, 1] == [1, 0]", "E   assert [1, 2] == [1, 0]");
    different("got {X:1 Y:2}, want {X:1 Y:0}", "got {X:1 Y:3}, want {X:1 Y:0}");
    different(
        "expected: <[1, 2]> but was: <[1, 0]>",
        "expected: <[1, 2]> but was: <[1, 3]>",
    );
    different("Received: [1, 17]", "Received: [1, 18]");
    different(
        "expected [ 1, 2 ] to deeply equal [ 1, 0 ]",
        "expected [ 1, 2 ] to deeply equal [ 1, 3 ]",
    );
    different("  left: Token { line: 3 }", "  left: Token { line: 4 }");
    different("  left: \"Mon\"", "  left: \"Tue\"");
    different("  left: \"2100-02-28\"", "  left: \"2100-03-01\"");
    let long = |last: &str| format!("  left: [{}{last}]", "1, ".repeat(150));
    different(&long("2"), &long("3"));
}

#[test]
fn varying_parts_of_values_are_ignored() {
    same("  left: [P at 0x7ffe12ab, 2]", "  left: [P at 0x10, 2]");
    same("  left: (1, 12.5ms)", "  left: (1, 1.25s)");
    same("  left: [12 ms, 3]", "  left: [14 ms, 3]");
    same(
        "  left: Server { port: 8080, pid: 7 }",
        "  left: Server { port: 43521, pid: 8 }",
    );
    same(
        "  left: Server { serverPort: 8080 }",
        "  left: Server { serverPort: 43521 }",
    );
    same(
        "  left: Instant { tv_sec: 77, tv_nsec: 12 }",
        "  left: Instant { tv_sec: 78, tv_nsec: 3 }",
    );
    same(
        "  left: [\"http://localhost:8080/a\"]",
        "  left: [\"http://localhost:43521/a\"]",
    );
    same("  left: (localhost:8080, 1)", "  left: (localhost:43521, 1)");
    same("  left: \"2026-11-16 12:24:56\"", "  left: \"2027-02-03 01:02:03\"");
    same(
        "  left: \"Mon Nov 16 12:24:56 2026\"",
        "  left: \"Sat Feb 3 01:02:03 2027\"",
    );
    same("  left: (1, 1700000000)", "  left: (1, 1800000000)");
    same("  left: (ThreadId(3), 1)", "  left: (ThreadId(7), 1)");
    same(
        "  left: [\"/tmp/.tmpAb3xY2/a.csv\"]",
        "  left: [\"/tmp/.tmpqwerty/a.csv\"]",
    );
    same(
        "AssertionError: 0.1234567 not less than 0.1",
        "AssertionError: 0.1334567 not less than 0.1",
    );
    same("expected ',' at line 5 column 7", "expected ',' at line 6 column 9");
    same("expected a price in src/cart.py:7", "expected a price in src/cart.py:9");
    same(
        "thread 'got' (19892) panicked at src/lib.rs:19:9:",
        "thread 'got' (7) panicked at src/lib.rs:122:13:",
    );
    same(
        "ValueError: row has 3 columns, not 7",
        "ValueError: row has 4 columns, not 7",
    );
}

#[test]
fn diff_lines_are_values_and_list_items_are_not() {
    let signed = |lines: &str| signature(&report(lines));
    let shown = |value: u32| signed(&format!("+ actual - expected\n  {{\n+   a: {value}\n-   a: 0\n  }}"));
    assert_ne!(shown(1), shown(2));
    assert_eq!(shown(1), shown(1));
    let of_pytest = |value: u32| signed(&format!("E         - {value}\nE         + 0"));
    assert_ne!(of_pytest(1), of_pytest(2));
    let listed = |worker: u32| signed(&format!("error: these died\n- number {worker}"));
    assert_eq!(listed(1), listed(2));
}

#[test]
fn routes_are_not_paths() {
    different("GET /users/new returned 404", "GET /orders/new returned 404");
    different("GET /a/index.html returned 404", "GET /b/index.html returned 404");
    different("no handler for /users/new", "no handler for /orders/new");
    same("GET /users/17 returned 404", "GET /users/4711 returned 404");
    same("cannot open /home/a/cart.py:3", "cannot open /home/b/cart.py:9");
}

#[test]
fn durations_and_labelled_numbers_are_not_values() {
    same(
        "expected less than 100 ms, got 132 ms",
        "expected less than 100 ms, got 148 ms",
    );
    same("got pid=77 port=8080", "got pid=78 port=43521");
    same("[16/Nov/2026 13:36:23] code 404", "[03/Feb/2027 01:02:03] code 404");
    same("error: 1700000000 is too late", "error: 1800000000 is too late");
    same("step 3 failed (12 ms)", "step 3 failed (1 s)");
    same("7 of 30 cases failed", "8 of 30 cases failed");
    same("status=failed after=12.5s", "status=failed after=13s");
    same("left at 0x7ffe12ab", "left at 0x10");
}

#[test]
fn changed_files_are_not_part_of_the_signature() {
    let changed = |files: &[&str]| FailureReport {
        relevant_files: files.iter().map(|file| (*file).to_owned()).collect(),
        ..report("expected 3 lines, got 2")
    };
    let (one, two) = (changed(&["src/a.rs"]), changed(&["src/a.rs", "src/b.rs"]));
    assert_eq!(signature(&one), signature(&two));
    let silent = |report: FailureReport| FailureReport {
        error_output: None,
        ..report
    };
    assert_eq!(signature(&silent(one.clone())), signature(&silent(two.clone())));
    // Files listed by an agent are listed on purpose.
    let listed = |report: FailureReport| FailureReport {
        origin: ReportOrigin::Agent,
        ..report
    };
    assert_ne!(signature(&listed(one)), signature(&listed(two)));
}

#[test]
fn category_and_files_count_but_not_line_order() {
    let one = report("test a ... FAILED\ntest b ... FAILED");
    assert_eq!(
        signature(&one),
        signature(&report("test b ... FAILED\n\ntest a ... FAILED"))
    );
    let other_kind = FailureReport {
        category: ErrorCategory::BuildError,
        ..one.clone()
    };
    assert_ne!(signature(&one), signature(&other_kind));
    let one = FailureReport {
        origin: ReportOrigin::Agent,
        ..one
    };
    let other_file = FailureReport {
        relevant_files: vec!["src/main.rs".to_owned()],
        ..one.clone()
    };
    assert_ne!(signature(&one), signature(&other_file));
    let in_file = |file: &str| report(&format!("{file}: no such price"));
    assert_ne!(
        signature(&in_file("src/a/cart.py")),
        signature(&in_file("src/b/cart.py"))
    );
    let with_line = FailureReport {
        relevant_files: vec!["src/lib.rs:12".to_owned()],
        ..one.clone()
    };
    assert_eq!(signature(&one), signature(&with_line));
    let in_other_words = FailureReport {
        what_tried: "something else".to_owned(),
        why_failed: "It does not work.".to_owned(),
        ..one.clone()
    };
    assert_eq!(signature(&one), signature(&in_other_words));
}

#[test]
fn project_path_does_not_matter() {
    let signed = |root: &str| {
        let output = format!("  File \"{root}/src/cart.py\", line 5, in total\nTypeError: no {root}/prices in {root}");
        super::signature(&report(&output), Path::new(root))
    };
    assert_eq!(signed("/home/dev/project"), signed("/home/dev/worktrees/two"));
    assert_eq!(signed("/home/dev/project"), signed("/usr/src/app"));
}

#[test]
fn reason_is_used_without_output() {
    let silent = |why: &str| FailureReport {
        why_failed: why.to_owned(),
        error_output: None,
        ..report("")
    };
    let timeout = |time: &str| silent(&format!("The iteration took longer than {time} allows."));
    assert_eq!(signature(&timeout("30 s")), signature(&timeout("45 s")));
    assert_ne!(
        signature(&timeout("30 s")),
        signature(&silent("The agent said nothing."))
    );
}

/// Recorded outputs of the same failure: repeated, or after lines were added above.
const SAME: [(&str, &str); 21] = [
    ("cargo_test_assertion", "cargo_test_assertion_moved"),
    ("cargo_test_missing_file", "cargo_test_missing_file_again"),
    ("cargo_test_two", "cargo_test_backtrace"),
    ("rustc_types", "rustc_types_moved"),
    ("node_test_assertion", "node_test_assertion_moved"),
    ("unittest_assertion", "unittest_assertion_moved"),
    ("shell_command_not_found", "shell_command_not_found_moved"),
    ("shell_served_404", "shell_served_404_again"),
    ("shell_temporary", "shell_temporary_again"),
    ("shell_case", "shell_case_moved"),
    // Values that contain varying parts.
    ("cargo_test_list", "cargo_test_list_again"),
    ("cargo_test_port", "cargo_test_port_again"),
    ("cargo_test_duration", "cargo_test_duration_again"),
    ("cargo_test_temporary", "cargo_test_temporary_again"),
    ("node_test_list", "node_test_list_again"),
    ("unittest_object", "unittest_object_again"),
    // Logs, whose last lines vary.
    ("shell_log", "shell_log_again"),
    ("shell_date_log", "shell_date_log_again"),
    ("shell_syslog", "shell_syslog_again"),
    ("shell_quiet_log", "shell_quiet_log_again"),
    ("python_log", "python_log_again"),
];

#[test]
fn recorded_failures_match_exactly_as_listed() {
    let signed = |recorded: &Recorded| {
        let why = why_lines(recorded.output, Path::new(RECORDED_ROOT), MAX_ERROR_OUTPUT);
        signature(&FailureReport {
            category: category_of(&why),
            relevant_files: Vec::new(),
            ..report(&why)
        })
    };
    let all: Vec<(&str, Signature)> = RECORDED
        .iter()
        .map(|recorded| (recorded.name, signed(recorded)))
        .collect();
    for (at, (one, signature)) in all.iter().enumerate() {
        for (other, other_signature) in all.iter().skip(at + 1) {
            let expected = SAME.contains(&(*one, *other)) || SAME.contains(&(*other, *one));
            assert_eq!(signature == other_signature, expected, "{one} and {other}");
        }
    }
}
