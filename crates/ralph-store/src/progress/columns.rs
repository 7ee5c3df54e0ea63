//! Conversion between columns and our types: times, words, counts, lists as JSON. A value that no version of ralph
//! writes is an error that names it.

use jiff::Timestamp;
use rusqlite::Row;
use rusqlite::types::Type;

pub(super) use ralph_model::format_timestamp as moment;

/// The time in a column.
pub(super) fn time_at(row: &Row<'_>, column: &str) -> rusqlite::Result<Timestamp> {
    let text: String = row.get(column)?;
    text.parse()
        .map_err(|error: jiff::Error| unreadable(format!("the time {text:?} ({error})")))
}

/// The time in a nullable column.
pub(super) fn time_in(row: &Row<'_>, column: &str) -> rusqlite::Result<Option<Timestamp>> {
    match row.get::<_, Option<String>>(column)? {
        Some(_) => time_at(row, column).map(Some),
        None => Ok(None),
    }
}

/// A value stored as a word, such as an id or a status.
pub(super) fn word_at<T>(row: &Row<'_>, column: &str, parse: impl Fn(&str) -> Option<T>) -> rusqlite::Result<T> {
    let text: String = row.get(column)?;
    parsed(&text, column, parse)
}

/// The same for a nullable column.
pub(super) fn word_in<T>(
    row: &Row<'_>,
    column: &str,
    parse: impl Fn(&str) -> Option<T>,
) -> rusqlite::Result<Option<T>> {
    let text: Option<String> = row.get(column)?;
    text.map(|text| parsed(&text, column, parse)).transpose()
}

/// Parses the text of a column.
pub(super) fn parsed<T>(text: &str, column: &str, parse: impl Fn(&str) -> Option<T>) -> rusqlite::Result<T> {
    parse(text).ok_or_else(|| unreadable(format!("{text:?} as the {column}")))
}

/// A number that is never negative.
pub(super) fn number_at(row: &Row<'_>, column: &str) -> rusqlite::Result<u64> {
    row.get::<_, i64>(column).map(i64::cast_unsigned)
}

/// A small number that is never negative.
pub(super) fn count_at(row: &Row<'_>, column: &str) -> rusqlite::Result<u32> {
    let number: i64 = row.get(column)?;
    u32::try_from(number).map_err(|_out_of_range| unreadable(format!("{number} as the {column}")))
}

pub(super) fn to_json<T: serde::Serialize + ?Sized>(value: &T) -> rusqlite::Result<String> {
    serde_json::to_string(value).map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))
}

pub(super) fn from_json<T: serde::de::DeserializeOwned>(text: &str, column: &str) -> rusqlite::Result<T> {
    serde_json::from_str(text).map_err(|error| unreadable(format!("the {column} ({error})")))
}

/// The error for a value that no version of ralph writes.
pub(super) fn unreadable(what: String) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(0, Type::Text, what.into())
}
