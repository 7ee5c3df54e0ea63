//! When two failures are the same.

use ralph_model::{ErrorCategory, ReportOrigin};
use ralph_testkit::{RECORDED, Recorded};

use super::*;
use crate::capture::{MOST_ERROR_OUTPUT, category_of, why_lines};

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
fn what_differs_from_time_to_time_makes_no_other_failure() {
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
fn what_says_what_is_wrong_does() {
    different("  left: 404", "  left: 500");
    different("error[E0308]: mismatched types", "error[E0277]: mismatched types");
    different("test tests::case_1 ... FAILED", "test tests::case_2 ... FAILED");
    different("AssertionError: 1 != 2", "AssertionError: 1 != 3");
    different("350 !== 550", "351 !== 550");
    different("exit code 1", "exit code 101");
    different("cannot find a.csv", "cannot find b.csv");
}

#[test]
fn the_kind_and_the_files_count_and_the_order_of_lines_does_not() {
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
    let other_file = FailureReport {
        relevant_files: vec!["src/main.rs".to_owned()],
        ..one.clone()
    };
    assert_ne!(signature(&one), signature(&other_file));
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
fn a_project_elsewhere_fails_the_same_way() {
    let output = |root: &str| FailureReport {
        relevant_files: vec!["src/cart.py".to_owned()],
        ..report(&format!(
            "  File \"{root}/src/cart.py\", line 5, in total\nTypeError: no"
        ))
    };
    assert_eq!(
        signature(&output("/home/dev/project")),
        signature(&output("/home/dev/worktrees/two"))
    );
}

#[test]
fn without_an_output_the_reason_counts() {
    let silent = |why: &str| FailureReport {
        why_failed: why.to_owned(),
        error_output: None,
        ..report("")
    };
    let timeout = |time: &str| silent(&format!("The iteration took longer than {time} allows."));
    assert_eq!(signature(&timeout("30 s")), signature(&timeout("45 s")));
    assert_ne!(
        signature(&timeout("30 s")),
        signature(&silent("The agent said nothing at all."))
    );
}

/// Recorded outputs that show the same failure: another time, or after other lines were added above.
const SAME: [(&str, &str); 8] = [
    ("cargo_test_assertion", "cargo_test_assertion_moved"),
    ("cargo_test_missing_file", "cargo_test_missing_file_again"),
    ("cargo_test_two", "cargo_test_backtrace"),
    ("rustc_types", "rustc_types_moved"),
    ("node_test_assertion", "node_test_assertion_moved"),
    ("unittest_assertion", "unittest_assertion_moved"),
    ("shell_command_not_found", "shell_command_not_found_moved"),
    ("shell_temporary", "shell_temporary_again"),
];

#[test]
fn recorded_failures_are_the_same_when_they_are_and_only_then() {
    let signed = |recorded: &Recorded| {
        let why = why_lines(recorded.output, MOST_ERROR_OUTPUT);
        signature(&FailureReport {
            category: category_of(&why),
            relevant_files: Vec::new(),
            ..report(&why)
        })
    };
    for (at, one) in RECORDED.iter().enumerate() {
        for other in RECORDED.iter().skip(at + 1) {
            let names = [(one.name, other.name), (other.name, one.name)];
            let expected = names.iter().any(|pair| SAME.contains(pair));
            assert_eq!(
                signed(one) == signed(other),
                expected,
                "{} and {}",
                one.name,
                other.name
            );
        }
    }
}
