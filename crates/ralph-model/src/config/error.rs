//! What is wrong with a configuration, each fault in one line: where, which key, what it is, what is allowed.

use std::fmt;

use super::Kind;
use crate::preview;

/// How many columns of a wrong value or name are shown.
const SHOWN_COLUMNS: usize = 60;

/// How many columns of the parser's complaint are shown.
const COMPLAINT_COLUMNS: usize = 160;

/// Why a configuration cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// The file is no TOML.
    #[error("{place}:{column}: this is not TOML: {message}")]
    Syntax {
        /// Where it stops being TOML.
        place: Place,
        /// The character of that line, from 1.
        column: usize,
        /// What the parser says.
        message: String,
    },
    /// A key holds what it may not hold.
    #[error("{place}: {refusal}")]
    Value {
        /// Where it is set.
        place: Place,
        /// What is wrong with it.
        refusal: Refusal,
    },
}

impl ConfigError {
    /// The text stops being TOML here, as the parser says.
    pub(super) fn syntax(place: Place, column: usize, complaint: &str) -> Self {
        let message = preview(complaint.trim(), COMPLAINT_COLUMNS);
        Self::Syntax { place, column, message }
    }
}

/// Where something was set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// In a line of a file.
    Line {
        /// The file as it is named in messages.
        path: String,
        /// The line, from 1.
        line: usize,
    },
    /// In an environment variable.
    Variable(String),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line { path, line } => write!(f, "{path}:{line}"),
            Self::Variable(name) => f.write_str(name),
        }
    }
}

/// A value that a key may not hold.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{key} is {value}; allowed is {allowed}")]
pub struct Refusal {
    key: String,
    value: String,
    allowed: String,
}

impl Refusal {
    /// This key may not hold the value written like this.
    pub(super) fn value(key: &str, written: &str, kind: Kind) -> Self {
        Self {
            key: shown(key),
            value: shown(written),
            allowed: kind.to_string(),
        }
    }

    /// This name stands for a table, so it may not hold the value written like this.
    pub(super) fn not_a_table(name: &str, written: &str) -> Self {
        Self {
            key: shown(name),
            value: shown(written),
            allowed: "a table of keys".to_owned(),
        }
    }

    /// There is no such key.
    pub(super) fn unknown(key: &str) -> Self {
        Self {
            key: shown(key),
            value: "not a known key".to_owned(),
            allowed: "what the reference lists".to_owned(),
        }
    }
}

/// A key or section that has no effect where it is. The rest of the file counts, so it is no error; `doctor` makes it one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// Where it is set.
    pub place: Place,
    /// Its name: `[section]` or `section.key`.
    pub unknown: String,
    /// Why it has no effect.
    pub hint: Hint,
}

/// Why a name has no effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hint {
    /// This name is near.
    Nearest(String),
    /// None is near; these exist.
    Known(Vec<&'static str>),
    /// Only the user's own configuration may set it.
    UserOnly,
}

impl Warning {
    /// An unknown name as it was written.
    pub(super) fn new(place: Place, unknown: &str, hint: Hint) -> Self {
        Self {
            place,
            unknown: shown(unknown),
            hint,
        }
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { place, unknown, hint } = self;
        match hint {
            Hint::Nearest(name) => write!(f, "{place}: {unknown} is not known; did you mean {name}?"),
            Hint::Known(names) => write!(f, "{place}: {unknown} is not known; known: {}", names.join(", ")),
            Hint::UserOnly => write!(
                f,
                "{place}: {unknown} has no effect here; only your own configuration may set it"
            ),
        }
    }
}

/// Text of a file as it may stand in a message: one line, short, nothing that moves the cursor.
fn shown(text: &str) -> String {
    preview(text.trim(), SHOWN_COLUMNS)
}
