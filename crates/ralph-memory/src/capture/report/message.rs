//! Normalises a line of a message: removes what varies between runs and keeps the values that explain the failure.

use std::collections::BTreeSet;

use super::failure_lines::{is_numbered, names_failed_item};
use super::normal::normalised_within;
use super::values::{stable_values, values_begin};

/// Replaces a varying value: a number, which normalisation removes.
pub(super) const VARIABLE: &str = "0";
/// The maximum digits of a relevant number, such as an exit code or a status. Longer ones are times and sizes.
const MAX_VALUE_DIGITS: usize = 6;
/// The maximum digits of a number that is part of a name: `test_2`, `E0308`.
const MAX_NUMBER_OF_NAME: usize = 3;
const MAX_DIGITS_IN_NAME: usize = 4;
/// The maximum length of a line; longer than what reports show.
const MAX_CHARACTERS: usize = 1000;
/// The minimum length of a word of hex digits that counts as a digest.
const MIN_DIGEST: usize = 7;
/// The same for a word with dashes.
const MIN_RANDOM_ID: usize = 16;

/// Words before a relevant number, and names before `=` and `:`.
const VALUE_LABELS: [&str; 17] = [
    "left", "right", "expected", "actual", "received", "got", "want", "wanted", "equal", "code", "status", "error",
    "signal", "http", "returned", "returns", "response",
];
/// The same with two words.
const PHRASES: [(&str, &str); 3] = [("instead", "of"), ("but", "was"), ("but", "were")];
/// Operators between compared numbers.
pub(super) const COMPARISONS: [&str; 8] = ["!=", "==", "!==", "===", "<", ">", "<=", ">="];
/// A route after one of these looks like a file path.
const METHODS: [&str; 7] = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"];
/// Units of time that may follow a number as separate words.
pub(super) const UNITS: [&str; 15] = [
    "ns", "us", "µs", "ms", "s", "m", "h", "min", "mins", "sec", "secs", "second", "seconds", "minute", "minutes",
];
/// Days and months in dates.
pub(super) const DAYS_AND_MONTHS: [&str; 19] = [
    "Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun", "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep",
    "Oct", "Nov", "Dec",
];
/// Folders with randomly named entries.
const TEMPORARY: [&str; 6] = [
    "/tmp/",
    "/var/tmp/",
    "/private/tmp/",
    "/var/folders/",
    "/private/var/folders/",
    "/dev/shm/",
];

/// What the preceding words reveal about a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Any,
    /// If it is a number, it is relevant.
    Value,
    /// If it is a number or consists of numbers, it is a name.
    Name,
    Route,
}

/// The lines of a message, each normalised by [`message_line`]. In a diff, lines with a sign are values.
pub(super) fn message_lines(message: &str) -> BTreeSet<String> {
    let is_diff = message.lines().any(|line| diff_sign(line) == Some('+'));
    let stable = |line: &str| match diff_sign(line).filter(|_| is_diff) {
        Some(_) => normalised_within(&stable_values(line), MAX_CHARACTERS),
        None => message_line(line),
    };
    message.lines().map(stable).filter(|line| !line.is_empty()).collect()
}

/// The sign of a diff line; pytest indents it after an `E`.
fn diff_sign(line: &str) -> Option<char> {
    let line = line.strip_prefix("E ").unwrap_or(line).trim_start();
    let mut chars = line.chars();
    let sign = chars.next().filter(|sign| matches!(sign, '+' | '-'))?;
    chars.next().filter(|next| next.is_whitespace()).map(|_| sign)
}

/// A line in a form that is stable if only folders, line numbers, addresses, times and counts differ. Values of an
/// assertion are kept.
pub(super) fn message_line(line: &str) -> String {
    let (prose, values) = line.split_at(values_begin(line).unwrap_or(line.len()));
    let stable = [stable_words(prose), stable_values(values)].join(" ");
    normalised_within(&stable, MAX_CHARACTERS)
}

/// The part of a line without values.
fn stable_words(line: &str) -> String {
    let names = names_failed_item(line);
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

/// A word without surrounding punctuation.
pub(super) fn bare(word: &str) -> &str {
    word.trim_matches(|c: char| c.is_ascii_punctuation() && c != '_')
}

/// What these two words reveal about the next one.
fn role_after(before: &str, word: &str) -> Role {
    let bare = bare(word);
    let (before, lower) = (before.to_ascii_lowercase(), bare.to_ascii_lowercase());
    if word.starts_with('\'') {
        // `thread 'got' (77)`: the name of a thread.
        return Role::Any;
    }
    let is_exception = bare.ends_with("Error") && word.ends_with(':');
    let is_value_label = is_exception
        || VALUE_LABELS.contains(&lower.as_str())
        || PHRASES.contains(&(before.as_str(), lower.as_str()))
        || COMPARISONS.contains(&word)
        // `HTTP/1.1 404`.
        || lower.starts_with("http/");
    if is_value_label {
        Role::Value
    } else if METHODS.contains(&bare) {
        Role::Route
    } else {
        Role::Any
    }
}

fn is_number(word: &str) -> bool {
    word.contains(|c: char| c.is_ascii_digit()) && !word.contains(char::is_alphabetic)
}

/// Whether it is a number that may be relevant: `404`, `12.5`, `1,550`, `1.0.1`.
fn is_value(part: &str) -> bool {
    let is_digits = |digits: &str| {
        (1..=MAX_VALUE_DIGITS).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit())
    };
    bare(part).split(['.', ',']).all(is_digits)
}

/// Whether it is a name of numbers: `7`, `2100-02-29`.
fn is_numbered_name(word: &str) -> bool {
    bare(word).split('-').all(is_value)
}

/// A word without what varies between runs.
fn stable_word(word: &str, role: Role) -> String {
    if (role == Role::Value && is_value(word)) || (role == Role::Name && is_numbered_name(word)) {
        return protected(word);
    }
    let mut stable = String::new();
    let mut seen = String::new();
    for part in word.split_inclusive(['\'', '"', '`', '(', ')', '[', ']', ',', ';', '=']) {
        // `got pid=77`: a label of its own takes precedence over the word before.
        let is_next = role == Role::Value && !seen.contains('=');
        let is_value_label = is_value(part) && (is_next || is_labelled(&seen, part));
        if is_value_label || is_labelled_value(part) {
            stable.push_str(&protected(part));
        } else {
            stable.push_str(&stable_part(part, role == Role::Route));
        }
        seen.push_str(part);
    }
    stable
}

/// Whether a value follows a label: `status=` before `404`, `"code"` before `:1`.
fn is_labelled(seen: &str, value: &str) -> bool {
    let is_separator = |c: char| !c.is_alphanumeric();
    let named = seen.trim_end_matches(is_separator);
    let between = seen.strip_prefix(named).unwrap_or_default();
    let is_linked = between.contains(['=', ':']) || value.starts_with([':', '=']);
    let name = named.rsplit(is_separator).next().unwrap_or_default();
    is_linked && VALUE_LABELS.contains(&name.to_ascii_lowercase().as_str())
}

/// Whether it is a label with its value: `expected:<200>`.
fn is_labelled_value(part: &str) -> bool {
    let is_value_label = |name: &str| VALUE_LABELS.contains(&bare(name).to_ascii_lowercase().as_str());
    part.split_once(':')
        .is_some_and(|(name, value)| is_value_label(name) && is_value(value))
}

/// A part of a word without what varies between runs.
pub(super) fn stable_part(part: &str, is_route: bool) -> String {
    let is_path = part.contains('/') && !part.contains("://") && !is_route;
    let part = if is_path { stable_path(part) } else { part };
    if is_random_id(part) {
        return VARIABLE.to_owned();
    }
    let mut stable = String::new();
    let mut run = String::new();
    let mut before = None;
    for c in part.chars() {
        if c.is_alphanumeric() {
            run.push(c);
        } else {
            stable.push_str(&stable_run(&std::mem::take(&mut run), before));
            stable.push(c);
            before = Some(c);
        }
    }
    stable.push_str(&stable_run(&run, before));
    stable
}

/// Whether it is an id such as `550e8400-e29b-41d4-a716-446655440000`.
pub(super) fn is_random_id(part: &str) -> bool {
    let bare = part.trim_matches(|c: char| c.is_ascii_punctuation());
    bare.len() >= MIN_RANDOM_ID && bare.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-')
}

/// A run of letters and digits without what varies between runs.
pub(super) fn stable_run(run: &str, before: Option<char>) -> String {
    let digits = run.bytes().filter(u8::is_ascii_digit).count();
    if digits == 0 {
        let is_digest = run.len() >= 2 * MIN_DIGEST && run.bytes().all(|byte| byte.is_ascii_hexdigit());
        return if is_digest { VARIABLE.to_owned() } else { run.to_owned() };
    }
    let begins_as_number = run.starts_with(|c: char| c.is_ascii_digit());
    let is_name = if begins_as_number {
        // `test_2` is another test than `test_1`, but `thread-2` may be the same as `thread-1`.
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

pub(super) fn is_digest(run: &str) -> bool {
    run.len() >= MIN_DIGEST && run.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Whether letters and digits alternate randomly: `Ab3xY2`.
fn is_random(run: &str) -> bool {
    let kinds = || run.bytes().map(|byte| byte.is_ascii_digit());
    kinds().zip(kinds().skip(1)).filter(|(one, next)| one != next).count() >= 3
}

/// Protects digits from normalisation by replacing them with full-width ones.
pub(super) fn protected(text: &str) -> String {
    let wide = |c: char| c.to_digit(10).and_then(|digit| char::from_u32(u32::from('０') + digit));
    text.chars().map(|c| wide(c).unwrap_or(c)).collect()
}

/// The file name at the end of a path with its suffix, because folders vary. An entry directly in a temporary folder
/// has no stable name. A path without a file name may be a route and is kept.
fn stable_path(path: &str) -> &str {
    let temporary = TEMPORARY.iter().find_map(|folder| path.strip_prefix(folder));
    let is_date = || path.split('/').any(|part| DAYS_AND_MONTHS.contains(&part));
    match temporary {
        Some(below) if below.trim_end_matches('/').contains('/') => last_component(path),
        Some(_) => VARIABLE,
        None if has_extension(last_component(path)) => last_component(path),
        // `16/Nov/2026`.
        None if is_date() => VARIABLE,
        None => path,
    }
}

/// Whether a name, possibly followed by a line number, has a file extension.
fn has_extension(name: &str) -> bool {
    let name = name.split(':').next().unwrap_or(name);
    name.rsplit_once('.').is_some_and(|(stem, extension)| {
        !stem.is_empty()
            && extension.starts_with(|c: char| c.is_ascii_alphabetic())
            && bare(extension).bytes().all(|byte| byte.is_ascii_alphanumeric())
    })
}

/// The last component of a path.
pub(super) fn last_component(path: &str) -> &str {
    let path = path.trim_end_matches(['/', '\\']);
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}
