//! Asking the index for terms: how many entries hold one, and which.

use rusqlite::OptionalExtension;

use super::{Index, IndexError};

/// Whose terms are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holders {
    /// Those of the entries on the shelves.
    Shelves,
    /// Those of long notes.
    Knowledge,
    /// Those of both together.
    All,
}

impl Holders {
    /// How many hold a term, in SQL.
    fn counted(self) -> &'static str {
        match self {
            Self::Shelves => "entries",
            Self::Knowledge => "knowledge",
            Self::All => "entries + knowledge",
        }
    }
}

/// A term that at least one entry holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownTerm {
    /// The term.
    pub term: String,
    /// Its number.
    pub number: u32,
    /// How many entries hold it.
    pub entries: u64,
}

impl Index {
    /// A term, if any of these holds it.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub fn term(&self, term: &str, holders: Holders) -> Result<Option<KnownTerm>, IndexError> {
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

    /// Every term that one of these holds.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub fn all_terms(&self, holders: Holders, visit: &mut dyn FnMut(KnownTerm)) -> Result<(), IndexError> {
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

    /// The numbers of the entries that hold a term.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub fn entries_with(&self, term: u32, visit: &mut dyn FnMut(i64)) -> Result<(), IndexError> {
        self.walk_holders("SELECT rowid FROM words WHERE words MATCH ?1", term, visit)
    }

    /// Walks through the numbers that a question to FTS5 gives for a term.
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
