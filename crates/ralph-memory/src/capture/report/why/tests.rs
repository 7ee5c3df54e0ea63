//! What is picked of outputs, whatever they are. What is picked of those of real tools is seen in the reports of the loop.

use proptest::prelude::*;
use ralph_testkit::{RECORDED, recorded};

use super::*;

#[track_caller]
fn check(output: &str, expected: &str) {
    assert_eq!(why_lines(output, 500), expected, "of {output}");
}

#[test]
fn every_recorded_output_says_why_in_whole_lines() {
    for recorded in RECORDED {
        let picked = why_lines(recorded.output, 500);
        assert!(!picked.is_empty() && picked.chars().count() <= 500, "{}", recorded.name);
        for line in picked.lines() {
            let words: Vec<&str> = line.split_whitespace().collect();
            let is_whole = |other: &str| {
                let other: Vec<&str> = other.split_whitespace().collect();
                // A name of what is known of a test stands before what it says.
                other.ends_with(&words) || words.ends_with(&other) && !other.is_empty()
            };
            assert!(recorded.output.lines().any(is_whole), "{}: {line}", recorded.name);
        }
    }
}

#[test]
fn colours_and_a_log_around_it_change_nothing() {
    let plain = recorded("cargo_test_assertion").output;
    let expected = why_lines(plain, 500);
    let coloured: String = plain
        .lines()
        .map(|line| format!("\u{1b}[31m{line}\u{1b}[0m\r\n"))
        .collect();
    assert_eq!(why_lines(&coloured, 500), expected);
    let noise = "2026-11-16 12:00:00 INFO handled a request without errors\nwarning: error in a comment\n".repeat(500);
    assert_eq!(why_lines(&format!("{noise}{plain}{noise}"), 500), expected);
}

#[test]
fn tests_that_run_at_the_same_time_fail_in_the_same_way_in_any_order() {
    let one = "thread 'a' panicked at src/a.rs:1:1:\nno a\nnote: run with\n";
    let other = "thread 'b' panicked at src/b.rs:1:1:\nno b\nnote: run with\n";
    assert_eq!(
        why_lines(&format!("{one}{other}"), 500),
        why_lines(&format!("{other}{one}"), 500)
    );
}

#[test]
fn of_what_does_not_fit_the_message_stays() {
    let output = recorded("rustc_collect").output;
    let header = "error[E0277]: a value of type `u32` cannot be built from an iterator over elements of type `String`";
    assert_eq!(why_lines(output, 120), format!("{header}\n --> src/lib.rs:5:50"));
    assert_eq!(why_lines(output, 30), "error[E0277]: a value o […cut]");
    assert_eq!(why_lines("", 500), "");
    assert_eq!(why_lines("\n \n", 500), "");
}

#[test]
fn what_is_told_after_all_causes_is_told_too() {
    let output = format!(
        "{}error: coverage is 71 %, and has to be 80 %\n",
        recorded("unittest_type_error").output
    );
    let picked = why_lines(&output, 500);
    assert!(picked.contains("TypeError: ") && picked.ends_with("error: coverage is 71 %, and has to be 80 %"));
}

#[test]
fn other_tools_are_understood_by_their_forms() {
    check(
        "=== RUN   TestTotal\n--- FAIL: TestTotal (0.00s)\n    cart_test.go:9: got 350, want 550\nFAIL\nexit status 1\n",
        "--- FAIL: TestTotal (0.00s)\n    cart_test.go:9: got 350, want 550",
    );
    check(
        "____ test_total ____\n\n    def test_total():\n>       assert total([1]) == 2\nE       assert 1 == 2\nE        +  where 1 = total([1])\n\ntest_cart.py:4: AssertionError\n=== 1 failed in 0.01s ===\n",
        "E       assert 1 == 2\nE        +  where 1 = total([1])",
    );
    check(
        "src/cart.ts(4,20): error TS2322: Type 'string' is not assignable to type 'number'.\nFound 1 error.\n",
        "src/cart.ts(4,20): error TS2322: Type 'string' is not assignable to type 'number'.",
    );
    check("one\n\ntwo\n", "one\ntwo");
}

proptest! {
    #[test]
    fn no_output_breaks_it_or_its_limit(
        lines in proptest::collection::vec(
            "thread 'a' panicked at x:1:1:|Traceback \\(most recent call last\\):|  File \"a.py\", line 1|not ok 1 - a|  ---|  \\.\\.\\.|  error: \\|-|error\\[E0308\\]: no| --> a.rs:1:1|5 \\| x|  \\|  \\^|TypeError: x|    at a \\(a.js:1:1\\)|FAIL: a|E   a|\\PC{0,20}",
            0..40,
        ),
        most in 0_usize..600,
    ) {
        let picked = why_lines(&lines.join("\n"), most);
        prop_assert!(picked.chars().count() <= most);
    }
}
