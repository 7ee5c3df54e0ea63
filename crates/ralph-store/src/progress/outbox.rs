//! The outbox: files that a settlement wants written. They are written after it, once, by whoever comes first.

use jiff::Timestamp;
use ralph_model::{Author, AuthorKind, CapturedKnowledge, RunId};
use rusqlite::{Row, Transaction, params};

use super::Store;
use super::columns::{count_at, from_json, moment, time_at, to_json, word_at};
use crate::StoreError;

/// A file that a settlement wants written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutboxFile {
    /// Its number; it names what is written for ever.
    pub id: i64,
    /// The text that was made ready beside its place; see [`Store::outbox_staged`].
    pub staged: Option<String>,
    /// The agent that wrote it.
    pub author: Author,
    /// What is to be written.
    pub knowledge: CapturedKnowledge,
    /// When it was captured.
    pub created_at: Timestamp,
}

impl Store {
    /// What is to be written in a worktree, the oldest first.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn outbox(&self, worktree: &str) -> Result<Vec<OutboxFile>, StoreError> {
        let found = self
            .connection
            .prepare_cached(
                "SELECT outbox.*, run_id, iteration FROM outbox JOIN journal ON journal.id = outbox.journal
                 WHERE outbox.worktree = ?1 AND state <> 'done' ORDER BY outbox.id",
            )
            .and_then(|mut statement| statement.query_map([worktree], read)?.collect());
        self.sql(found)
    }

    /// Notes that the text of a file stands ready beside its place. When it is gone from there, it was put in place.
    ///
    /// # Errors
    /// When the database cannot be written.
    pub fn outbox_staged(&mut self, id: i64, text: &str) -> Result<(), StoreError> {
        self.write(|transaction| put_state(transaction, id, "staged", Some(text)))
    }

    /// Notes that a file is written.
    ///
    /// # Errors
    /// When the database cannot be written.
    pub fn outbox_done(&mut self, id: i64) -> Result<(), StoreError> {
        self.write(|transaction| put_state(transaction, id, "done", None))
    }
}

/// A file that is written stays so, and its text is not needed any more.
pub(super) fn put_state(
    transaction: &Transaction<'_>,
    id: i64,
    state: &str,
    text: Option<&str>,
) -> rusqlite::Result<()> {
    transaction
        .prepare_cached("UPDATE outbox SET state = ?2, text = ?3 WHERE id = ?1 AND state <> 'done'")?
        .execute(params![id, state, text])
        .map(drop)
}

/// Wants a long note written.
pub(super) fn put_knowledge(
    transaction: &Transaction<'_>,
    worktree: &str,
    journal: i64,
    knowledge: &CapturedKnowledge,
    at: Timestamp,
) -> rusqlite::Result<()> {
    transaction
        .prepare_cached(
            "INSERT INTO outbox (worktree, journal, kind, payload, state, created_at)
             VALUES (?1, ?2, 'knowledge', ?3, 'queued', ?4)",
        )?
        .execute(params![worktree, journal, to_json(knowledge)?, moment(at)])
        .map(drop)
}

fn read(row: &Row<'_>) -> rusqlite::Result<OutboxFile> {
    let payload: String = row.get("payload")?;
    Ok(OutboxFile {
        id: row.get("id")?,
        staged: row.get("text")?,
        author: Author::in_iteration(
            AuthorKind::Agent,
            word_at(row, "run_id", RunId::parse)?,
            count_at(row, "iteration")?,
        ),
        knowledge: from_json(&payload, "knowledge that is to be written")?,
        created_at: time_at(row, "created_at")?,
    })
}
