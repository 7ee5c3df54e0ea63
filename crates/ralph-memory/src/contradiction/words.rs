//! The words by which a sentence says yes or no, beside the negations that others ask for, too; and the few that carry no
//! subject.

use crate::negations::is_negation;

/// The negation that says how something is done, not that it must not be.
const LACK: &str = "without";

/// Words for not doing something: behind a negation they take it back.
const OMISSIONS: &[&str] = &["forget", "forgetting", "neglect", "neglecting", "omit", "omitting"];

/// Words that say plainly that it is so, or has to be.
const AFFIRMATIONS: &[&str] = &[
    "always", "do", "ensure", "must", "need", "needs", "remember", "required", "shall", "should",
];

/// Words that begin why something is so: what follows is no part of what is said.
const REASONS: &[&str] = &["because", "otherwise"];

/// Stems that nearly every piece of advice holds, whatever it is about.
const LIGHT: &[&str] = &[
    "call", "execut", "get", "give", "instead", "keep", "let", "make", "pass", "pleas", "prefer", "rather", "run",
    "set", "sure", "tri", "use", "want",
];

/// Words of which one says what the other denies. Names of commands are none: adding and removing are two things.
const OPPOSITES: &[(&[&str], &[&str])] = &[
    (&["works", "passes", "succeeds"], &["fails", "breaks"]),
    (&["before"], &["after"]),
    (
        &["enable", "enabled", "enabling"],
        &["disable", "disabled", "disabling"],
    ),
    (
        &["allow", "allowed", "allows"],
        &["deny", "denied", "disallow", "disallowed"],
    ),
    (&["true"], &["false"]),
    (&["on"], &["off"]),
    (&["more"], &["less", "fewer"]),
    (&["above"], &["below"]),
    (&["safe", "safely"], &["unsafe", "unsafely"]),
    (&["possible"], &["impossible"]),
    (&["sync", "synchronous"], &["async", "asynchronous"]),
    (&["slow", "slower"], &["fast", "faster"]),
    (&["increase", "raise"], &["decrease", "lower", "reduce"]),
    (&["mandatory"], &["optional"]),
];

/// Which of them says how something turns out.
pub(super) const WORKS_OR_FAILS: usize = 0;

/// What numbers count, in the words that they are written with.
const UNITS: &[(&str, &[&str])] = &[
    ("ms", &["ms", "millisecond", "milliseconds"]),
    ("s", &["s", "sec", "secs", "second", "seconds"]),
    ("min", &["min", "mins", "minute", "minutes"]),
    ("h", &["h", "hour", "hours"]),
    ("kb", &["kb", "kib"]),
    ("mb", &["mb", "mib"]),
    ("gb", &["gb", "gib"]),
    ("%", &["%", "percent"]),
];

/// Numbers behind these say which one is meant, not how much of it.
const COUNTED: &[&str] = &[
    "attempt", "bug", "case", "chapter", "column", "commit", "error", "exampl", "issu", "item", "iter", "learn",
    "lesson", "line", "note", "number", "phase", "pr", "row", "section", "step", "task", "test", "ticket",
];

const NUMBERS: &[(&str, &str)] = &[
    ("two", "2"),
    ("three", "3"),
    ("four", "4"),
    ("five", "5"),
    ("six", "6"),
    ("seven", "7"),
    ("eight", "8"),
    ("nine", "9"),
    ("ten", "10"),
    ("twelve", "12"),
];

/// Whether a word says that something is not to be: a warning of it needs no turning.
pub(super) fn is_plain_negation(word: &str) -> bool {
    is_negation(word) && word != LACK
}

/// Whether a word, and the one behind it, take back the negation before them: "never forget", "do not fail to".
pub(super) fn takes_back(word: &str, next: &str) -> bool {
    OMISSIONS.contains(&word) || word == "fail" && next == "to"
}

pub(super) fn is_affirmation(word: &str) -> bool {
    AFFIRMATIONS.contains(&word)
}

pub(super) fn begins_a_reason(word: &str) -> bool {
    REASONS.contains(&word)
}

pub(super) fn is_light(stem: &str) -> bool {
    LIGHT.contains(&stem)
}

/// Whether a number that follows this stem is the name of something.
pub(super) fn is_counted(stem: &str) -> bool {
    COUNTED.contains(&stem)
}

/// The pair of opposites that a word belongs to, and whether it is the second of them.
pub(super) fn side_of(word: &str) -> Option<(usize, bool)> {
    OPPOSITES.iter().enumerate().find_map(|(pair, (one, other))| {
        if one.contains(&word) {
            Some((pair, false))
        } else {
            other.contains(&word).then_some((pair, true))
        }
    })
}

/// How a unit is written that a word may be.
pub(super) fn unit(word: &str) -> Option<&'static str> {
    UNITS
        .iter()
        .find(|(_, words)| words.contains(&word))
        .map(|(unit, _)| *unit)
}

/// The digits of a number that is written as a word.
pub(super) fn digits(word: &str) -> Option<&'static str> {
    NUMBERS
        .iter()
        .find(|(name, _)| *name == word)
        .map(|(_, digits)| *digits)
}
