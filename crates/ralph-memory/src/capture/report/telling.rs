//! Which lines of an output tell of a failure by their words, and which of these only count.

use super::normal::normalised;

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
     todo cases cancelled xfailed xpassed deselected rerun flaky leaky slow broken of and in summary time duration finished \
     took s ms m min sec secs second seconds";
/// Words before the number of one of many.
const NUMBERED: [&str; 7] = ["case", "test", "check", "step", "example", "scenario", "part"];
/// Words of sentences that say that nothing failed.
const GOOD_NEWS: [&str; 6] = ["no", "none", "nothing", "never", "not", "0"];
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

/// Whether a clean line tells of a failure.
#[must_use]
pub fn tells_of_failure(line: &str) -> bool {
    let trimmed = line.trim_start();
    let marked = MARKS.iter().any(|mark| trimmed.starts_with(mark));
    // A count of nothing is good news: "0 failed", "no errors".
    marked
        || words_of(line)
            .any(|(before, word)| WORDS.contains(&word.as_str()) && !["0", "no"].contains(&before.as_str()))
}

/// Whether a line as it was printed may tell of a failure; escape sequences may stand between its words.
#[must_use]
pub fn may_tell(line: &str) -> bool {
    let lower = line.to_lowercase();
    WORDS.iter().any(|word| lower.contains(word)) || MARKS.iter().any(|mark| line.contains(mark))
}

/// Whether a line names what failed: `case a ... FAILED`, `a: failed (12 ms)`, `FAILED: a`, `[FAIL] a`.
pub(super) fn names_what_failed(line: &str) -> bool {
    // Outputs are long, and most of their lines are not worth a second look.
    if !line.contains("ail") && !line.contains("AIL") {
        return false;
    }
    let text = without_remark(line.trim());
    let is_sign = |sign: char| !sign.is_alphanumeric();
    let words = || text.split(is_sign).filter(|word| !word.is_empty());
    let is_loud = |word: Option<&str>| word.is_some_and(|word| word == "FAILED" || word == "FAIL");
    let is_said =
        |word: Option<&str>| word.is_some_and(|word| ["failed", "fail"].contains(&word.to_lowercase().as_str()));
    let (first, last) = (words().next(), words().next_back());
    let is_listed = is_said(first) && text.split_whitespace().next().is_some_and(|word| word.ends_with(':'));
    let is_good_news = || words().any(|word| GOOD_NEWS.contains(&word.to_lowercase().as_str()));
    let is_verdict = is_loud(first) || is_loud(last) || ((is_said(last) || is_listed) && !is_good_news());
    is_verdict && (words().any(|word| !counts(&word.to_lowercase()) && !is_number(word)) || names_number(words()))
}

/// Whether a number is a name: `case 7`, and not `7 cases`.
fn names_number<'a>(words: impl Iterator<Item = &'a str>) -> bool {
    let mut before = "";
    for word in words {
        if is_number(word) && is_numbered(before) {
            return true;
        }
        before = word;
    }
    false
}

/// Whether a number after this word says which one is meant.
pub(super) fn is_numbered(word: &str) -> bool {
    NUMBERED.contains(&word.to_ascii_lowercase().as_str())
}

fn is_number(word: &str) -> bool {
    word.bytes().all(|byte| byte.is_ascii_digit())
}

/// A line without what stands in brackets at its end, such as how long it took.
fn without_remark(line: &str) -> &str {
    let begin = match line.chars().next_back() {
        Some(')') => line.rsplit_once('('),
        Some(']') => line.rsplit_once('['),
        _ => None,
    };
    match begin {
        Some((before, remark)) if !remark.to_lowercase().contains("fail") => before.trim_end(),
        _ => line,
    }
}

/// Whether a line in its normal form says nothing but how many.
pub(super) fn only_counts(text: &str) -> bool {
    let lower = text.to_lowercase();
    let mut words = lower
        .split(|sign: char| !sign.is_alphanumeric())
        .filter(|word| !word.is_empty());
    (lower.contains('#') && words.all(counts))
        || COUNTING_BEGINNINGS.iter().any(|beginning| lower.starts_with(beginning))
        || COUNTING_PARTS.iter().any(|part| lower.contains(part))
}

/// Whether a word in lower case is one of those that count.
fn counts(word: &str) -> bool {
    COUNTING_WORDS.split_whitespace().any(|other| other == word)
}

/// The failure that a clean line tells of, in its normal form; none when it only counts.
#[must_use]
pub fn failure_of(line: &str) -> Option<String> {
    Some(normalised(line.trim())).filter(|text| !text.is_empty() && !only_counts(text))
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

    #[test]
    fn lines_that_name_what_failed_are_told_from_those_that_count() {
        for line in [
            "case leap_beta ... FAILED",
            "test tests::a ... FAILED",
            "  12 leap_beta....FAIL (12 ms)",
            "FAILED: leap_beta",
            "failed: leap_beta",
            "[FAIL] leap_beta",
            "leap_beta [FAILED]",
            "CartTest > total() FAILED",
            "check of leap_beta failed",
            "case 7 ... FAILED",
        ] {
            assert!(names_what_failed(line), "{line}");
        }
        for line in [
            "FAILED",
            "FAILED (failures=1)",
            "7 tests failed",
            "Tests: 3 failed",
            "test result: FAILED. 1 passed; 1 failed; finished in 0.12s",
            "no case of the calendar failed",
            "the calendar has not failed",
            "failing over to the calendar",
            "case leap_beta ... ok",
        ] {
            assert!(!names_what_failed(line), "{line}");
        }
    }
}
