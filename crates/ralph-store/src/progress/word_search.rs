//! Full-text queries for ranking: which rows contain a word, and how many. Words are encoded by
//! [`encode_term`](super::encode_term).

use rusqlite::OptionalExtension;

use super::Store;
use super::columns::number_at;
use crate::StoreError;
use crate::index::Totals;

/// A searchable table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Searched {
    Journal,
    Learnings,
}

impl Searched {
    fn totals(self) -> &'static str {
        match self {
            Self::Journal => "SELECT entries, terms FROM journal_totals",
            Self::Learnings => "SELECT entries, terms FROM learning_totals",
        }
    }

    fn holding(self) -> &'static str {
        match self {
            Self::Journal => "SELECT entries FROM journal_terms WHERE term = ?1",
            Self::Learnings => "SELECT entries FROM learning_terms WHERE term = ?1",
        }
    }

    fn holders(self) -> &'static str {
        match self {
            Self::Journal => "SELECT rowid FROM journal_fts WHERE journal_fts MATCH ?1",
            Self::Learnings => "SELECT rowid FROM learnings_fts WHERE learnings_fts MATCH ?1",
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::Journal => "SELECT term, entries FROM journal_terms WHERE entries > 0 ORDER BY term",
            Self::Learnings => "SELECT term, entries FROM learning_terms WHERE entries > 0 ORDER BY term",
        }
    }
}

impl Store {
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn totals_of(&self, searched: Searched) -> Result<Totals, StoreError> {
        let totals = self
            .connection
            .prepare_cached(searched.totals())
            .and_then(|mut statement| {
                statement.query_row([], |row| {
                    Ok(Totals {
                        entries: number_at(row, "entries")?,
                        terms: number_at(row, "terms")?,
                    })
                })
            });
        self.sql(totals)
    }

    /// Returns the number of rows that contain a word.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn rows_holding(&self, searched: Searched, word: &str) -> Result<u64, StoreError> {
        let holding = self
            .connection
            .prepare_cached(searched.holding())
            .and_then(|mut statement| statement.query_row([word], |row| number_at(row, "entries")).optional());
        Ok(self.sql(holding)?.unwrap_or_default())
    }

    /// Visits the numbers of the rows that contain a word.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn rows_with(&self, searched: Searched, word: &str, visit: &mut dyn FnMut(i64)) -> Result<(), StoreError> {
        let walked = self
            .connection
            .prepare_cached(searched.holders())
            .and_then(|mut statement| {
                let mut rows = statement.query([format!("\"{word}\"")])?;
                while let Some(row) = rows.next()? {
                    visit(row.get(0)?);
                }
                Ok(())
            });
        self.sql(walked)
    }

    /// Visits every word in alphabetical order, with the number of rows that contain it.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn words_in(&self, searched: Searched, visit: &mut dyn FnMut(&str, u64)) -> Result<(), StoreError> {
        let walked = self
            .connection
            .prepare_cached(searched.words())
            .and_then(|mut statement| {
                let mut rows = statement.query([])?;
                while let Some(row) = rows.next()? {
                    let entries = number_at(row, "entries")?;
                    visit(row.get_ref("term")?.as_str()?, entries);
                }
                Ok(())
            });
        self.sql(walked)
    }
}
