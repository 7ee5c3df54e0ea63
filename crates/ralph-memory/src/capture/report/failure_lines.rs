//! Recognises lines that report a failure, and lines that only contain counts.

use super::normal::normalised;

/// Words in relevant lines of test runners, compilers and linters.
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
/// Marks at the start of such lines.
const MARKS: [&str; 6] = ["✗", "✕", "×", "not ok", "--- FAIL", "✖"];

/// Words in lines that only contain counts and durations.
const COUNTING_WORDS: &str = "fail failed failing failure failures fails error errors warning warnings problem problems \
     pass passed passing ok not test tests result results run ran suite suites file files example examples assertion \
     assertions check checks subtest subtests target targets total count ignored measured filtered out skipped pending \
     todo cases cancelled xfailed xpassed deselected rerun flaky leaky slow broken of and in summary time duration finished \
     took s ms m min sec secs second seconds";
/// Words before a number that identifies one of many.
const NUMBERED: [&str; 7] = ["case", "test", "check", "step", "example", "scenario", "part"];
/// Words in sentences that report success.
const NEGATIONS: [&str; 6] = ["no", "none", "nothing", "never", "not", "0"];
/// Prefixes of other summary lines.
const COUNTING_PREFIXES: [&str; 5] = [
    "error: could not compile ",
    "error: aborting due to ",
    "found # error",
    "some errors have detailed explanations",
    "for more information about ",
];
const COUNTING_PARTS: [&str; 3] = [" generated # warning", "potentially fixable with", " warning emitted"];

/// Whether a clean line reports a failure.
#[must_use]
pub fn reports_failure(line: &str) -> bool {
    let trimmed = line.trim_start();
    let marked = MARKS.iter().any(|mark| trimmed.starts_with(mark));
    // Zero counts such as "0 failed" or "no errors" report success.
    marked
        || words_of(line)
            .any(|(before, word)| WORDS.contains(&word.as_str()) && !["0", "no"].contains(&before.as_str()))
}

/// Whether a raw line may report a failure; it may contain escape sequences.
#[must_use]
pub fn may_report_failure(line: &str) -> bool {
    let lower = line.to_lowercase();
    WORDS.iter().any(|word| lower.contains(word)) || MARKS.iter().any(|mark| line.contains(mark))
}

/// Whether a line names a failed item: `case a ... FAILED`, `a: failed (12 ms)`, `FAILED: a`, `[FAIL] a`.
pub(super) fn names_failed_item(line: &str) -> bool {
    // Fast path: most lines of long outputs are irrelevant.
    if !line.contains("ail") && !line.contains("AIL") {
        return false;
    }
    let text = without_remark(line.trim());
    let is_separator = |c: char| !c.is_alphanumeric();
    let words = || text.split(is_separator).filter(|word| !word.is_empty());
    let is_loud = |word: Option<&str>| word.is_some_and(|word| word == "FAILED" || word == "FAIL");
    let is_failed_word =
        |word: Option<&str>| word.is_some_and(|word| ["failed", "fail"].contains(&word.to_lowercase().as_str()));
    let (first, last) = (words().next(), words().next_back());
    let is_listed = is_failed_word(first) && text.split_whitespace().next().is_some_and(|word| word.ends_with(':'));
    let is_negated = || words().any(|word| NEGATIONS.contains(&word.to_lowercase().as_str()));
    let is_verdict = is_loud(first) || is_loud(last) || ((is_failed_word(last) || is_listed) && !is_negated());
    is_verdict && (words().any(|word| !counts(&word.to_lowercase()) && !is_number(word)) || names_number(words()))
}

/// Whether a number is a name: `case 7`, but not `7 cases`.
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

/// Whether a number after this word is a name.
pub(super) fn is_numbered(word: &str) -> bool {
    NUMBERED.contains(&word.to_ascii_lowercase().as_str())
}

fn is_number(word: &str) -> bool {
    word.bytes().all(|byte| byte.is_ascii_digit())
}

/// A line without a trailing remark in brackets, such as a duration.
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

/// Whether a normalised line only contains counts.
pub(super) fn only_counts(text: &str) -> bool {
    let lower = text.to_lowercase();
    let mut words = lower
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty());
    (lower.contains('#') && words.all(counts))
        || COUNTING_PREFIXES.iter().any(|prefix| lower.starts_with(prefix))
        || COUNTING_PARTS.iter().any(|part| lower.contains(part))
}

fn counts(word: &str) -> bool {
    COUNTING_WORDS.split_whitespace().any(|other| other == word)
}

/// The normalised failure in a clean line; `None` if it only contains counts.
#[must_use]
pub fn failure_of(line: &str) -> Option<String> {
    Some(normalised(line.trim())).filter(|text| !text.is_empty() && !only_counts(text))
}

/// The lower-case words of a line, each with its predecessor.
fn words_of(line: &str) -> impl Iterator<Item = (String, String)> {
    let mut before = String::new();
    let words: Vec<String> = line
        .split(|c: char| !c.is_alphanumeric())
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
    fn failed_items_are_distinguished_from_counts() {
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
            assert!(names_failed_item(line), "{line}");
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
            assert!(!names_failed_item(line), "{line}");
        }
    }
}
