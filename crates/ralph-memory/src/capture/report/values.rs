//! The values of an assertion, which say what is wrong: they are kept whole, also within lists, records and texts. Only what
//! differs from time to time is left out of them: addresses, moments, how long something took, numbers of processes and ports.

use super::message::{
    COMPARISONS, DAYS_AND_MONTHS, UNITS, VARIABLE, bare, is_digest, is_random_id, protected, stable_part, stable_run,
};

/// Words after which a line tells values.
const TELLING: [&str; 5] = ["expected", "actual", "got", "want", "wanted"];
/// The same of words that have other meanings, with `:` or `=` behind them.
const NAMES: [&str; 3] = ["left", "right", "received"];
/// Exceptions that tell of two values.
const ASSERTIONS: [&str; 4] = ["AssertionError", "AssertionFailedError", "ComparisonFailure", "assert"];
/// What a number is behind these names that is other each time.
const PASSING: [&str; 24] = [
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
/// The same where nothing but a blank stands between: `line 5`. The field `line: 5` is a value.
const PLACES: [&str; 5] = ["line", "column", "col", "char", "position"];
/// The longest whole number that is a value. Longer ones are moments.
const MAX_DIGITS: usize = 9;
/// The most digits behind the point of one. More are what is left of a measurement, or of counting in binary.
const MAX_DECIMALS: usize = 6;

/// Where the values of a line begin; none where it tells none.
pub(super) fn values_begin(line: &str) -> Option<usize> {
    if is_compared(line) {
        return Some(0);
    }
    let is_sign = |sign: char| !(sign.is_alphanumeric() || sign == '_');
    let mut at = 0;
    for run in line.split(is_sign) {
        let end = at + run.len();
        let before = line.get(..at).and_then(|text| text.chars().next_back());
        let after = line.get(end..).unwrap_or_default();
        if !run.is_empty() && tells_values(before, run, after) {
            return Some(end);
        }
        // The sign that ended the run may be longer than a byte.
        at = end + after.chars().next().map_or(0, char::len_utf8);
    }
    None
}

/// Whether values stand behind a word between these.
fn tells_values(before: Option<char>, word: &str, after: &str) -> bool {
    let lower = word.to_ascii_lowercase();
    let is_among = |words: &[&str]| words.contains(&lower.as_str());
    let is_first = before.is_none_or(char::is_whitespace);
    let is_linked = after.trim_start_matches(['"', '\'', ' ']).starts_with([':', '=']) && !after.starts_with("::");
    if is_linked {
        let is_named = is_first || before.is_some_and(|sign| matches!(sign, '"' | '\'' | '{' | '(' | ',' | '.'));
        is_named && (is_among(&TELLING) || is_among(&NAMES) || ASSERTIONS.contains(&word))
    } else {
        let is_assertion = ASSERTIONS.contains(&word) && after.starts_with([' ', ':']);
        is_first && (is_assertion || (is_among(&TELLING) && !after.starts_with(['\'', '/', '.', '-'])))
    }
}

/// `[1, 2] !== [1, 0]`; not a line of a source with its number before it, and not the name of the macro that compares.
fn is_compared(line: &str) -> bool {
    let (number, _) = line.split_once('|').unwrap_or_default();
    let is_numbered = !number.trim().is_empty() && number.trim().bytes().all(|byte| byte.is_ascii_digit());
    let is_named = line.contains("`left ") || line.starts_with("thread '");
    // What is only less or more is often how long something took.
    let mut words = line.split_whitespace();
    let has_sign = words.any(|word| COMPARISONS.contains(&word) && word.contains('=') && !word.contains(['<', '>']));
    has_sign && !is_numbered && !is_named
}

/// Values without what differs from time to time.
pub(super) fn stable_values(text: &str) -> String {
    let mut stable: Vec<String> = Vec::new();
    let mut name = String::new();
    let mut in_moment = false;
    let mut coming = text.split_whitespace().peekable();
    while let Some(word) = coming.next() {
        let next = coming.peek().copied().unwrap_or_default();
        let bare_word = bare(word);
        let is_day = DAYS_AND_MONTHS.contains(&bare_word) && text.split_whitespace().any(has_clock);
        let is_moment = is_day || has_clock(word) || has_clock(next) || (in_moment && is_digits(bare_word));
        let is_duration = is_digits(&bare_word.replace('.', "")) && UNITS.contains(&bare(next));
        stable.push(if is_day {
            String::new()
        } else if is_moment && word.contains(|sign: char| sign.is_ascii_digit()) || is_duration {
            VARIABLE.to_owned()
        } else {
            stable_word(word, &mut name)
        });
        // `Nov 16`, `12:24:56 2026`.
        in_moment = is_day || has_clock(word);
        name.push(' ');
    }
    stable.join(" ")
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether a time of the day stands in it: `12:24:56`, `2026-11-16T12:24:56Z`.
fn has_clock(word: &str) -> bool {
    let parts: Vec<&str> = word.split(':').collect();
    parts.windows(3).any(|parts| match parts {
        [hours, minutes, seconds] => {
            hours.ends_with(|sign: char| sign.is_ascii_digit())
                && minutes.len() == 2
                && is_digits(minutes)
                && seconds.get(..2).is_some_and(is_digits)
        }
        _ => false,
    })
}

/// A word of values. The name is what stands before its numbers, and how that is linked to them.
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

/// Whether it is an address on a network, or a line of a file: `127.0.0.1:8080`, `localhost:8080`, `cart.py:3`.
fn is_place(part: &str) -> bool {
    part.split_once(':').is_some_and(|(host, number)| {
        let is_host = host == "localhost" || host.trim_matches('.').contains('.');
        is_host && number.starts_with(|sign: char| sign.is_ascii_digit())
    })
}

/// A part of a word, number by number and name by name.
fn stable_tokens(part: &str, name: &mut String) -> String {
    let mut stable = String::new();
    let mut rest = part;
    let mut before = None;
    while let Some(sign) = rest.chars().next() {
        let length = match sign {
            sign if sign.is_ascii_digit() => number_length(rest),
            sign if sign.is_alphanumeric() => rest.find(|sign: char| !sign.is_alphanumeric()).unwrap_or(rest.len()),
            sign => sign.len_utf8(),
        };
        let (token, after) = rest.split_at(length);
        if sign.is_ascii_digit() {
            stable.push_str(&if is_passing(name) {
                VARIABLE.to_owned()
            } else {
                stable_number(token)
            });
            name.clear();
        } else if sign.is_alphanumeric() {
            stable.push_str(&stable_run(token, before));
            token.clone_into(name);
        } else {
            stable.push(sign);
            name.push(sign);
        }
        before = Some(sign);
        rest = after;
    }
    stable
}

/// How long the number is that a text begins with, with its decimals and its unit.
fn number_length(text: &str) -> usize {
    let mut before_point = false;
    let mut end = text.len();
    for (at, sign) in text.char_indices() {
        let goes_on = sign.is_alphanumeric() || (sign == '.' && !before_point);
        if !goes_on {
            end = at;
            break;
        }
        before_point = sign == '.';
    }
    text.get(..end).unwrap_or(text).trim_end_matches('.').len()
}

/// Whether a number behind this name is other each time.
fn is_passing(name: &str) -> bool {
    let is_sign = |sign: char| !sign.is_alphanumeric();
    let bare = name.trim_end_matches(is_sign);
    let lower = bare.to_ascii_lowercase();
    let is_blank = name.ends_with(' ') && name.trim_end() == bare;
    // `serverPort`.
    let is_last = |word: &&str| {
        let (first, rest) = word.split_at(1);
        bare.ends_with(&format!("{}{rest}", first.to_ascii_uppercase()))
    };
    PASSING.contains(&lower.as_str()) || PASSING.iter().any(is_last) || (is_blank && PLACES.contains(&lower.as_str()))
}

/// A number with its unit, without what only a measurement has.
fn stable_number(number: &str) -> String {
    let end = number
        .find(|sign: char| !(sign.is_ascii_digit() || sign == '.'))
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
