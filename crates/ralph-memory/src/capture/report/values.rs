//! Normalises the values of an assertion. They explain the failure and are kept, also in lists, records and strings;
//! only what varies between runs is removed: addresses, times, durations, process ids and ports.

use super::message::{
    COMPARISONS, DAYS_AND_MONTHS, UNITS, VARIABLE, bare, is_digest, is_random_id, protected, stable_part, stable_run,
};

/// Words that are followed by values.
const VALUE_WORDS: [&str; 5] = ["expected", "actual", "got", "want", "wanted"];
/// Ambiguous words, followed by `:` or `=`.
const NAMES: [&str; 3] = ["left", "right", "received"];
/// Exceptions that report two values.
const ASSERTIONS: [&str; 4] = ["AssertionError", "AssertionFailedError", "ComparisonFailure", "assert"];
/// Names of numbers that vary between runs.
const VARYING: [&str; 24] = [
    "pid",
    "ppid",
    "tid",
    "thread",
    "threadid",
    "process",
    "worker",
    "port",
    "seed",
    "time",
    "timestamp",
    "elapsed",
    "duration",
    "took",
    "mtime",
    "nanos",
    "millis",
    "micros",
    "secs",
    "sec",
    "nsec",
    "ms",
    "us",
    "ns",
];
/// The same if only a space is in between: `line 5`. The field `line: 5` is a value.
const PLACES: [&str; 5] = ["line", "column", "col", "char", "position"];
/// The maximum length of a whole number that is a value. Longer ones are timestamps.
const MAX_DIGITS: usize = 9;
/// The maximum number of decimals of a value. More come from measurements or binary rounding.
const MAX_DECIMALS: usize = 6;

/// Where the values of a line begin; `None` if it has none.
pub(super) fn values_begin(line: &str) -> Option<usize> {
    if is_compared(line) {
        return Some(0);
    }
    let is_separator = |c: char| !(c.is_alphanumeric() || c == '_');
    let mut at = 0;
    for run in line.split(is_separator) {
        let end = at + run.len();
        let before = line.get(..at).and_then(|text| text.chars().next_back());
        let after = line.get(end..).unwrap_or_default();
        if !run.is_empty() && precedes_values(before, run, after) {
            return Some(end);
        }
        // The separator after the run may be longer than a byte.
        at = end + after.chars().next().map_or(0, char::len_utf8);
    }
    None
}

/// Whether values follow this word.
fn precedes_values(before: Option<char>, word: &str, after: &str) -> bool {
    let lower = word.to_ascii_lowercase();
    let is_among = |words: &[&str]| words.contains(&lower.as_str());
    let is_first = before.is_none_or(char::is_whitespace);
    let is_linked = after.trim_start_matches(['"', '\'', ' ']).starts_with([':', '=']) && !after.starts_with("::");
    if is_linked {
        let is_named = is_first || before.is_some_and(|c| matches!(c, '"' | '\'' | '{' | '(' | ',' | '.'));
        is_named && (is_among(&VALUE_WORDS) || is_among(&NAMES) || ASSERTIONS.contains(&word))
    } else {
        let is_assertion = ASSERTIONS.contains(&word) && after.starts_with([' ', ':']);
        is_first && (is_assertion || (is_among(&VALUE_WORDS) && !after.starts_with(['\'', '/', '.', '-'])))
    }
}

/// `[1, 2] !== [1, 0]`; but not a numbered source line or the name of the comparing macro.
fn is_compared(line: &str) -> bool {
    let (number, _) = line.split_once('|').unwrap_or_default();
    let is_numbered = !number.trim().is_empty() && number.trim().bytes().all(|byte| byte.is_ascii_digit());
    let is_named = line.contains("`left ") || line.starts_with("thread '");
    // An inequality is often about a duration.
    let mut words = line.split_whitespace();
    let has_sign = words.any(|word| COMPARISONS.contains(&word) && word.contains('=') && !word.contains(['<', '>']));
    has_sign && !is_numbered && !is_named
}

/// Values without what varies between runs.
pub(super) fn stable_values(text: &str) -> String {
    let mut stable: Vec<String> = Vec::new();
    let mut name = String::new();
    let mut in_time = false;
    let mut coming = text.split_whitespace().peekable();
    while let Some(word) = coming.next() {
        let next = coming.peek().copied().unwrap_or_default();
        let bare_word = bare(word);
        let is_day = DAYS_AND_MONTHS.contains(&bare_word) && text.split_whitespace().any(has_clock);
        let is_time = is_day || has_clock(word) || has_clock(next) || (in_time && is_digits(bare_word));
        let is_duration = is_digits(&bare_word.replace('.', "")) && UNITS.contains(&bare(next));
        stable.push(if is_day {
            String::new()
        } else if is_time && word.contains(|c: char| c.is_ascii_digit()) || is_duration {
            VARIABLE.to_owned()
        } else {
            stable_word(word, &mut name)
        });
        // `Nov 16`, `12:24:56 2026`.
        in_time = is_day || has_clock(word);
        name.push(' ');
    }
    stable.join(" ")
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether it contains a time of day: `12:24:56`, `2026-11-16T12:24:56Z`.
fn has_clock(word: &str) -> bool {
    let parts: Vec<&str> = word.split(':').collect();
    parts.windows(3).any(|parts| match parts {
        [hours, minutes, seconds] => {
            hours.ends_with(|c: char| c.is_ascii_digit())
                && minutes.len() == 2
                && is_digits(minutes)
                && seconds.get(..2).is_some_and(is_digits)
        }
        _ => false,
    })
}

/// A word of values. `name` is the label before its numbers, including the link between them.
fn stable_word(word: &str, name: &mut String) -> String {
    let mut stable = String::new();
    for part in word.split_inclusive(['\'', '"', '`', '(', ')', '[', ']', '{', '}', ',', ';', '=', '<', '>']) {
        let is_path = part.contains('/') && part.contains(char::is_alphabetic);
        if is_path || is_random_id(part) || is_place(part) {
            stable.push_str(&stable_part(part, false));
            name.clear();
        } else {
            stable.push_str(&stable_tokens(part, name));
        }
    }
    stable
}

/// Whether it is a network address or a line of a file: `127.0.0.1:8080`, `localhost:8080`, `cart.py:3`.
fn is_place(part: &str) -> bool {
    part.split_once(':').is_some_and(|(host, number)| {
        let is_host = host == "localhost" || host.trim_matches('.').contains('.');
        is_host && number.starts_with(|c: char| c.is_ascii_digit())
    })
}

fn stable_tokens(part: &str, name: &mut String) -> String {
    let mut stable = String::new();
    let mut rest = part;
    let mut before = None;
    while let Some(c) = rest.chars().next() {
        let length = match c {
            c if c.is_ascii_digit() => number_length(rest),
            c if c.is_alphanumeric() => rest.find(|c: char| !c.is_alphanumeric()).unwrap_or(rest.len()),
            c => c.len_utf8(),
        };
        let (token, after) = rest.split_at(length);
        if c.is_ascii_digit() {
            stable.push_str(&if is_varying(name) {
                VARIABLE.to_owned()
            } else {
                stable_number(token)
            });
            name.clear();
        } else if c.is_alphanumeric() {
            stable.push_str(&stable_run(token, before));
            token.clone_into(name);
        } else {
            stable.push(c);
            name.push(c);
        }
        before = Some(c);
        rest = after;
    }
    stable
}

/// The length of the number at the start of a text, with decimals and unit.
fn number_length(text: &str) -> usize {
    let mut before_point = false;
    let mut end = text.len();
    for (at, c) in text.char_indices() {
        let goes_on = c.is_alphanumeric() || (c == '.' && !before_point);
        if !goes_on {
            end = at;
            break;
        }
        before_point = c == '.';
    }
    text.get(..end).unwrap_or(text).trim_end_matches('.').len()
}

/// Whether a number with this label varies between runs.
fn is_varying(name: &str) -> bool {
    let is_separator = |c: char| !c.is_alphanumeric();
    let bare = name.trim_end_matches(is_separator);
    let lower = bare.to_ascii_lowercase();
    let is_blank = name.ends_with(' ') && name.trim_end() == bare;
    // `serverPort`.
    let is_last = |word: &&str| {
        let (first, rest) = word.split_at(1);
        bare.ends_with(&format!("{}{rest}", first.to_ascii_uppercase()))
    };
    VARYING.contains(&lower.as_str()) || VARYING.iter().any(is_last) || (is_blank && PLACES.contains(&lower.as_str()))
}

/// A number with its unit, unless it is a measurement.
fn stable_number(number: &str) -> String {
    let end = number
        .find(|c: char| !(c.is_ascii_digit() || c == '.'))
        .unwrap_or(number.len());
    let (digits, unit) = number.split_at(end);
    let is_address = digits == "0" && unit.starts_with('x');
    let is_long = digits.split('.').next().is_some_and(|whole| whole.len() > MAX_DIGITS);
    if is_address || is_long || UNITS.contains(&unit) || (!unit.is_empty() && is_digest(number)) {
        return VARIABLE.to_owned();
    }
    match digits.split_once('.') {
        Some((whole, decimals)) if decimals.len() > MAX_DECIMALS => format!("{}.{VARIABLE}{unit}", protected(whole)),
        _ => protected(number),
    }
}
