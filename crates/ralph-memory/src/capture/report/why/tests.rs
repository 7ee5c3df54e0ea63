//! Tests of the extracted lines. Reports from real tools are tested in the loop.

use proptest::prelude::*;
use ralph_testkit::{RECORDED, RECORDED_ROOT, recorded};

use super::*;
use crate::capture::{failure_of, reports_failure};

fn picked(output: &str, characters: usize) -> String {
    why_lines(output, Path::new(RECORDED_ROOT), characters)
}

/// The lines extracted from a second output if the failures of the first are known.
fn picked_after(known: &str, output: &str) -> String {
    let failures = known.lines().filter(|line| reports_failure(line));
    let mut lines = WhyLines::new(Path::new(RECORDED_ROOT), failures.filter_map(failure_of).collect());
    for line in output.lines() {
        lines.take(line);
    }
    lines.pick(500)
}

#[track_caller]
fn check(output: &str, expected: &str) {
    assert_eq!(picked(output, 500), expected, "of {output}");
}

#[test]
fn recorded_outputs_are_explained_in_whole_lines() {
    for recorded in RECORDED {
        let picked = picked(recorded.output, 500);
        assert!(!picked.is_empty() && picked.chars().count() <= 500, "{}", recorded.name);
        for line in picked.lines() {
            let words: Vec<&str> = line.split_whitespace().collect();
            let is_whole = |other: &str| {
                let other: Vec<&str> = other.split_whitespace().collect();
                // A label is printed before a test's detail.
                other.ends_with(&words) || words.ends_with(&other) && !other.is_empty()
            };
            let is_begun = |other: &str| {
                let beginning = line
                    .strip_suffix(" […cut]")
                    .filter(|beginning| beginning.trim().len() > 20);
                beginning.is_some_and(|beginning| other.trim_start().starts_with(beginning.trim_start()))
            };
            let is_there = |other: &str| is_whole(other) || is_begun(other);
            assert!(recorded.output.lines().any(is_there), "{}: {line}", recorded.name);
        }
    }
}

#[test]
fn colors_and_surrounding_logs_do_not_matter() {
    let plain = recorded("cargo_test_assertion").output;
    let expected = picked(plain, 500);
    let coloured: String = plain
        .lines()
        .map(|line| format!("\u{1b}[31m{line}\u{1b}[0m\r\n"))
        .collect();
    assert_eq!(picked(&coloured, 500), expected);
    let noise = "2026-11-16 12:00:00 INFO handled a request without errors\nwarning: error in a comment\n".repeat(500);
    assert_eq!(picked(&format!("{noise}{plain}{noise}"), 500), expected);
}

#[test]
fn order_of_parallel_tests_does_not_matter() {
    let one = "thread 'a' panicked at src/a.rs:1:1:\nno a\nnote: run with\n";
    let other = "thread 'b' panicked at src/b.rs:1:1:\nno b\nnote: run with\n";
    assert_eq!(
        picked(&format!("{one}{other}"), 500),
        picked(&format!("{other}{one}"), 500)
    );
}

#[test]
fn message_is_kept_if_the_rest_does_not_fit() {
    let output = recorded("rustc_collect").output;
    let header = "error[E0277]: a value of type `u32` cannot be built from an iterator over elements of type `String`";
    assert_eq!(picked(output, 120), format!("{header}\n --> src/lib.rs:5:50"));
    assert_eq!(picked(output, 30), "error[E0277]: a value o […cut]");
    assert_eq!(picked("", 500), "");
    assert_eq!(picked("\n \n", 500), "");
}

#[test]
fn errors_after_all_causes_are_included() {
    let output = format!(
        "{}error: coverage is 71 %, and has to be 80 %\n",
        recorded("unittest_type_error").output
    );
    let picked = picked(&output, 500);
    assert!(picked.contains("TypeError: ") && picked.ends_with("error: coverage is 71 %, and has to be 80 %"));
}

#[track_caller]
fn check_recorded(name: &str, expected: &[&str]) {
    assert_eq!(picked(recorded(name).output, 500), expected.join("\n"), "{name}");
}

#[test]
fn formats_of_other_tools_are_recognised() {
    check_recorded(
        "go_test_assertion",
        &[
            "--- FAIL: TestTotal (0.00s)",
            "    cart_test.go:7: got 200, want 550",
            "FAIL\texample.com/cart\t0.002s",
        ],
    );
    check_recorded(
        "go_test_panic",
        &[
            "--- FAIL: TestTotal (0.00s)",
            "panic: runtime error: slice bounds out of range [1:0] [recovered]",
            "\tpanic: runtime error: slice bounds out of range [1:0]",
            "FAIL\texample.com/cart\t0.005s",
        ],
    );
    check_recorded(
        "go_build",
        &["./shown.go:4:9: cannot use cents (variable of type int) as type string in return statement"],
    );
    check_recorded(
        "pytest_assertion",
        &[
            "E       assert 200 == 550",
            "E        +  where 200 = total([350, 200])",
            "FAILED test_cart.py::test_total - assert 200 == 550",
        ],
    );
    check_recorded(
        "pytest_key_error",
        &[
            "E       KeyError: 'stat'",
            "FAILED test_door.py::test_opens - KeyError: 'stat'",
        ],
    );
    check_recorded(
        "tsc_types",
        &["cart.ts(5,7): error TS2322: Type 'string' is not assignable to type 'number'."],
    );
}

#[test]
fn long_values_are_shortened() {
    let picked = picked(recorded("cargo_test_long").output, 500);
    let lines: Vec<&str> = picked.lines().collect();
    let [_, "assertion `left == right` failed", left, right] = lines.as_slice() else {
        panic!("{picked}");
    };
    assert!(
        left.starts_with("  left: [3, 6, 9, 12, ") && left.ends_with(" […cut]"),
        "{left}"
    );
    assert!(
        right.starts_with(" right: [0, 0, 0, 0, ") && right.ends_with(" […cut]"),
        "{right}"
    );
    // A varying part before them does not move the cut.
    let elsewhere = recorded("cargo_test_long")
        .output
        .replace("panicked at src/", "panicked at crates/cart/src/");
    let elsewhere = self::picked(&elsewhere, 500);
    assert!(elsewhere.ends_with(&format!("{left}\n{right}")), "{elsewhere}");
}

#[test]
fn library_frames_are_ignored() {
    check_recorded(
        "cargo_test_unwrap_backtrace",
        &[
            "thread 'tests::unwrap' (2041) panicked at src/lib.rs:60:53:",
            "called `Result::unwrap()` on an `Err` value: Custom { kind: Other, error: \"disk\" }",
        ],
    );
    let full = "  12:     0x5581d0 - core::result::unwrap_failed::h1\n   3: rust_panic\n";
    check(&format!("a failure of the cart\n{full}"), "a failure of the cart");
}

#[test]
fn failed_script_case_is_included_with_its_error() {
    let error = "error: expected no such day, found 29 February";
    check_recorded("shell_case", &["case leap_alpha ... FAILED", error]);
    check_recorded("shell_case_numbered", &["case 2100-02-29 ... FAILED", error]);
    check_recorded("shell_named_other", &["FAILED: leap_beta", error]);
    check_recorded(
        "shell_tap_other",
        &["not ok 2 - leap_beta", "# expected no such day, found 29 February"],
    );
}

#[test]
fn log_errors_are_preferred_to_last_lines() {
    check_recorded(
        "shell_log",
        &[
            "2026-11-16 18:56:13 ERROR cart: price of cup 17 is negative",
            "2026-11-16 18:56:13 FATAL check failed: the shop cannot open",
        ],
    );
    check_recorded(
        "shell_date_log",
        &["[Mon Nov 16 18:56:13 UTC 2026] [shop] panic: no price of cups"],
    );
    check_recorded(
        "shell_syslog",
        &["<13>Nov 16 18:57:10 vm shop[17467]: CRITICAL no price of cups"],
    );
    check_recorded(
        "python_log",
        &["2026-11-16 18:56:15,535 [MainThread] ERROR shop.cart - price of a cup is negative"],
    );
    let quiet = picked(recorded("shell_quiet_log").output, 500);
    assert!(
        quiet.ends_with("INFO shutting down worker gus after 677 requests"),
        "{quiet}"
    );
    check("a failure of the cart\nthe end\n", "a failure of the cart");
    check(
        "a failure of the cart\nexpected: 1\n  actual: 2\nthe end\n",
        "a failure of the cart\nexpected: 1\n  actual: 2",
    );
    check("one\n\ntwo\n", "one\ntwo");
}

#[test]
fn known_failures_are_omitted_if_there_are_new_ones() {
    let failing = |tests: &[&str]| -> String {
        let lists = tests.iter().map(|test| format!("test {test} ... FAILED\n"));
        let panics = tests.iter().map(|test| {
            format!("thread '{test}' (77) panicked at src/lib.rs:9:5:\nassertion `left == right` failed\n  left: 1\n right: 2\nnote: run with\n\n")
        });
        lists.chain(panics).collect()
    };
    let many: Vec<String> = (b'a'..=b'z').map(|test| format!("test_{}", char::from(test))).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let before = failing(&many);
    // The new failure is between old ones, of which there are more than are kept.
    let (first, last) = many.split_at(20);
    let of = |new: &str| picked_after(&before, &failing(&[first, &[new], last].concat()));
    assert_eq!(
        of("breaks_x"),
        "thread 'breaks_x' (77) panicked at src/lib.rs:9:5:\nassertion `left == right` failed\n  left: 1\n right: 2"
    );
    assert_ne!(of("breaks_x"), of("breaks_y"));
    // Without new failures the old ones are shown.
    assert_eq!(picked_after(&before, &before), picked(&before, 500));
}

#[test]
fn heading_decides_whether_its_exception_is_new() {
    let failing = |test: &str| {
        format!(
            "FAIL: {test} (test_cart.CartTest.{test})\n----------\nTraceback (most recent call last):\n  File \"{RECORDED_ROOT}/test_cart.py\", line 8, in {test}\n    self.check()\nAssertionError: 1 != 2\n\n"
        )
    };
    let (one, other) = (failing("test_one"), failing("test_other"));
    assert_eq!(picked_after(&one, &format!("{one}{other}")), picked(&other, 500));
}

#[test]
fn unknown_last_lines_are_the_fallback() {
    let lines = |output: &str| {
        let known = "step one\nthree prices are negative\n";
        let mut lines = WhyLines::new(Path::new("/"), known.lines().filter_map(failure_of).collect());
        output.lines().for_each(|line| drop(lines.take(line)));
        lines.pick(500)
    };
    assert_eq!(
        lines("step one\nthe list is empty\nthree prices are negative\n"),
        "the list is empty"
    );
    assert_eq!(
        lines("step one\nthree prices are negative\n"),
        "step one\nthree prices are negative"
    );
}

#[test]
fn endless_traceback_hides_nothing() {
    let dump = "  a line of a dump that is set in\n".repeat(10_000);
    let frames = "  File \"/usr/lib/python3.11/a.py\", line 3, in a\n    a()\n".repeat(10_000);
    for endless in [dump.as_str(), &frames] {
        for after in ["", "    "] {
            let failure = "thread 'tests::a' panicked at src/lib.rs:1:1:\nno prices";
            let output = format!("Traceback (most recent call last):\n{endless}{after}{failure}\nnote: run\n{endless}");
            assert_eq!(picked(&output, 500), failure);
        }
        let output = format!("Traceback (most recent call last):\n{endless}  error: coverage is too low\n{endless}");
        assert!(
            picked(&output, 500).contains("error: coverage is too low"),
            "{output:.60}"
        );
    }
    let mut lines = WhyLines::new(Path::new("/"), BTreeSet::new());
    lines.take("Traceback (most recent call last):");
    "  xxxxxxxxxxxxxxx"
        .repeat(40)
        .split_inclusive("  ")
        .for_each(|line| drop(lines.take(&format!("   {line}"))));
    assert!(format!("{:?}", lines.open).len() < 2000, "{:?}", lines.open);
}

#[test]
fn deep_traceback_ends_with_its_exception() {
    let frames = "  File \"/home/dev/project/cart.py\", line 3, in a\n    b()\n    ^^^\n".repeat(1000);
    let output = format!("Traceback (most recent call last):\n{frames}RecursionError: too deep\n");
    check(
        &output,
        "File \"/home/dev/project/cart.py\", line 3, in a\n  b()\nRecursionError: too deep",
    );
}

#[test]
fn project_in_a_system_folder_is_recognised() {
    for root in ["/usr/src/app", "/opt/app", "/usr/local/lib/shop"] {
        for name in [
            "node_uncaught",
            "node_test_type_error",
            "unittest_type_error",
            "python_chained",
        ] {
            let output = recorded(name).output.replace(RECORDED_ROOT, root);
            let here = why_lines(&output, Path::new(root), 5000);
            assert_eq!(
                here.replace(root, RECORDED_ROOT),
                picked(recorded(name).output, 5000),
                "{name} in {root}"
            );
        }
    }
}

#[test]
fn secret_across_a_line_cut_is_masked() {
    let token = format!("ghp_{}", "a1B2".repeat(9));
    for before in 0..token.len() {
        let line = format!("error: {} {token} is refused", "x".repeat(MAX_READ - 8 - before));
        let picked_text = picked(&line, 2000);
        assert!(!picked_text.contains("ghp_"), "{picked_text}");
    }
    let key = format!(
        "{0}BEGIN PRIVATE KEY{0}\n{1}{0}END PRIVATE KEY{0}\n",
        "-".repeat(5),
        format!("{}\n", "Ab12".repeat(16)).repeat(20)
    );
    let picked_text = picked(&key, 2000);
    assert!(!picked_text.contains("Ab12"), "{picked_text}");
}

proptest! {
    #[test]
    fn any_output_respects_the_limit(
        lines in proptest::collection::vec(
            "thread 'a' panicked at x:1:1:|Traceback \\(most recent call last\\):|  File \"a.py\", line 1|not ok 1 - a|  ---|  \\.\\.\\.|  error: \\|-|error\\[E0308\\]: no| --> a.rs:1:1|5 \\| x|  \\|  \\^|TypeError: x|    at a \\(a.js:1:1\\)|FAIL: a|E   a|\\PC{0,20}",
            0..40,
        ),
        most in 0_usize..600,
    ) {
        let picked = picked(&lines.join("\n"), most);
        prop_assert!(picked.chars().count() <= most);
    }
}
