//! What of another tool is what here: as far as one import has seen it, and on record for those to come.

use std::collections::HashMap;

use rusqlite::{OptionalExtension, params};

use super::importing::Import;

/// What can be known from an earlier import.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Feature,
    Task,
}

impl Kind {
    fn word(self) -> &'static str {
        match self {
            Self::Feature => "feature",
            Self::Task => "task",
        }
    }
}

/// Whether something that was imported is still here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stands {
    Here,
    Gone,
}

/// Ids here by ids there.
#[derive(Debug)]
pub(super) struct Matched<T> {
    ids: HashMap<String, (T, Stands)>,
}

impl<T> Default for Matched<T> {
    fn default() -> Self {
        Self { ids: HashMap::new() }
    }
}

impl<T> Matched<T> {
    pub(super) fn insert(&mut self, there: &str, id: T, stands: Stands) {
        self.ids.insert(there.to_owned(), (id, stands));
    }

    /// What something is here, if it is.
    pub(super) fn here(&self, there: &str) -> Option<&T> {
        let (id, stands) = self.ids.get(there)?;
        (*stands == Stands::Here).then_some(id)
    }

    /// What something is or was here.
    pub(super) fn any(&self, there: &str) -> Option<&T> {
        self.ids.get(there).map(|(id, _)| id)
    }
}

impl Import<'_> {
    /// What something became when it was imported before.
    pub(super) fn imported(&self, kind: Kind, there: &str, made: &str) -> rusqlite::Result<Option<String>> {
        let sql = "SELECT id FROM imported WHERE tool = ?1 AND kind = ?2 AND foreign_id = ?3 AND made_at = ?4";
        self.transaction
            .prepare_cached(sql)?
            .query_row([self.tool, kind.word(), there, made], |row| row.get(0))
            .optional()
    }

    /// What something became whose moment nobody tells any more.
    pub(super) fn last_imported(&self, kind: Kind, there: &str) -> rusqlite::Result<Option<String>> {
        let sql =
            "SELECT id FROM imported WHERE tool = ?1 AND kind = ?2 AND foreign_id = ?3 ORDER BY made_at DESC LIMIT 1";
        self.transaction
            .prepare_cached(sql)?
            .query_row([self.tool, kind.word(), there], |row| row.get(0))
            .optional()
    }

    /// Writes down what something becomes.
    pub(super) fn record(&self, (kind, id): (Kind, &str), there: &str, made: &str) -> rusqlite::Result<()> {
        let sql = "INSERT INTO imported (tool, kind, foreign_id, made_at, id) VALUES (?1, ?2, ?3, ?4, ?5)";
        self.transaction
            .prepare_cached(sql)?
            .execute(params![self.tool, kind.word(), there, made, id])
            .map(drop)
    }
}
