//! Reads learnings from rows.

use std::cell::{Cell, RefCell};

use ralph_model::{Facts, Learning, LearningId, LearningKind, LearningSource, LearningStatus, TaskId, TaskType};
use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension, Row};

use super::Store;
use super::columns::{count_at, from_json, lossy_at, time_at, time_in, word_at, word_in};
use super::learning_terms::text_and_tags;
use crate::StoreError;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{id} cannot be read: {why}")]
pub struct UnreadableLearning {
    /// Its id, as far as it is readable.
    pub id: String,
    pub why: String,
}

impl UnreadableLearning {
    fn of(row: &Row<'_>, error: &rusqlite::Error) -> Self {
        Self {
            id: lossy_at(row, "id").unwrap_or_default(),
            why: match error {
                rusqlite::Error::FromSqlConversionFailure(_, _, what) => what.to_string(),
                rusqlite::Error::InvalidColumnType(_, column, found) => {
                    format!("{} as the {column}", type_word(*found))
                }
                other => other.to_string(),
            },
        }
    }

    /// Warning for a user when the learning was skipped.
    #[must_use]
    pub fn skipped_warning(&self) -> String {
        format!("{self}; it was skipped, and `ralph learnings verify` shows how to fix it")
    }

    /// Returns the unreadable learning that caused an error.
    pub(super) fn in_error(error: &rusqlite::Error) -> Option<&Self> {
        match error {
            rusqlite::Error::FromSqlConversionFailure(_, _, what) => what.downcast_ref(),
            _ => None,
        }
    }
}

fn type_word(found: Type) -> &'static str {
    match found {
        Type::Null => "nothing",
        Type::Integer => "a whole number",
        Type::Real => "a number",
        Type::Text => "a text",
        Type::Blob => "bytes that are not text",
    }
}

/// Unreadable learnings that were skipped, so that one does not hide all others.
#[derive(Debug, Default)]
pub(super) struct SkippedLearnings {
    met: RefCell<Vec<UnreadableLearning>>,
    /// How many of them were reported.
    told: Cell<usize>,
}

impl Store {
    /// Returns unreadable learnings that were skipped since the last call. Each is reported once.
    #[must_use]
    pub fn newly_unreadable_learnings(&self) -> Vec<UnreadableLearning> {
        let met = self.passed_over.met.borrow();
        let told = self.passed_over.told.replace(met.len());
        met.iter().skip(told).cloned().collect()
    }

    /// Turns an unreadable learning into `None` and records it.
    pub(super) fn skip_unreadable<T>(&self, read: rusqlite::Result<T>) -> rusqlite::Result<Option<T>> {
        if let Some(learning) = read.as_ref().err().and_then(UnreadableLearning::in_error) {
            let mut met = self.passed_over.met.borrow_mut();
            if !met.contains(learning) {
                met.push(learning.clone());
            }
        }
        if_readable(read)
    }

    /// Reads every learning to record the unreadable ones.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn note_unreadable_learnings(&self) -> Result<(), StoreError> {
        self.sql((|| {
            let mut statement = self.connection.prepare_cached("SELECT * FROM learnings ORDER BY seq")?;
            let mut rows = statement.query([])?;
            while let Some(row) = rows.next()? {
                self.skip_unreadable(read_learning(row))?;
            }
            Ok(())
        })())
    }

    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn learning(&self, id: &LearningId) -> Result<Option<Learning>, StoreError> {
        let found = self
            .connection
            .prepare_cached("SELECT * FROM learnings WHERE id = ?1")
            .and_then(|mut statement| statement.query_row([id.as_str()], read_learning).optional());
        self.sql(found)
    }

    /// Returns every learning, oldest first.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn learnings(&self) -> Result<Vec<Learning>, StoreError> {
        let found = self
            .connection
            .prepare_cached("SELECT * FROM learnings ORDER BY seq")
            .and_then(|mut statement| statement.query_map([], read_learning)?.collect());
        self.sql(found)
    }
}

/// Unreadable facts become `None`, so that they do not hide the learning.
fn facts(row: &Row<'_>) -> rusqlite::Result<Option<Facts>> {
    let json: Option<String> = row.get("facts")?;
    Ok(json.and_then(|json| serde_json::from_str(&json).ok()))
}

/// Errors name the learning.
pub(super) fn read_learning(row: &Row<'_>) -> rusqlite::Result<Learning> {
    named(row, columns_of(row))
}

/// Returns `None` for an unreadable learning.
pub(super) fn if_readable<T>(read: rusqlite::Result<T>) -> rusqlite::Result<Option<T>> {
    match read {
        Err(error) if UnreadableLearning::in_error(&error).is_some() => Ok(None),
        read => read.optional(),
    }
}

/// Declared types of the columns in table order, and whether each is nullable.
pub(super) struct AllowedTypes(Vec<(String, Type, bool)>);

impl AllowedTypes {
    pub(super) fn of(connection: &Connection) -> rusqlite::Result<Self> {
        let mut statement =
            connection.prepare_cached("SELECT name, type, \"notnull\" OR pk FROM pragma_table_info('learnings')")?;
        let columns = statement.query_map([], |row| {
            let allowed = match row.get_ref(1)?.as_str()? {
                "INTEGER" => Type::Integer,
                "REAL" => Type::Real,
                _ => Type::Text,
            };
            Ok((row.get(0)?, allowed, !row.get::<_, bool>(2)?))
        })?;
        Ok(Self(columns.collect::<rusqlite::Result<_>>()?))
    }

    /// Reads a learning and checks every column against its declared type, also columns that are not used here: SQLite
    /// refuses to write a row that violates one. Errors name the learning.
    pub(super) fn read(&self, row: &Row<'_>) -> rusqlite::Result<Learning> {
        for (at, (name, allowed, may_be_nothing)) in self.0.iter().enumerate() {
            let found = row.get_ref(name.as_str())?.data_type();
            if found != *allowed && !(*may_be_nothing && found == Type::Null) {
                let error = rusqlite::Error::InvalidColumnType(at, name.clone(), found);
                return named(row, Err(error));
            }
        }
        read_learning(row)
    }
}

/// The terms of its text, separated by spaces.
pub(super) fn read_text(row: &Row<'_>) -> rusqlite::Result<String> {
    let text = || Ok(text_and_tags(row.get_ref("terms")?.as_str()?).0.to_owned());
    named(row, text())
}

/// Adds the learning to an error, unless the database itself cannot be read.
pub(super) fn named<T>(row: &Row<'_>, read: rusqlite::Result<T>) -> rusqlite::Result<T> {
    read.map_err(|error| match error {
        rusqlite::Error::SqliteFailure(..) => error,
        error => {
            let learning = UnreadableLearning::of(row, &error);
            rusqlite::Error::FromSqlConversionFailure(0, Type::Text, learning.into())
        }
    })
}

fn columns_of(row: &Row<'_>) -> rusqlite::Result<Learning> {
    let list = |column: &str| -> rusqlite::Result<Vec<String>> { from_json(&row.get::<_, String>(column)?, column) };
    Ok(Learning {
        id: word_at(row, "id", LearningId::parse)?,
        kind: word_at(row, "kind", LearningKind::parse)?,
        category: row.get("category")?,
        task_type: word_in(row, "task_type", TaskType::parse)?,
        content: row.get("content")?,
        tags: list("tags")?,
        confidence: row.get("confidence")?,
        success_rate: row.get("success_rate")?,
        first_success_rate: row.get("first_success_rate")?,
        use_count: count_at(row, "use_count")?,
        first_use_count: count_at(row, "first_use_count")?,
        successes: count_at(row, "successes")?,
        source: word_at(row, "source", LearningSource::parse)?,
        source_loops: list("source_loops")?,
        task: word_in(row, "task", TaskId::parse)?,
        journal: row.get("journal")?,
        status: word_at(row, "status", LearningStatus::parse)?,
        reason: row.get("reason")?,
        superseded_by: word_in(row, "superseded_by", LearningId::parse)?,
        examples: list("examples")?,
        facts: facts(row)?,
        foreign_id: row.get("foreign_id")?,
        last_used_at: time_in(row, "last_used_at")?,
        created_at: time_at(row, "created_at")?,
        updated_at: time_at(row, "updated_at")?,
    })
}
