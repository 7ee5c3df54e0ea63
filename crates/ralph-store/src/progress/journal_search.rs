//! What ranking asks of rows of the journal that hold a word: what else stands in them. Words are as
//! [`encode_term`](super::encode_term) writes them.

use ralph_model::RunId;

use super::Store;
use super::columns::word_at;
use crate::StoreError;

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
