//! Which lines of a program's output tell of a failure, and when two of them tell of the same one.

use std::collections::BTreeSet;

/// How many different failures are kept of one gate.
const MAX_LINES: usize = 500;
/// How long a kept line may be.
const MAX_CHARACTERS: usize = 300;

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

/// The failures that an output shows, each in a form that is the same again when only numbers, times or addresses differ.
/// An output without a line that tells of a failure is taken whole: it failed somehow.
#[must_use]
pub fn failure_lines(output: &str) -> BTreeSet<String> {
    let of = |lines: &mut dyn Iterator<Item = &str>| -> BTreeSet<String> {
        lines
            .map(normalised)
            .filter(|line| !line.is_empty())
            .take(MAX_LINES)
            .collect()
    };
    let telling = of(&mut output.lines().filter(|line| tells_of_failure(line)));
    if telling.is_empty() {
        of(&mut output.lines())
    } else {
        telling
    }
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

/// A line without what differs from run to run: numbers, spaces.
fn normalised(line: &str) -> String {
    let mut text = String::new();
    let mut in_number = false;
    let mut in_space = true;
    for sign in line.chars() {
        // Addresses and digests: letters that follow a digit belong to its number.
        let numeric = sign.is_ascii_digit() || (in_number && (sign.is_ascii_hexdigit() || sign == '.' || sign == 'x'));
        let space = sign.is_whitespace();
        match (numeric, space) {
            (true, _) if !in_number => text.push('#'),
            (true, _) => {}
            (false, true) if !in_space => text.push(' '),
            (false, true) => {}
            (false, false) => text.push(sign),
        }
        (in_number, in_space) = (numeric, space);
        if text.chars().count() >= MAX_CHARACTERS {
            break;
        }
    }
    text.trim_end().to_owned()
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
            &[
                "test tests::b ... FAILED",
                "test result: FAILED. # passed; # failed; finished in #s",
            ],
        );
        check(
            "ok 1 - adds\nnot ok 2 - subtracts\n# fail 1\n",
            &["not ok # - subtracts", "# fail #"],
        );
        check(
            "test_a (m.T.test_a) ... ok\nFAIL: test_b (m.T.test_b)\nAssertionError: 1 != 2\nRan 2 tests in 0.001s\nFAILED (failures=1)\n",
            &[
                "FAIL: test_b (m.T.test_b)",
                "AssertionError: # != #",
                "FAILED (failures=#)",
            ],
        );
        check(
            "error[E0308]: mismatched types\n --> src/lib.rs:10:5\n",
            &["error[E#]: mismatched types"],
        );
        check(
            "test result: ok. 3 passed; 0 failed\nsomething else\n",
            &["test result: ok. # passed; # failed", "something else"],
        );
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
