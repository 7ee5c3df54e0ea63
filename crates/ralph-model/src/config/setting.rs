//! Converts TOML values to the Rust type of each key.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use toml_edit::{Array, Value};

use super::quantity::{MAX_DAYS, duration_of_seconds, parse_bytes, parse_duration};
use super::{Bytes, CommandLine};
use crate::{NoteKind, Tags, Tokens};

/// The type of a key's values. Its display completes the message "expected …".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Boolean,
    /// A whole number up to this maximum.
    Count(u64),
    /// A number that may have a fraction.
    Amount,
    Text,
    Time,
    Size,
    /// A command as a string or a list of strings.
    Command,
    List,
    Tags,
    OneOf(&'static [&'static str]),
    /// A list of these words.
    AnyOf(&'static [&'static str]),
    /// Ignored.
    Anything,
}

impl Kind {
    /// Parses the text of an environment variable.
    ///
    /// Strings need no TOML quotes in a variable; other types are written as in TOML.
    pub(super) fn value_of_text(self, text: &str) -> Option<Value> {
        let in_brackets = text.starts_with('[');
        match self {
            Self::Boolean | Self::Count(_) | Self::Amount => text.parse().ok(),
            Self::List | Self::Tags | Self::AnyOf(_) | Self::Command if in_brackets => text.parse().ok(),
            Self::List | Self::Tags | Self::AnyOf(_) => {
                let items = text.split(',').map(str::trim).filter(|item| !item.is_empty());
                Some(Value::Array(Array::from_iter(items)))
            }
            Self::Text | Self::Time | Self::Size | Self::Command | Self::OneOf(_) | Self::Anything => {
                Some(Value::from(text))
            }
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Boolean => f.write_str("true or false"),
            Self::Count(most) if *most > u64::from(u32::MAX) => f.write_str("a whole number, 0 or more"),
            Self::Count(most) => write!(f, "a whole number from 0 to {most}"),
            Self::Amount => f.write_str("a number, 0 or more"),
            Self::Text => f.write_str("a non-blank string"),
            Self::Time => write!(
                f,
                r#"a time such as "2h", "1h30m" or "120s", or whole seconds, up to {MAX_DAYS} days"#
            ),
            Self::Size => f.write_str(r#"a size such as "64 KiB", "256 MiB" or "2 GiB", or whole bytes"#),
            Self::Command => f.write_str("a command line or a list of its words"),
            Self::List => f.write_str("a list of non-blank strings"),
            Self::Tags => f.write_str("a list of tags without commas or vertical bars"),
            Self::OneOf(words) => write_words(f, words),
            Self::AnyOf(words) => {
                f.write_str("a list of ")?;
                write_words(f, words)
            }
            Self::Anything => f.write_str("anything"),
        }
    }
}

pub(super) trait Setting: Sized {
    const KIND: Kind;

    /// Reads a value; `None` if it is not a [`Setting::KIND`].
    fn read(value: &Value) -> Option<Self>;

    /// Whether the value means unlimited.
    fn is_off(&self) -> bool {
        false
    }
}

impl<T: Setting> Setting for Option<T> {
    const KIND: Kind = T::KIND;

    fn read(value: &Value) -> Option<Self> {
        T::read(value).map(|inner| if inner.is_off() { None } else { Some(inner) })
    }
}

impl Setting for bool {
    const KIND: Kind = Kind::Boolean;

    fn read(value: &Value) -> Option<Self> {
        value.as_bool()
    }
}

impl Setting for u32 {
    const KIND: Kind = Kind::Count(Self::MAX as u64);

    fn read(value: &Value) -> Option<Self> {
        Self::try_from(value.as_integer()?).ok()
    }

    fn is_off(&self) -> bool {
        *self == 0
    }
}

impl Setting for u64 {
    const KIND: Kind = Kind::Count(Self::MAX);

    fn read(value: &Value) -> Option<Self> {
        Self::try_from(value.as_integer()?).ok()
    }

    fn is_off(&self) -> bool {
        *self == 0
    }
}

impl Setting for f64 {
    const KIND: Kind = Kind::Amount;

    fn read(value: &Value) -> Option<Self> {
        let amount = match value.as_integer() {
            Some(whole) => Self::from(u32::try_from(whole).ok()?),
            None => value.as_float()?,
        };
        (amount.is_finite() && amount >= 0.0).then_some(amount)
    }

    fn is_off(&self) -> bool {
        *self <= 0.0
    }
}

impl Setting for Tokens {
    const KIND: Kind = u32::KIND;

    fn read(value: &Value) -> Option<Self> {
        u32::read(value).map(Self)
    }
}

impl Setting for Bytes {
    const KIND: Kind = Kind::Size;

    fn read(value: &Value) -> Option<Self> {
        match value.as_integer() {
            Some(bytes) => u64::try_from(bytes).ok().map(Self),
            None => parse_bytes(value.as_str()?),
        }
    }

    fn is_off(&self) -> bool {
        self.0 == 0
    }
}

impl Setting for Duration {
    const KIND: Kind = Kind::Time;

    fn read(value: &Value) -> Option<Self> {
        match value.as_integer() {
            Some(seconds) => duration_of_seconds(u64::try_from(seconds).ok()?),
            None => parse_duration(value.as_str()?),
        }
    }

    fn is_off(&self) -> bool {
        self.is_zero()
    }
}

impl Setting for String {
    const KIND: Kind = Kind::Text;

    fn read(value: &Value) -> Option<Self> {
        value.as_str().filter(|text| !text.trim().is_empty()).map(Self::from)
    }
}

impl Setting for PathBuf {
    const KIND: Kind = Kind::Text;

    fn read(value: &Value) -> Option<Self> {
        String::read(value).map(Self::from)
    }
}

impl Setting for CommandLine {
    const KIND: Kind = Kind::Command;

    fn read(value: &Value) -> Option<Self> {
        if value.is_array() {
            // Arguments may be empty, as in `--append ""`, but not the program.
            let words: Vec<String> = strings(value)?
                .map(|word| word.map(String::from))
                .collect::<Option<_>>()?;
            return words
                .first()
                .is_some_and(|program| !program.trim().is_empty())
                .then_some(Self::Words(words));
        }
        String::read(value).map(Self::Line)
    }
}

impl Setting for Vec<String> {
    const KIND: Kind = Kind::List;

    fn read(value: &Value) -> Option<Self> {
        strings(value)?
            .map(|item| item.filter(|text| !text.trim().is_empty()).map(String::from))
            .collect()
    }
}

impl Setting for Vec<PathBuf> {
    const KIND: Kind = Kind::List;

    fn read(value: &Value) -> Option<Self> {
        let paths = Vec::<String>::read(value)?;
        Some(paths.into_iter().map(PathBuf::from).collect())
    }
}

impl Setting for Vec<NoteKind> {
    const KIND: Kind = Kind::AnyOf(&["pattern", "decision", "fix", "context"]);

    fn read(value: &Value) -> Option<Self> {
        strings(value)?.map(|item| item?.parse().ok()).collect()
    }
}

impl Setting for Tags {
    const KIND: Kind = Kind::Tags;

    fn read(value: &Value) -> Option<Self> {
        let items: Vec<&str> = strings(value)?.collect::<Option<_>>()?;
        Self::new(items).ok()
    }
}

/// The items of a list; `None` for each that is not a string.
fn strings(value: &Value) -> Option<impl Iterator<Item = Option<&str>>> {
    Some(value.as_array()?.iter().map(Value::as_str))
}

/// `"a", "b" or "c"`.
fn write_words(f: &mut fmt::Formatter<'_>, words: &[&str]) -> fmt::Result {
    for (at, word) in words.iter().enumerate() {
        match at {
            0 => {}
            _ if at + 1 == words.len() => f.write_str(" or ")?,
            _ => f.write_str(", ")?,
        }
        write!(f, "{word:?}")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_note_kinds_are_listed() {
        let words: Vec<&str> = NoteKind::ALL.into_iter().map(NoteKind::word).collect();
        assert_eq!(Vec::<NoteKind>::KIND, Kind::AnyOf(words.leak()));
    }

    #[test]
    fn strings_in_variables_need_no_quotes() {
        for (kind, text, expected) in [
            (Kind::Count(9), "2_000", "2000"),
            (Kind::Boolean, "true", "true"),
            (Kind::Text, "true", "\"true\""),
            (Kind::Time, "120", "\"120\""),
            (Kind::List, "a, b,,c", r#"["a", "b", "c"]"#),
            (Kind::List, r#"["a,b"]"#, r#"["a,b"]"#),
            (Kind::Command, "run a, b", "\"run a, b\""),
            (Kind::Command, r#"["run", ""]"#, r#"["run", ""]"#),
        ] {
            let value = kind.value_of_text(text).unwrap();
            assert_eq!(value.to_string().replace('_', ""), expected, "{kind:?} {text:?}");
        }
        for (kind, text) in [(Kind::Count(9), "many"), (Kind::Boolean, "TRUE"), (Kind::List, "[a")] {
            assert!(kind.value_of_text(text).is_none(), "{kind:?} {text:?}");
        }
    }
}
