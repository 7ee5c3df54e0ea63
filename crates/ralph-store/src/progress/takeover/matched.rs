//! Maps original ids to ours, within one import and on record for later ones.

use std::collections::HashMap;

use rusqlite::{OptionalExtension, params};

use super::importing::Import;

/// The kinds of records that are mapped.
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

/// Whether an imported record still exists here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LocalState {
    Present,
    Deleted,
}

/// Our ids by original ids.
#[derive(Debug)]
pub(super) struct IdMap<T> {
    ids: HashMap<String, (T, LocalState)>,
}

impl<T> Default for IdMap<T> {
    fn default() -> Self {
        Self { ids: HashMap::new() }
    }
}

impl<T> IdMap<T> {
    pub(super) fn insert(&mut self, there: &str, id: T, state: LocalState) {
        self.ids.insert(there.to_owned(), (id, state));
    }

    /// Our id, if the record still exists.
    pub(super) fn here(&self, there: &str) -> Option<&T> {
        let (id, state) = self.ids.get(there)?;
        (*state == LocalState::Present).then_some(id)
    }

    /// Our id, even if the record was deleted.
    pub(super) fn any(&self, there: &str) -> Option<&T> {
        self.ids.get(there).map(|(id, _)| id)
    }
}

impl Import<'_> {
    /// The id that a record got in an earlier import.
    pub(super) fn imported(&self, kind: Kind, there: &str, made: &str) -> rusqlite::Result<Option<String>> {
        let sql = "SELECT id FROM imported WHERE tool = ?1 AND kind = ?2 AND foreign_id = ?3 AND made_at = ?4";
        self.transaction
            .prepare_cached(sql)?
            .query_row([self.tool, kind.word(), there, made], |row| row.get(0))
            .optional()
    }

    /// The id that a record got in its latest import, if its creation time is unknown.
    pub(super) fn last_imported(&self, kind: Kind, there: &str) -> rusqlite::Result<Option<String>> {
        let sql =
            "SELECT id FROM imported WHERE tool = ?1 AND kind = ?2 AND foreign_id = ?3 ORDER BY made_at DESC LIMIT 1";
        self.transaction
            .prepare_cached(sql)?
            .query_row([self.tool, kind.word(), there], |row| row.get(0))
            .optional()
    }

    /// Records the id of an imported record.
    pub(super) fn record(&self, (kind, id): (Kind, &str), there: &str, made: &str) -> rusqlite::Result<()> {
        let sql = "INSERT INTO imported (tool, kind, foreign_id, made_at, id) VALUES (?1, ?2, ?3, ?4, ?5)";
        self.transaction
            .prepare_cached(sql)?
            .execute(params![self.tool, kind.word(), there, made, id])
            .map(drop)
    }
}
