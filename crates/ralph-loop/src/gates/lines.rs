//! Which lines of a program's output tell of a failure, and when two of them tell of the same one.

use std::collections::{BTreeSet, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use ralph_memory::capture::{clean, normalised};

/// How many different failures are kept of one gate.
const MAX_LINES: usize = 2000;
/// How many different lines are remembered, so that none is looked at twice.
const MAX_SEEN: usize = 100_000;
/// How much of a line is looked at: some programs print everything in one.
const MAX_READ: usize = 4000;

/// Words that test runners, compilers and linters put into the lines that matter.
const WORDS: [&str; 19] = [
    "error",
    "errors",
    "fail",
    "failed",
    "fails",
    "failure",
    "failing",
    "panicked",
    "panic",
    "exception",
    "traceback",
    "assert",
    "assertion",
    "assertionerror",
    "undefined",
    "fatal",
    "cannot",
    "warning",
    "mismatched",
];
/// Marks that they put before such a line.
const MARKS: [&str; 6] = ["✗", "✕", "×", "not ok", "--- FAIL", "✖"];

/// Words of lines that only count: how many passed, how many did not, how long it took.
const COUNTING_WORDS: &str = "fail failed failing failure failures fails error errors warning warnings problem problems \
     pass passed passing ok not test tests result results run ran suite suites file files example examples assertion \
     assertions check checks subtest subtests target targets total count ignored measured filtered out skipped pending \
     todo cancelled xfailed xpassed deselected rerun flaky leaky slow broken of and in summary time duration finished \
     took s ms m min sec secs second seconds";
/// How other lines begin that count.
const COUNTING_BEGINNINGS: [&str; 5] = [
    "error: could not compile ",
    "error: aborting due to ",
    "found # error",
    "some errors have detailed explanations",
    "for more information about ",
];
/// What others hold.
const COUNTING_PARTS: [&str; 3] = [" generated # warning", "potentially fixable with", " warning emitted"];

/// Collects the failures of an output, line by line, each in a form that is the same again when only numbers, times or
/// addresses differ. Lines that only count failures are none: a count changes also for the better.
#[derive(Debug, Default)]
pub(super) struct FailureLines {
    telling: BTreeSet<String>,
    seen: HashSet<u64>,
}

impl FailureLines {
    /// Takes the next line as the program printed it.
    pub(super) fn take(&mut self, line: &str) {
        let line: String = line.chars().take(MAX_READ).collect();
        if self.telling.len() >= MAX_LINES || !may_tell(&line) {
            return;
        }
        // Cleaning costs more than all else, and most outputs repeat themselves.
        let mut hasher = DefaultHasher::new();
        normalised(&line).hash(&mut hasher);
        if self.seen.len() < MAX_SEEN && !self.seen.insert(hasher.finish()) {
            return;
        }
        let line = clean(&line, MAX_READ);
        if tells_of_failure(&line) {
            self.telling.extend(failure(&line));
        }
    }

    /// What was found. An output without a line that tells of a failure is taken whole, as far as it was kept: it failed
    /// somehow.
    pub(super) fn found(&mut self, kept: &str) -> BTreeSet<String> {
        let telling = std::mem::take(self).telling;
        if telling.is_empty() {
            kept.lines().filter_map(failure).take(MAX_LINES).collect()
        } else {
            telling
        }
    }
}

/// The failures that a clean output shows.
#[must_use]
pub fn failure_lines(output: &str) -> BTreeSet<String> {
    let mut lines = FailureLines::default();
    output.lines().for_each(|line| lines.take(line));
    lines.found(output)
}

/// The failure that a line tells of, in its normal form.
fn failure(line: &str) -> Option<String> {
    Some(normalised(line)).filter(|text| !text.is_empty() && !only_counts(text))
}

/// The last lines that tell of a failure, or else the last lines, as they are, within so many characters.
pub(super) fn telling_lines(output: &str, characters: usize) -> String {
    let telling: Vec<&str> = output.lines().filter(|line| tells_of_failure(line)).collect();
    let lines: Vec<&str> = if telling.is_empty() {
        output.lines().filter(|line| !line.trim().is_empty()).collect()
    } else {
        telling
    };
    let mut room = characters;
    let mut kept: Vec<&str> = Vec::new();
    // The first failure is the one that the others may come from, so it is taken first, then the last ones.
    let first = lines.first().copied();
    for line in first.into_iter().chain(lines.iter().skip(1).rev().copied()) {
        let size = line.chars().count() + 1;
        if size > room {
            break;
        }
        room -= size;
        kept.push(line);
    }
    let (head, tail) = kept.split_at(kept.len().min(1));
    let ordered: Vec<&str> = head
        .iter()
        .chain(tail.iter().rev())
        .map(|line| line.trim_end())
        .collect();
    ordered.join("\n")
}

fn tells_of_failure(line: &str) -> bool {
    let trimmed = line.trim_start();
    let marked = MARKS.iter().any(|mark| trimmed.starts_with(mark));
    // A count of nothing is good news: "0 failed", "no errors".
    marked
        || words_of(line)
            .any(|(before, word)| WORDS.contains(&word.as_str()) && !["0", "no"].contains(&before.as_str()))
}

/// Whether a line as it was printed may tell of a failure; escape sequences may stand between its words.
fn may_tell(line: &str) -> bool {
    let lower = line.to_lowercase();
    WORDS.iter().any(|word| lower.contains(word)) || MARKS.iter().any(|mark| line.contains(mark))
}

/// Whether a line in its normal form says nothing but how many.
fn only_counts(text: &str) -> bool {
    let lower = text.to_lowercase();
    let mut words = lower
        .split(|sign: char| !sign.is_alphanumeric())
        .filter(|word| !word.is_empty());
    (lower.contains('#') && words.all(|word| COUNTING_WORDS.split_whitespace().any(|other| other == word)))
        || COUNTING_BEGINNINGS.iter().any(|beginning| lower.starts_with(beginning))
        || COUNTING_PARTS.iter().any(|part| lower.contains(part))
}

/// The words of a line in lower case, each with the one before it.
fn words_of(line: &str) -> impl Iterator<Item = (String, String)> {
    let mut before = String::new();
    let words: Vec<String> = line
        .split(|sign: char| !sign.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect();
    words
        .into_iter()
        .map(move |word| (std::mem::replace(&mut before, word.clone()), word))
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
    fn lines_of_real_tools_that_tell_of_failures() {
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
    fn colours_hide_no_failure() {
        check("\u{1b}[31mFAILED\u{1b}[0m t.py::a\nfine\n", &["FAILED t.py::a"]);
    }

    #[test]
    fn the_same_failure_a_thousand_times_leaves_room_for_others() {
        let mut output = "warning: unused\n".repeat(MAX_LINES + 10);
        output.push_str("test b ... FAILED\n");
        check(&output, &["warning: unused", "test b ... FAILED"]);
    }

    #[test]
    fn the_same_failure_is_the_same_whatever_its_numbers() {
        let one = failure_lines("thread 'a' panicked at src/lib.rs:10:5 after 0.31s, 0x7ffe12ab");
        let other = failure_lines("thread 'a' panicked at src/lib.rs:112:25 after 12.7s, 0x7ffd00ff");
        assert_eq!(one, other);
    }

    #[test]
    fn a_reason_has_the_first_failure_and_the_last_lines_that_fit() {
        assert_eq!(
            telling_lines("error: a\nnote\nerror: bb\nerror: cc\n", 20),
            "error: a\nerror: cc"
        );
        assert_eq!(telling_lines("one\n\ntwo\n", 100), "one\ntwo");
        assert_eq!(telling_lines("", 100), "");
    }
}
