//! Checksums of learnings: one of the text and one of the status, written by the transaction that changes them. A row
//! with another checksum was altered without SQL, by a faulty disk or an edit of the file. Counters have none, since
//! they can be recomputed from the journal.

use ralph_model::LearningId;
use rusqlite::types::ValueRef;
use rusqlite::{ErrorCode, OptionalExtension, Row, Transaction};
use sha2::{Digest, Sha256};

use super::Store;
use crate::StoreError;

/// Maximum number of older learnings that get a checksum with one transaction.
const MOST_SEALED_LATER: i64 = 1_000;

/// A checksum of some columns of a learning.
#[derive(PartialEq, Eq)]
pub(super) struct LearningChecksum {
    /// The column that stores it.
    hash: &'static str,
    /// The index of the rows without one.
    unsealed: &'static str,
    /// The table with the values from before a transaction.
    before: &'static str,
    /// The covered columns, which are those of the trigger that clears the checksum.
    columns: &'static [&'static str],
}

/// Text and origin.
pub(super) const TEXT_CHECKSUM: LearningChecksum = LearningChecksum {
    hash: "hash",
    unsealed: "learnings_unsealed",
    before: "learnings_before",
    columns: &[
        "id",
        "kind",
        "category",
        "task_type",
        "content",
        "tags",
        "facts",
        "original",
        "source",
        "source_loops",
        "examples",
        "created_at",
    ],
};

/// Status and confidence.
pub(super) const STATUS_CHECKSUM: LearningChecksum = LearningChecksum {
    hash: "standing_hash",
    unsealed: "learnings_standing_unsealed",
    before: "learnings_stood_before",
    columns: &[
        "id",
        "status",
        "reason",
        "superseded_by",
        "pruned_from",
        "restored_at",
        "confidence",
        "first_success_rate",
        "first_use_count",
        "counted_since",
        "task",
        "journal",
        "foreign_id",
    ],
};

/// Result of the checksum verification.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ChecksumReport {
    pub learnings: u64,
    /// Ids of altered learnings, oldest first, as far as they are readable.
    pub altered: Vec<String>,
    /// Number of learnings without a checksum: those of an older ralph, until the next writes.
    pub unsealed: u64,
}

impl Store {
    /// Verifies the checksums of all learnings.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn verify_learning_checksums(&self) -> Result<ChecksumReport, StoreError> {
        let looked = (|| {
            let mut seals = ChecksumReport::default();
            let mut statement = self.connection.prepare_cached("SELECT * FROM learnings ORDER BY seq")?;
            let mut rows = statement.query([])?;
            while let Some(row) = rows.next()? {
                seals.learnings += 1;
                let states = [TEXT_CHECKSUM.state(row)?, STATUS_CHECKSUM.state(row)?];
                if states.contains(&ChecksumState::Broken) {
                    let id = row.get_ref("id")?.as_bytes_or_null()?.unwrap_or_default();
                    seals.altered.push(String::from_utf8_lossy(id).into_owned());
                } else if states.contains(&ChecksumState::Missing) {
                    seals.unsealed += 1;
                }
            }
            Ok(seals)
        })();
        self.sql(looked)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ChecksumState {
    Whole,
    Broken,
    /// Unknown: rows of an older version get a checksum with the next writes.
    Missing,
}

impl LearningChecksum {
    pub(super) fn state(&self, row: &Row<'_>) -> rusqlite::Result<ChecksumState> {
        Ok(match row.get_ref(self.hash)? {
            ValueRef::Null => ChecksumState::Missing,
            ValueRef::Text(hash) if hash == self.of(row)?.as_bytes() => ChecksumState::Whole,
            _ => ChecksumState::Broken,
        })
    }

    /// Hashes the bytes of the columns, each after its length, so that different rows never concatenate to the same
    /// input.
    fn of(&self, row: &Row<'_>) -> rusqlite::Result<String> {
        let mut hasher = Sha256::new();
        for column in self.columns {
            let number;
            let bytes = match row.get_ref(*column)? {
                ValueRef::Null => {
                    hasher.update(b"-\n");
                    continue;
                }
                ValueRef::Text(bytes) | ValueRef::Blob(bytes) => bytes,
                ValueRef::Integer(integer) => {
                    number = integer.to_be_bytes();
                    &number
                }
                ValueRef::Real(real) => {
                    number = real.to_be_bytes();
                    &number
                }
            };
            hasher.update(format!("{} ", bytes.len()));
            hasher.update(bytes);
            hasher.update(b"\n");
        }
        Ok(hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
    }

    /// Updates the checksums of changed rows. Usually there are none, which costs a lookup in an empty index and an
    /// empty table.
    fn update_changed(&self, transaction: &Transaction<'_>, newest: i64) -> rusqlite::Result<()> {
        let changed = self.unsealed(transaction, newest)?;
        if changed.is_empty() {
            return Ok(());
        }
        let Self { hash, before, .. } = self;
        let columns = self.columns.join(", ");
        let mut stood =
            transaction.prepare_cached(&format!("SELECT {columns}, {hash} FROM {before} WHERE seq = ?1"))?;
        let mut read = transaction.prepare_cached(&format!("SELECT {columns} FROM learnings WHERE seq = ?1"))?;
        let mut write = transaction.prepare_cached(&format!("UPDATE learnings SET {hash} = ?2 WHERE seq = ?1"))?;
        for seq in changed {
            let altered = stood.query_row([seq], |row| self.hash_of_altered(row)).optional()?;
            let hash = match altered.flatten() {
                Some(hash) => hash,
                None => read.query_row([seq], |row| self.of(row))?,
            };
            match write.execute(rusqlite::params![seq, hash]) {
                // A row that violates its declared types cannot be written at all. It is reported as unreadable, and
                // must not prevent all other writes.
                Err(error) if error.sqlite_error_code() == Some(ErrorCode::ConstraintViolation) => {}
                written => drop(written?),
            }
        }
        transaction
            .prepare_cached(&format!("DELETE FROM {before}"))?
            .execute([])
            .map(drop)
    }

    /// Returns the learnings that need a checksum: those added by the transaction, those it changed, and a limited
    /// number of older ones without one, so that no single transaction has to hash a whole old database.
    fn unsealed(&self, transaction: &Transaction<'_>, newest: i64) -> rusqlite::Result<Vec<i64>> {
        let Self {
            hash, unsealed, before, ..
        } = self;
        transaction
            .prepare_cached(&format!(
                "SELECT seq FROM learnings INDEXED BY {unsealed} WHERE {hash} IS NULL AND seq > ?1
                 UNION SELECT seq FROM {before}
                 UNION SELECT * FROM (SELECT seq FROM learnings INDEXED BY {unsealed} WHERE {hash} IS NULL AND seq <= ?1
                                      ORDER BY seq DESC LIMIT ?2)"
            ))?
            .query_map([newest, MOST_SEALED_LATER], |row| row.get(0))?
            .collect()
    }

    /// Returns the checksum of an altered row. A checksum that is not text is read lossily.
    fn hash_of_altered(&self, row: &Row<'_>) -> rusqlite::Result<Option<String>> {
        let hash = String::from_utf8_lossy(row.get_ref(self.hash)?.as_bytes()?).into_owned();
        Ok((hash != self.of(row)?).then_some(hash))
    }

    /// Recomputes the checksum at the end of this transaction, whatever it was before: a user has confirmed the
    /// content.
    pub(super) fn accept(&self, transaction: &Transaction<'_>, id: &LearningId) -> rusqlite::Result<()> {
        let Self { hash, before, .. } = self;
        transaction
            .prepare_cached(&format!(
                "DELETE FROM {before} WHERE seq = (SELECT seq FROM learnings WHERE id = ?1)"
            ))?
            .execute([id.as_str()])?;
        transaction
            .prepare_cached(&format!("UPDATE learnings SET {hash} = NULL WHERE id = ?1"))?
            .execute([id.as_str()])
            .map(drop)
    }

    pub(super) fn is_broken(&self, transaction: &Transaction<'_>, id: &LearningId) -> rusqlite::Result<bool> {
        transaction
            .prepare_cached("SELECT * FROM learnings WHERE id = ?1")?
            .query_row([id.as_str()], |row| Ok(self.state(row)? == ChecksumState::Broken))
    }
}

pub(super) fn newest(transaction: &Transaction<'_>) -> rusqlite::Result<i64> {
    transaction
        .prepare_cached("SELECT coalesce(max(seq), 0) FROM learnings")?
        .query_row([], |row| row.get(0))
}

/// Updates the checksums of learnings that a transaction changed or added; `newest` is the highest number before it.
///
/// A learning that was altered before the transaction keeps its old checksum, whatever else changed in it: only a user
/// can decide what is right.
pub(super) fn update_checksums(transaction: &Transaction<'_>, newest: i64) -> rusqlite::Result<()> {
    TEXT_CHECKSUM.update_changed(transaction, newest)?;
    STATUS_CHECKSUM.update_changed(transaction, newest)
}
