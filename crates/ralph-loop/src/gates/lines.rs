//! Finds the lines of a program's output that show a failure, in a form that can be compared.

use std::collections::{BTreeSet, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use ralph_memory::capture::{clean, failure_of, may_report_failure, normalised, reports_failure};

/// The maximum number of distinct failures kept for a gate.
const MAX_LINES: usize = 2000;
/// The maximum number of distinct lines remembered, so that none is checked twice.
const MAX_SEEN: usize = 100_000;
/// How much of a line is read: some programs print everything on one.
const MAX_READ: usize = 4000;

/// Collects failures line by line, normalised so that they are equal when only numbers, times or addresses differ.
/// Lines that only count failures are ignored: a count also changes for the better.
#[derive(Debug, Default)]
pub(super) struct FailureLines {
    failures: BTreeSet<String>,
    seen: HashSet<u64>,
}

impl FailureLines {
    /// Adds a line as the program printed it.
    pub(super) fn take(&mut self, line: &str) {
        let beginning = beginning(line);
        if self.failures.len() >= MAX_LINES || !may_report_failure(&beginning) {
            return;
        }
        // Cleaning is the most expensive step, and most output repeats itself.
        let mut hasher = DefaultHasher::new();
        normalised(&beginning).hash(&mut hasher);
        if self.seen.len() < MAX_SEEN && !self.seen.insert(hasher.finish()) {
            return;
        }
        // Mask secrets before cutting the line: half a secret would not be recognised.
        let cleaned = self::beginning(&clean(line, usize::MAX));
        if reports_failure(&cleaned) {
            self.failures.extend(failure_of(&cleaned));
        }
    }

    /// The failures found. If no line shows one, all kept lines count: the program failed somehow.
    pub(super) fn found(&mut self, kept: &str) -> BTreeSet<String> {
        let failures = std::mem::take(self).failures;
        if failures.is_empty() {
            kept.lines().filter_map(failure_of).take(MAX_LINES).collect()
        } else {
            failures
        }
    }
}

#[must_use]
pub fn failure_lines(output: &str) -> BTreeSet<String> {
    let mut lines = FailureLines::default();
    output.lines().for_each(|line| lines.take(line));
    lines.found(output)
}

/// The part of a line that is read.
fn beginning(line: &str) -> String {
    line.chars().take(MAX_READ).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(output: &str, expected: &[&str]) {
        let expected: BTreeSet<String> = expected.iter().map(|line| (*line).to_owned()).collect();
        assert_eq!(failure_lines(output), expected);
    }

    #[test]
    fn failure_lines_of_real_tools() {
        check(
            "running 2 tests\ntest tests::a ... ok\ntest tests::b ... FAILED\n\ntest result: FAILED. 1 passed; 1 failed; finished in 0.12s\n",
            &["test tests::b ... FAILED"],
        );
        check(
            "ok 1 - adds\nnot ok 2 - subtracts\n# fail 1\n",
            &["not ok # - subtracts"],
        );
        check(
            "test_a (m.T.test_a) ... ok\nFAIL: test_b (m.T.test_b)\nAssertionError: 1 != 2\nRan 2 tests in 0.001s\nFAILED (failures=1)\n",
            &["FAIL: test_b (m.T.test_b)", "AssertionError: # != #"],
        );
        check(
            "error[E0308]: mismatched types\n --> src/lib.rs:10:5\n",
            &["error[E#]: mismatched types"],
        );
        check(
            "test result: ok. 3 passed; 0 failed\nsomething else\n",
            &["something else"],
        );
    }

    #[test]
    fn fewer_failures_are_never_new_ones() {
        let fewer = |before: &str, after: &str| {
            let (before, after) = (failure_lines(before), failure_lines(after));
            assert_eq!(after.difference(&before).collect::<Vec<_>>(), [""; 0]);
        };
        fewer(
            "____ test_a ____\nFAILED t.py::a - assert 1\nFAILED t.py::b\n===== 2 failed in 0.1s =====\n",
            "__ test_a __\nFAILED t.py::a - assert 1\n== 1 failed, 1 passed, 3 warnings in 12.31s ==\n",
        );
        fewer(
            "error[E0425]: no `a`\nerror: no `b`\nSome errors have detailed explanations: E0425, E0308.\nFor more information about an error, try `rustc`.\nerror: could not compile `x` (lib) due to 2 previous errors; 1 warning emitted\n",
            "error[E0425]: no `a`\nFor more information about this error, try `rustc`.\nerror: could not compile `x` (lib) due to 1 previous error\n",
        );
        fewer(
            "--- a failed\nTests:       2 failed, 1 passed, 3 total\n✖ 2 problems (2 errors, 0 warnings)\n",
            "--- a failed\nTests:       1 failed, 2 passed, 3 total\n✖ 1 problem (1 error, 0 warnings)\n",
        );
    }

    #[test]
    fn colours_do_not_hide_failures() {
        check("\u{1b}[31mFAILED\u{1b}[0m t.py::a\nfine\n", &["FAILED t.py::a"]);
    }

    #[test]
    fn repeated_failure_does_not_crowd_out_others() {
        let mut output = "warning: unused\n".repeat(MAX_LINES + 10);
        output.push_str("test b ... FAILED\n");
        check(&output, &["warning: unused", "test b ... FAILED"]);
    }

    #[test]
    fn secret_across_a_line_cut_is_masked() {
        let token = format!("ghp_{}", "aBcD".repeat(9));
        // Normalisation shortens numbers, so the cut shows in the result.
        let line = format!("error: {} {token}", "1".repeat(MAX_READ - 20));
        let found = failure_lines(&line);
        assert!(!found.iter().any(|line| line.contains("ghp_")), "{found:?}");
    }

    #[test]
    fn failures_are_equal_regardless_of_numbers() {
        let one = failure_lines("thread 'a' panicked at src/lib.rs:10:5 after 0.31s, 0x7ffe12ab");
        let other = failure_lines("thread 'a' panicked at src/lib.rs:112:25 after 12.7s, 0x7ffd00ff");
        assert_eq!(one, other);
    }
}
