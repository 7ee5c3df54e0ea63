//! Queries for terms: which entries contain a term, and how many.

use rusqlite::OptionalExtension;

use super::{Index, IndexError};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TermScope {
    /// Memories and guardrails.
    NoteFiles,
    Knowledge,
    All,
}

impl TermScope {
    /// SQL expression for the number of entries with a term.
    fn counted(self) -> &'static str {
        match self {
            Self::NoteFiles => "entries",
            Self::Knowledge => "knowledge",
            Self::All => "entries + knowledge",
        }
    }
}

/// A term that at least one entry contains.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownTerm {
    pub term: String,
    pub number: u32,
    /// Number of entries that contain it.
    pub entries: u64,
}

impl Index {
    /// Returns a term if any of these entries contains it.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub fn term(&self, term: &str, holders: TermScope) -> Result<Option<KnownTerm>, IndexError> {
        let counted = holders.counted();
        let sql = format!("SELECT number, {counted} FROM terms WHERE term = ?1 AND {counted} > 0");
        let found = self.connection.prepare_cached(&sql).and_then(|mut statement| {
            let read = |row: &rusqlite::Row<'_>| {
                Ok(KnownTerm {
                    term: term.to_owned(),
                    number: row.get(0)?,
                    entries: row.get::<_, i64>(1)?.cast_unsigned(),
                })
            };
            statement.query_row([term], read).optional()
        });
        self.sql(found)
    }

    /// Visits every term that one of these entries contains.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub fn all_terms(&self, holders: TermScope, visit: &mut dyn FnMut(KnownTerm)) -> Result<(), IndexError> {
        let counted = holders.counted();
        let sql = format!("SELECT term, number, {counted} FROM terms WHERE {counted} > 0 ORDER BY term");
        let all = self.connection.prepare_cached(&sql).and_then(|mut statement| {
            let mut rows = statement.query([])?;
            while let Some(row) = rows.next()? {
                visit(KnownTerm {
                    term: row.get(0)?,
                    number: row.get(1)?,
                    entries: row.get::<_, i64>(2)?.cast_unsigned(),
                });
            }
            Ok(())
        });
        self.sql(all)
    }

    /// Visits the numbers of the entries that contain a term.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub fn entries_with(&self, term: u32, visit: &mut dyn FnMut(i64)) -> Result<(), IndexError> {
        self.walk_holders("SELECT rowid FROM words WHERE words MATCH ?1", term, visit)
    }

    /// Visits the row numbers that an FTS5 query returns for a term.
    pub(super) fn walk_holders(&self, sql: &str, term: u32, visit: &mut dyn FnMut(i64)) -> Result<(), IndexError> {
        let walked = self.connection.prepare_cached(sql).and_then(|mut statement| {
            let mut rows = statement.query([format!("\"{term}\"")])?;
            while let Some(row) = rows.next()? {
                visit(row.get(0)?);
            }
            Ok(())
        });
        self.sql(walked)
    }
}
