//! Configuration errors and warnings, each one line: place, key, value and what is expected.

use std::fmt;

use super::Kind;
use crate::preview;

/// The maximum width of a quoted value or name.
const SHOWN_COLUMNS: usize = 60;

/// The maximum width of the parser's message.
const PARSER_MESSAGE_COLUMNS: usize = 160;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    #[error("{place}:{column}: invalid TOML: {message}")]
    Syntax {
        place: Place,
        /// Counted in characters from 1.
        column: usize,
        message: String,
    },
    #[error("{place}: {refusal}")]
    Value { place: Place, refusal: Refusal },
}

impl ConfigError {
    /// A syntax error with the parser's message.
    pub(super) fn syntax(place: Place, column: usize, parser_message: &str) -> Self {
        let message = preview(parser_message.trim(), PARSER_MESSAGE_COLUMNS);
        Self::Syntax { place, column, message }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    Line {
        /// The file as named in messages.
        path: String,
        /// Counted from 1.
        line: usize,
    },
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

/// A value that is not valid for its key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{key} is {value}; expected {allowed}")]
pub struct Refusal {
    key: String,
    value: String,
    allowed: String,
}

impl Refusal {
    /// An invalid value.
    pub(super) fn value(key: &str, written: &str, kind: Kind) -> Self {
        Self {
            key: shown(key),
            value: shown(written),
            allowed: kind.to_string(),
        }
    }

    /// A value where a table belongs.
    pub(super) fn not_a_table(name: &str, written: &str) -> Self {
        Self {
            key: shown(name),
            value: shown(written),
            allowed: "a table".to_owned(),
        }
    }

    /// An unknown key.
    pub(super) fn unknown(key: &str) -> Self {
        Self {
            key: shown(key),
            value: "not a known key".to_owned(),
            allowed: "a key from the configuration reference".to_owned(),
        }
    }
}

/// A key or section without effect. The rest of the file is used, so this is only an error in `doctor`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    pub place: Place,
    /// `[section]` or `section.key`.
    pub unknown: String,
    pub hint: Hint,
}

/// Why a name has no effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hint {
    Nearest(String),
    /// No name is close; these exist.
    Known(Vec<&'static str>),
    /// Only the user configuration may set it.
    UserOnly,
}

impl Warning {
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
                "{place}: {unknown} is ignored here; only your user configuration may set it"
            ),
        }
    }
}

/// Text from a file, as one short line without control characters.
fn shown(text: &str) -> String {
    preview(text.trim(), SHOWN_COLUMNS)
}
