//! The outbox: files that a settlement queued for writing. They are written once, after the settlement, by whichever
//! process comes first.

use jiff::Timestamp;
use ralph_model::{Author, AuthorKind, CapturedKnowledge, RunId};
use rusqlite::{Row, Transaction, params};

use super::Store;
use super::columns::{count_at, from_json, moment, time_at, to_json, word_at};
use crate::StoreError;

/// A queued file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutboxFile {
    /// Its id, which identifies the written file permanently.
    pub id: i64,
    /// The staged text; see [`Store::outbox_staged`].
    pub staged: Option<String>,
    pub author: Author,
    pub knowledge: CapturedKnowledge,
    pub created_at: Timestamp,
}

impl Store {
    /// The queued files of a worktree, oldest first.
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

    /// Records that the text is staged in a file beside its destination. Once the staged file is missing, it was moved
    /// into place.
    ///
    /// # Errors
    /// When the database cannot be written.
    pub fn outbox_staged(&mut self, id: i64, text: &str) -> Result<(), StoreError> {
        self.write(|transaction| put_state(transaction, id, "staged", Some(text)))
    }

    /// Records that a file is written.
    ///
    /// # Errors
    /// When the database cannot be written.
    pub fn outbox_done(&mut self, id: i64) -> Result<(), StoreError> {
        self.write(|transaction| put_state(transaction, id, "done", None))
    }
}

/// A written file stays written, and its text is no longer needed.
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

/// Queues a knowledge entry for writing.
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
        knowledge: from_json(&payload, "queued knowledge entry")?,
        created_at: time_at(row, "created_at")?,
    })
}
