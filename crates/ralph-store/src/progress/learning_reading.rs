//! Reading lessons.

use std::cell::{Cell, RefCell};

use ralph_model::{Facts, Learning, LearningId, LearningKind, LearningSource, LearningStatus, TaskId, TaskType};
use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension, Row};

use super::Store;
use super::columns::{count_at, from_json, lossy_at, time_at, time_in, word_at, word_in};
use super::learning_terms::text_and_tags;
use crate::StoreError;

/// A lesson that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{id} holds what cannot be read: {why}")]
pub struct UnreadableLearning {
    /// Its id, as far as that can be read.
    pub id: String,
    /// What it holds.
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

    /// What a person is told where others were looked at, and it was not.
    #[must_use]
    pub fn passed_over(&self) -> String {
        format!("{self}; it was passed over, and `ralph learnings verify` tells what mends it")
    }

    /// The lesson that an error is about.
    pub(super) fn in_error(error: &rusqlite::Error) -> Option<&Self> {
        match error {
            rusqlite::Error::FromSqlConversionFailure(_, _, what) => what.downcast_ref(),
            _ => None,
        }
    }
}

/// What a column holds, in words.
fn type_word(found: Type) -> &'static str {
    match found {
        Type::Null => "nothing",
        Type::Integer => "a whole number",
        Type::Real => "a number",
        Type::Text => "a text",
        Type::Blob => "bytes that are no text",
    }
}

/// Lessons that were passed over because they cannot be read: where many are looked at, one must not hide the others.
#[derive(Debug, Default)]
pub(super) struct PassedOver {
    met: RefCell<Vec<UnreadableLearning>>,
    /// How many of them were told.
    told: Cell<usize>,
}

impl Store {
    /// The lessons that were passed over because they cannot be read; each once, however often it is met and this is asked.
    #[must_use]
    pub fn newly_unreadable_learnings(&self) -> Vec<UnreadableLearning> {
        let met = self.passed_over.met.borrow();
        let told = self.passed_over.told.replace(met.len());
        met.iter().skip(told).cloned().collect()
    }

    /// What was read of a lesson, where there is one and it can be read. One that cannot is noted.
    pub(super) fn passing_over<T>(&self, read: rusqlite::Result<T>) -> rusqlite::Result<Option<T>> {
        if let Some(lesson) = read.as_ref().err().and_then(UnreadableLearning::in_error) {
            let mut met = self.passed_over.met.borrow_mut();
            if !met.contains(lesson) {
                met.push(lesson.clone());
            }
        }
        if_readable(read)
    }

    /// Reads every lesson, and notes those that cannot be read.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn note_unreadable_learnings(&self) -> Result<(), StoreError> {
        self.sql((|| {
            let mut statement = self.connection.prepare_cached("SELECT * FROM learnings ORDER BY seq")?;
            let mut rows = statement.query([])?;
            while let Some(row) = rows.next()? {
                self.passing_over(read_learning(row))?;
            }
            Ok(())
        })())
    }

    /// A lesson by its id.
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

    /// Every lesson, the oldest first.
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

/// The numbers behind a lesson. Those that cannot be read are none: they must not hide the lesson.
fn facts(row: &Row<'_>) -> rusqlite::Result<Option<Facts>> {
    let json: Option<String> = row.get("facts")?;
    Ok(json.and_then(|json| serde_json::from_str(&json).ok()))
}

/// A lesson; an error names it.
pub(super) fn read_learning(row: &Row<'_>) -> rusqlite::Result<Learning> {
    named(row, columns_of(row))
}

/// A lesson, where there is one and it can be read.
pub(super) fn if_readable<T>(read: rusqlite::Result<T>) -> rusqlite::Result<Option<T>> {
    match read {
        Err(error) if UnreadableLearning::in_error(&error).is_some() => Ok(None),
        read => read.optional(),
    }
}

/// The types that the columns of lessons have by their table, in its order, and whether each may hold nothing.
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

    /// A lesson all of whose columns hold what they may, also those that nobody reads here. SQLite writes nothing of a row of
    /// which one does not. An error names it.
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

/// The words of its text, a space between each two.
pub(super) fn read_text(row: &Row<'_>) -> rusqlite::Result<String> {
    let text = || Ok(text_and_tags(row.get_ref("terms")?.as_str()?).0.to_owned());
    named(row, text())
}

/// What was read of a lesson; an error names it, unless it is the database that cannot be read.
pub(super) fn named<T>(row: &Row<'_>, read: rusqlite::Result<T>) -> rusqlite::Result<T> {
    read.map_err(|error| match error {
        rusqlite::Error::SqliteFailure(..) => error,
        error => {
            let lesson = UnreadableLearning::of(row, &error);
            rusqlite::Error::FromSqlConversionFailure(0, Type::Text, lesson.into())
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
