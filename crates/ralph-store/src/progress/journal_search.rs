//! What ranking asks of the journal: how many rows hold a word, which, and what else stands in them. Words are as
//! [`encode_term`](super::encode_term) writes them.

use ralph_model::RunId;
use rusqlite::OptionalExtension;

use super::Store;
use super::columns::{number_at, word_at};
use crate::StoreError;
use crate::index::Totals;

/// A row without what it says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JournalOutline {
    /// Its number.
    pub id: i64,
    /// Its run.
    pub run: RunId,
    /// Its words, a space between each two.
    pub terms: String,
}

impl Store {
    /// How much there is in the journal.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn journal_totals(&self) -> Result<Totals, StoreError> {
        let totals = self
            .connection
            .prepare_cached("SELECT entries, terms FROM journal_totals")
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

    /// How many rows hold a word.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn journal_rows_holding(&self, word: &str) -> Result<u64, StoreError> {
        let holding = self
            .connection
            .prepare_cached("SELECT entries FROM journal_terms WHERE term = ?1")
            .and_then(|mut statement| statement.query_row([word], |row| number_at(row, "entries")).optional());
        Ok(self.sql(holding)?.unwrap_or_default())
    }

    /// The numbers of the rows that hold a word.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn journal_rows_with(&self, word: &str, visit: &mut dyn FnMut(i64)) -> Result<(), StoreError> {
        let walked = self
            .connection
            .prepare_cached("SELECT rowid FROM journal_fts WHERE journal_fts MATCH ?1")
            .and_then(|mut statement| {
                let mut rows = statement.query([format!("\"{word}\"")])?;
                while let Some(row) = rows.next()? {
                    visit(row.get(0)?);
                }
                Ok(())
            });
        self.sql(walked)
    }

    /// The outlines of rows, in the order of their numbers here.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn journal_outlines(&self, ids: &[i64]) -> Result<Vec<JournalOutline>, StoreError> {
        let outlines = self
            .connection
            .prepare_cached("SELECT id, run_id, terms FROM journal WHERE id = ?1")
            .and_then(|mut statement| {
                let mut read = |id: &i64| {
                    statement.query_row([id], |row| {
                        Ok(JournalOutline {
                            id: row.get("id")?,
                            run: word_at(row, "run_id", RunId::parse)?,
                            terms: row.get("terms")?,
                        })
                    })
                };
                ids.iter().map(&mut read).collect()
            });
        self.sql(outlines)
    }
}
