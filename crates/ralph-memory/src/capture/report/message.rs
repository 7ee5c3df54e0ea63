//! A line of a message without what differs from time to time, but with the values that say what is wrong.

use std::collections::BTreeSet;

use super::normal::normalised_within;
use super::telling::{is_numbered, names_what_failed};
use super::values::{stable_values, values_begin};

/// What stands for something that differs from time to time: a number, which the normal form of a line leaves out.
pub(super) const VARIABLE: &str = "0";
/// The longest number that may say what is wrong: an exit code, a status, a result. Longer ones are moments and sizes.
const MAX_VALUE_DIGITS: usize = 6;
/// The longest number in a name that is part of it: `test_2`, `E0308`.
const MAX_NUMBER_OF_NAME: usize = 3;
const MAX_DIGITS_IN_NAME: usize = 4;
/// How much of a line counts, in characters: more than a report shows of one.
const MAX_CHARACTERS: usize = 1000;
/// From how many characters on a word of hexadecimal digits is a digest.
const MIN_DIGEST: usize = 7;
/// The same of one that has dashes in it.
const MIN_RANDOM_ID: usize = 16;

/// Words before a number that says what is wrong; also names before `=` and `:`.
const BEFORE_VALUES: [&str; 17] = [
    "left", "right", "expected", "actual", "received", "got", "want", "wanted", "equal", "code", "status", "error",
    "signal", "http", "returned", "returns", "response",
];
/// The same of two words.
const PHRASES: [(&str, &str); 3] = [("instead", "of"), ("but", "was"), ("but", "were")];
/// Signs between numbers that are compared.
pub(super) const COMPARISONS: [&str; 8] = ["!=", "==", "!==", "===", "<", ">", "<=", ">="];
/// What a route stands behind, which looks like a path of a file.
const METHODS: [&str; 7] = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"];
/// Units of time, which may stand by themselves behind a number.
pub(super) const UNITS: [&str; 15] = [
    "ns", "us", "µs", "ms", "s", "m", "h", "min", "mins", "sec", "secs", "second", "seconds", "minute", "minutes",
];
/// Days and months as dates have them.
pub(super) const DAYS_AND_MONTHS: [&str; 19] = [
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

/// What the words before one say of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    /// Nothing.
    Any,
    /// If it is a number, that says what is wrong.
    Value,
    /// If it is a number, or made of some, it is a name.
    Name,
    /// It is a route.
    Route,
}

/// The lines of a message, each in the form of [`message_line`]. Where it shows how two values differ, the lines with a sign
/// before them are values.
pub(super) fn message_lines(message: &str) -> BTreeSet<String> {
    let shows_difference = message.lines().any(|line| of_difference(line) == Some('+'));
    let stable = |line: &str| match of_difference(line).filter(|_| shows_difference) {
        Some(_) => normalised_within(&stable_values(line), MAX_CHARACTERS),
        None => message_line(line),
    };
    message.lines().map(stable).filter(|line| !line.is_empty()).collect()
}

/// The sign before a line that only one of two values has; pytest sets it in behind an `E`.
fn of_difference(line: &str) -> Option<char> {
    let line = line.strip_prefix("E ").unwrap_or(line).trim_start();
    let mut signs = line.chars();
    let sign = signs.next().filter(|sign| matches!(sign, '+' | '-'))?;
    signs.next().filter(|next| next.is_whitespace()).map(|_| sign)
}

/// A line of a message in a form that is the same again when only folders, line numbers, addresses, times and counts differ.
/// The values of an assertion are part of it.
pub(super) fn message_line(line: &str) -> String {
    let (told, values) = line.split_at(values_begin(line).unwrap_or(line.len()));
    let stable = [stable_words(told), stable_values(values)].join(" ");
    normalised_within(&stable, MAX_CHARACTERS)
}

/// What is told without values.
fn stable_words(line: &str) -> String {
    let names = names_what_failed(line);
    let mut words: Vec<String> = Vec::new();
    let mut role = Role::Any;
    let mut before = "";
    let mut coming = line.split_whitespace().peekable();
    while let Some(word) = coming.next() {
        let bare = bare(word);
        let after_number = words.last().is_some_and(|last| is_number(last));
        if (after_number && UNITS.contains(&bare)) || DAYS_AND_MONTHS.contains(&bare) {
            continue;
        }
        let next = coming.peek().copied().unwrap_or_default();
        let is_duration = UNITS.contains(&self::bare(next));
        let mut stable = match role {
            Role::Value | Role::Name | Role::Any if is_duration => stable_word(word, Role::Any),
            Role::Any if COMPARISONS.contains(&next) => stable_word(word, Role::Value),
            role => stable_word(word, role),
        };
        if after_number && let Some(one) = stable.strip_suffix('s').filter(|one| one.len() > 2) {
            // "1 failure", "2 failures".
            stable = one.to_owned();
        }
        role = match role_after(before, word) {
            Role::Any if names && is_numbered(bare) => Role::Name,
            role => role,
        };
        before = bare;
        words.push(stable);
    }
    words.join(" ")
}

/// A word without what stands around it.
pub(super) fn bare(word: &str) -> &str {
    word.trim_matches(|sign: char| sign.is_ascii_punctuation() && sign != '_')
}

/// What these two words say of the next one.
fn role_after(before: &str, word: &str) -> Role {
    let bare = bare(word);
    let (before, lower) = (before.to_ascii_lowercase(), bare.to_ascii_lowercase());
    if word.starts_with('\'') {
        // `thread 'got' (77)`: the name of something.
        return Role::Any;
    }
    let is_exception = bare.ends_with("Error") && word.ends_with(':');
    let is_told = is_exception
        || BEFORE_VALUES.contains(&lower.as_str())
        || PHRASES.contains(&(before.as_str(), lower.as_str()))
        || COMPARISONS.contains(&word)
        // `HTTP/1.1 404`.
        || lower.starts_with("http/");
    if is_told {
        Role::Value
    } else if METHODS.contains(&bare) {
        Role::Route
    } else {
        Role::Any
    }
}

fn is_number(word: &str) -> bool {
    word.contains(|sign: char| sign.is_ascii_digit()) && !word.contains(char::is_alphabetic)
}

/// Whether it is a number as values are: `404`, `12.5`, `1,550`, `1.0.1`.
fn is_value(part: &str) -> bool {
    let is_digits = |digits: &str| {
        (1..=MAX_VALUE_DIGITS).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit())
    };
    bare(part).split(['.', ',']).all(is_digits)
}

/// Whether it is a name made of numbers: `7`, `2100-02-29`.
fn is_numbered_name(word: &str) -> bool {
    bare(word).split('-').all(is_value)
}

/// A word without what differs from time to time.
fn stable_word(word: &str, role: Role) -> String {
    if (role == Role::Value && is_value(word)) || (role == Role::Name && is_numbered_name(word)) {
        return protected(word);
    }
    let mut stable = String::new();
    let mut seen = String::new();
    for part in word.split_inclusive(['\'', '"', '`', '(', ')', '[', ']', ',', ';', '=']) {
        // `got pid=77`: a name of its own says more than the word before.
        let is_next = role == Role::Value && !seen.contains('=');
        let is_told = is_value(part) && (is_next || is_labelled(&seen, part));
        if is_told || holds_label(part) {
            stable.push_str(&protected(part));
        } else {
            stable.push_str(&stable_part(part, role == Role::Route));
        }
        seen.push_str(part);
    }
    stable
}

/// Whether a value has a name right before it: `status=` before `404`, `"code"` before `:1`.
fn is_labelled(seen: &str, value: &str) -> bool {
    let is_sign = |sign: char| !sign.is_alphanumeric();
    let named = seen.trim_end_matches(is_sign);
    let between = seen.strip_prefix(named).unwrap_or_default();
    let is_linked = between.contains(['=', ':']) || value.starts_with([':', '=']);
    let name = named.rsplit(is_sign).next().unwrap_or_default();
    is_linked && BEFORE_VALUES.contains(&name.to_ascii_lowercase().as_str())
}

/// Whether it is a name with its value: `expected:<200>`.
fn holds_label(part: &str) -> bool {
    let is_told = |name: &str| BEFORE_VALUES.contains(&bare(name).to_ascii_lowercase().as_str());
    part.split_once(':')
        .is_some_and(|(name, value)| is_told(name) && is_value(value))
}

/// A part of a word without what differs from time to time.
pub(super) fn stable_part(part: &str, is_route: bool) -> String {
    let is_path = part.contains('/') && !part.contains("://") && !is_route;
    let part = if is_path { stable_path(part) } else { part };
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
pub(super) fn is_random_id(part: &str) -> bool {
    let bare = part.trim_matches(|sign: char| sign.is_ascii_punctuation());
    bare.len() >= MIN_RANDOM_ID && bare.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-')
}

/// A run of letters and digits without what differs from time to time.
pub(super) fn stable_run(run: &str, before: Option<char>) -> String {
    let digits = run.bytes().filter(u8::is_ascii_digit).count();
    if digits == 0 {
        let is_digest = run.len() >= 2 * MIN_DIGEST && run.bytes().all(|byte| byte.is_ascii_hexdigit());
        return if is_digest { VARIABLE.to_owned() } else { run.to_owned() };
    }
    let begins_as_number = run.starts_with(|sign: char| sign.is_ascii_digit());
    let is_name = if begins_as_number {
        // `test_2` is another test than `test_1`; `thread-2` is the same as `thread-1`.
        before == Some('_') && digits == run.len() && digits <= MAX_NUMBER_OF_NAME
    } else {
        digits <= MAX_DIGITS_IN_NAME && !is_random(run)
    };
    if is_digest(run) || !is_name {
        VARIABLE.to_owned()
    } else {
        protected(run)
    }
}

/// Whether a run of letters and digits is a digest.
pub(super) fn is_digest(run: &str) -> bool {
    run.len() >= MIN_DIGEST && run.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Whether letters and digits alternate as only chance makes them: `Ab3xY2`.
fn is_random(run: &str) -> bool {
    let kinds = || run.bytes().map(|byte| byte.is_ascii_digit());
    kinds().zip(kinds().skip(1)).filter(|(one, next)| one != next).count() >= 3
}

/// Digits as the normal form leaves them alone: those of another script.
pub(super) fn protected(text: &str) -> String {
    let wide = |sign: char| {
        sign.to_digit(10)
            .and_then(|digit| char::from_u32(u32::from('０') + digit))
    };
    text.chars().map(|sign| wide(sign).unwrap_or(sign)).collect()
}

/// The name of a file at the end of a path, and what stands behind it; folders differ from place to place. What lies right in
/// a folder for temporary files has no name of its own. What names no file may be a route, and stays.
fn stable_path(path: &str) -> &str {
    let temporary = TEMPORARY.iter().find_map(|folder| path.strip_prefix(folder));
    let is_date = || path.split('/').any(|part| DAYS_AND_MONTHS.contains(&part));
    match temporary {
        Some(below) if below.trim_end_matches('/').contains('/') => last_of(path),
        Some(_) => VARIABLE,
        None if has_ending(last_of(path)) => last_of(path),
        // `16/Nov/2026`.
        None if is_date() => VARIABLE,
        None => path,
    }
}

/// Whether a name, maybe with a line behind it, ends as names of files do.
fn has_ending(name: &str) -> bool {
    let name = name.split(':').next().unwrap_or(name);
    name.rsplit_once('.').is_some_and(|(stem, ending)| {
        !stem.is_empty()
            && ending.starts_with(|sign: char| sign.is_ascii_alphabetic())
            && bare(ending).bytes().all(|byte| byte.is_ascii_alphanumeric())
    })
}

/// The name at the end of a path.
pub(super) fn last_of(path: &str) -> &str {
    let path = path.trim_end_matches(['/', '\\']);
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}
