//! When two attempts failed the same way: a digest of what does not differ from time to time.

use std::collections::BTreeSet;

use ralph_model::{FailureReport, Signature};
use xxhash_rust::xxh3::xxh3_64;

use super::named_files::named_files;
use super::normal::normalised;
use crate::capture::clean;

/// What stands for something that differs from time to time: a number, which the normal form of a line leaves out.
const VARIABLE: &str = "0";
/// The longest number that may say what is wrong: an exit code, a status, a small result. Longer ones are ports, process
/// ids, moments and sizes.
const MAX_DIGITS: usize = 3;
/// The longest number in a name that is part of it: `test_2`, `E0308`.
const MAX_DIGITS_IN_NAME: usize = 4;
/// From how many characters on a word of hexadecimal digits is a digest.
const MIN_DIGEST: usize = 7;
/// The same of one that has dashes in it.
const MIN_RANDOM_ID: usize = 16;

/// Words before a number that says what is wrong.
const BEFORE_VALUES: [&str; 12] = [
    "left", "right", "expected", "actual", "received", "got", "want", "wanted", "code", "status", "error", "signal",
];
/// Signs between numbers that are compared.
const COMPARISONS: [&str; 8] = ["!=", "==", "!==", "===", "<", ">", "<=", ">="];
/// Units of time, which may stand by themselves behind a number.
const UNITS: [&str; 15] = [
    "ns", "us", "µs", "ms", "s", "m", "h", "min", "mins", "sec", "secs", "second", "seconds", "minute", "minutes",
];
/// Days and months as dates have them.
const DAYS_AND_MONTHS: [&str; 19] = [
    "Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun", "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep",
    "Oct", "Nov", "Dec",
];
/// Where programs make folders with names that are different each time.
const TEMPORARY: [&str; 6] = [
    "/tmp/",
    "/var/tmp/",
    "/private/tmp/",
    "/var/folders/",
    "/private/var/folders/",
    "/dev/shm/",
];

/// What makes a failure the same as another one: its category, its message, its files. The message is what a program
/// printed, where there is anything, else the reason, without what differs from time to time; its lines are compared as a
/// set, since tests that run at the same time print in any order.
#[must_use]
pub fn signature(report: &FailureReport) -> Signature {
    let output = report
        .error_output
        .as_deref()
        .filter(|output| !output.trim().is_empty());
    let message = output.unwrap_or(&report.why_failed);
    let lines: BTreeSet<String> = clean(message, usize::MAX)
        .lines()
        .map(message_line)
        .filter(|line| !line.is_empty())
        .collect();
    let named = output.map(named_files).unwrap_or_default();
    let files: BTreeSet<String> = if named.is_empty() {
        report.relevant_files.iter().map(|file| without_line(file)).collect()
    } else {
        named
            .into_iter()
            .map(|file| known_as(file, &report.relevant_files))
            .collect()
    };
    let parts = std::iter::once(report.category.word().to_owned())
        .chain(lines)
        // No line is empty, so nothing of a message can be taken for a file.
        .chain(std::iter::once(String::new()))
        .chain(files);
    let text: Vec<String> = parts.collect();
    Signature::new(xxh3_64(text.join("\n").as_bytes()))
}

/// A file as the report calls it. Where it does not, a whole path is cut to the name: projects are moved, and have worktrees.
fn known_as(file: &str, relevant: &[String]) -> String {
    let is_known = |known: &&String| file == known.as_str() || file.ends_with(&format!("/{known}"));
    match relevant.iter().find(is_known) {
        Some(known) => known.clone(),
        None if file.starts_with('/') || file.contains('\\') => last_of(file).to_owned(),
        None => file.to_owned(),
    }
}

/// A file's name without the line that an agent wrote behind it.
fn without_line(file: &str) -> String {
    named_files(file).first().map_or(file, |name| *name).to_owned()
}

/// A line of a message in a form that is the same again when only paths, line numbers, addresses, times and counts differ.
fn message_line(line: &str) -> String {
    let mut words: Vec<String> = Vec::new();
    let mut tells_values = false;
    let mut coming = line.split_whitespace().peekable();
    while let Some(word) = coming.next() {
        let bare = word.trim_matches(|sign: char| sign.is_ascii_punctuation() && sign != '_');
        let after_number = words.last().is_some_and(|last| is_number(last));
        if (after_number && UNITS.contains(&bare)) || DAYS_AND_MONTHS.contains(&bare) {
            continue;
        }
        let is_compared = coming.peek().is_some_and(|next| COMPARISONS.contains(next));
        let told = (tells_values || is_compared).then(|| kept_value(word)).flatten();
        let mut stable = told.unwrap_or_else(|| stable_word(word));
        if after_number && let Some(one) = stable.strip_suffix('s').filter(|one| one.len() > 2) {
            // "1 failure", "2 failures".
            stable = one.to_owned();
        }
        tells_values = tells_a_value(word, bare);
        words.push(stable);
    }
    normalised(&words.join(" "))
}

/// Whether a number that follows this word says what is wrong.
fn tells_a_value(word: &str, bare: &str) -> bool {
    let lower = bare.to_ascii_lowercase();
    let is_exception = bare.ends_with("Error") && word.ends_with(':');
    is_exception || BEFORE_VALUES.contains(&lower.as_str()) || COMPARISONS.contains(&word)
}

fn is_number(word: &str) -> bool {
    word.contains(|sign: char| sign.is_ascii_digit()) && !word.contains(char::is_alphabetic)
}

/// A number that says what is wrong, in digits that the normal form leaves alone.
fn kept_value(word: &str) -> Option<String> {
    let number = word.trim_matches(|sign: char| sign.is_ascii_punctuation());
    let is_value = !number.is_empty() && number.len() <= MAX_DIGITS && number.bytes().all(|byte| byte.is_ascii_digit());
    is_value.then(|| protected(word))
}

/// A word without what differs from time to time.
fn stable_word(word: &str) -> String {
    let parts = word.split_inclusive(['\'', '"', '`', '(', ')', '[', ']', ',', ';', '=']);
    parts.map(stable_part).collect()
}

fn stable_part(part: &str) -> String {
    let is_path = part.contains('/') && !part.contains("://");
    let part = if is_path { file_name(part) } else { part };
    if is_random_id(part) {
        return VARIABLE.to_owned();
    }
    let mut stable = String::new();
    let mut run = String::new();
    let mut before = None;
    for sign in part.chars() {
        if sign.is_alphanumeric() {
            run.push(sign);
        } else {
            stable.push_str(&stable_run(&std::mem::take(&mut run), before));
            stable.push(sign);
            before = Some(sign);
        }
    }
    stable.push_str(&stable_run(&run, before));
    stable
}

/// Whether it is an id such as `550e8400-e29b-41d4-a716-446655440000`.
fn is_random_id(part: &str) -> bool {
    let bare = part.trim_matches(|sign: char| sign.is_ascii_punctuation());
    bare.len() >= MIN_RANDOM_ID && bare.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-')
}

/// A run of letters and digits without what differs from time to time.
fn stable_run(run: &str, before: Option<char>) -> String {
    let digits = run.bytes().filter(u8::is_ascii_digit).count();
    if digits == 0 {
        let is_digest = run.len() >= 2 * MIN_DIGEST && run.bytes().all(|byte| byte.is_ascii_hexdigit());
        return if is_digest { VARIABLE.to_owned() } else { run.to_owned() };
    }
    let is_digest = run.len() >= MIN_DIGEST && run.bytes().all(|byte| byte.is_ascii_hexdigit());
    let begins_as_number = run.starts_with(|sign: char| sign.is_ascii_digit());
    let is_name = if begins_as_number {
        // `test_2` is another test than `test_1`; `thread-2` is the same as `thread-1`.
        before == Some('_') && digits == run.len() && digits <= MAX_DIGITS
    } else {
        digits <= MAX_DIGITS_IN_NAME && !is_random(run)
    };
    if is_digest || !is_name {
        VARIABLE.to_owned()
    } else {
        protected(run)
    }
}

/// Whether letters and digits alternate as only chance makes them: `Ab3xY2`.
fn is_random(run: &str) -> bool {
    let kinds = || run.bytes().map(|byte| byte.is_ascii_digit());
    kinds().zip(kinds().skip(1)).filter(|(one, next)| one != next).count() >= 3
}

/// Digits as the normal form leaves them alone: those of another script.
fn protected(text: &str) -> String {
    let wide = |sign: char| {
        sign.to_digit(10)
            .and_then(|digit| char::from_u32(u32::from('０') + digit))
    };
    text.chars().map(|sign| wide(sign).unwrap_or(sign)).collect()
}

/// The name at the end of a path, and what stands behind it; folders differ from place to place. What lies right in a folder
/// for temporary files has no name of its own.
fn file_name(path: &str) -> &str {
    let is_temporary = TEMPORARY
        .iter()
        .filter_map(|folder| path.strip_prefix(folder))
        .any(|below| !below.trim_end_matches('/').contains('/'));
    if is_temporary { VARIABLE } else { last_of(path) }
}

fn last_of(path: &str) -> &str {
    let path = path.trim_end_matches(['/', '\\']);
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}

#[cfg(test)]
#[path = "signature_tests.rs"]
mod tests;
