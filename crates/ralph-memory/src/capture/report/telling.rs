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

/// Whether a line in its normal form says nothing but how many.
pub(super) fn only_counts(text: &str) -> bool {
    let lower = text.to_lowercase();
    let mut words = lower
        .split(|sign: char| !sign.is_alphanumeric())
        .filter(|word| !word.is_empty());
    (lower.contains('#') && words.all(|word| COUNTING_WORDS.split_whitespace().any(|other| other == word)))
        || COUNTING_BEGINNINGS.iter().any(|beginning| lower.starts_with(beginning))
        || COUNTING_PARTS.iter().any(|part| lower.contains(part))
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
