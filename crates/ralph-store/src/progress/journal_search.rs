//! Ranking features of journal entries. Words are encoded by [`encode_term`](super::encode_term).

use ralph_model::RunId;

use super::Store;
use super::columns::word_at;
use crate::StoreError;

/// A journal entry without its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JournalDoc {
    pub id: i64,
    pub run: RunId,
    /// Its terms, separated by spaces.
    pub terms: String,
}

impl Store {
    /// Returns the features of journal entries, in the order of `ids`.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn journal_docs(&self, ids: &[i64]) -> Result<Vec<JournalDoc>, StoreError> {
        let docs = self
            .connection
            .prepare_cached("SELECT id, run_id, terms FROM journal WHERE id = ?1")
            .and_then(|mut statement| {
                let mut read = |id: &i64| {
                    statement.query_row([id], |row| {
                        Ok(JournalDoc {
                            id: row.get("id")?,
                            run: word_at(row, "run_id", RunId::parse)?,
                            terms: row.get("terms")?,
                        })
                    })
                };
                ids.iter().map(&mut read).collect()
            });
        self.sql(docs)
    }
}
