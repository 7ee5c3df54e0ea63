//! Every lesson carries a hash of what it says, and one of how it stands, written by the transaction that changes it. A row whose
//! hash is another was changed by something that is not SQL: a disk that lies, a hand in the file. Counters have none: they are
//! computed again from the journal.

use ralph_model::LearningId;
use rusqlite::types::ValueRef;
use rusqlite::{ErrorCode, OptionalExtension, Row, Transaction};
use sha2::{Digest, Sha256};

use super::Store;
use crate::StoreError;

/// How many lessons that had no hash before a transaction get one with it.
const MOST_SEALED_LATER: i64 = 1_000;

/// A hash of some columns of a lesson.
#[derive(PartialEq, Eq)]
pub(super) struct Seal {
    /// The column that has it.
    hash: &'static str,
    /// The index of those that have none.
    unsealed: &'static str,
    /// What the columns were before a transaction that changes them.
    before: &'static str,
    /// What is sealed: the columns that the trigger names which takes the hash away.
    columns: &'static [&'static str],
}

/// Of what a lesson says, and where it comes from.
pub(super) const WORDS: Seal = Seal {
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

/// Of how far it has come, and how sure it is.
pub(super) const STANDING: Seal = Seal {
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

/// What the hashes say about the lessons.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Seals {
    /// How many lessons there are.
    pub learnings: u64,
    /// The ids of those that are not what was written, the oldest first, as they can be read.
    pub altered: Vec<String>,
    /// How many lack a hash yet: those of an older ralph, until something is written again.
    pub unsealed: u64,
}

impl Store {
    /// Compares every lesson with its hashes.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn learning_seals(&self) -> Result<Seals, StoreError> {
        let looked = (|| {
            let mut seals = Seals::default();
            let mut statement = self.connection.prepare_cached("SELECT * FROM learnings ORDER BY seq")?;
            let mut rows = statement.query([])?;
            while let Some(row) = rows.next()? {
                seals.learnings += 1;
                let states = [WORDS.state(row)?, STANDING.state(row)?];
                if states.contains(&SealState::Broken) {
                    let id = row.get_ref("id")?.as_bytes_or_null()?.unwrap_or_default();
                    seals.altered.push(String::from_utf8_lossy(id).into_owned());
                } else if states.contains(&SealState::Missing) {
                    seals.unsealed += 1;
                }
            }
            Ok(seals)
        })();
        self.sql(looked)
    }
}

/// What a hash says of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SealState {
    /// It is what was written.
    Whole,
    /// It is not.
    Broken,
    /// Nobody can tell: those of an older program have none until something is written again.
    Missing,
}

impl Seal {
    /// What the hash says of a row.
    pub(super) fn state(&self, row: &Row<'_>) -> rusqlite::Result<SealState> {
        Ok(match row.get_ref(self.hash)? {
            ValueRef::Null => SealState::Missing,
            ValueRef::Text(hash) if hash == self.of(row)?.as_bytes() => SealState::Whole,
            _ => SealState::Broken,
        })
    }

    /// The hash of a row: of the bytes of its columns, each behind its length, so that no two rows run together to the same.
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

    /// Seals what a transaction has changed. In most it is nothing, which is a look into an index and a table that are empty then.
    fn put_on_changed(&self, transaction: &Transaction<'_>, newest: i64) -> rusqlite::Result<()> {
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
                // A row that holds what its table does not allow cannot be written at all. It is told as one that cannot be
                // read, and must not keep everybody from writing anything else.
                Err(error) if error.sqlite_error_code() == Some(ErrorCode::ConstraintViolation) => {}
                written => drop(written?),
            }
        }
        transaction
            .prepare_cached(&format!("DELETE FROM {before}"))?
            .execute([])
            .map(drop)
    }

    /// The numbers of the lessons that are to be sealed: those that came in with the transaction, above the newest before it,
    /// those that it changed, and some that had no hash before, so that nobody has to wait until all of an older database have
    /// one.
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

    /// The hash of a row that is not what was written. Bytes that are no text are no hash either, and are told as they can be.
    fn hash_of_altered(&self, row: &Row<'_>) -> rusqlite::Result<Option<String>> {
        let hash = String::from_utf8_lossy(row.get_ref(self.hash)?.as_bytes()?).into_owned();
        Ok((hash != self.of(row)?).then_some(hash))
    }

    /// Seals a lesson as it is at the end of this transaction, whatever it was before: a person has vouched for it.
    pub(super) fn vouch_for(&self, transaction: &Transaction<'_>, id: &LearningId) -> rusqlite::Result<()> {
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

    /// Whether a lesson is not what was written.
    pub(super) fn is_broken(&self, transaction: &Transaction<'_>, id: &LearningId) -> rusqlite::Result<bool> {
        transaction
            .prepare_cached("SELECT * FROM learnings WHERE id = ?1")?
            .query_row([id.as_str()], |row| Ok(self.state(row)? == SealState::Broken))
    }
}

/// The number of the newest lesson.
pub(super) fn newest(transaction: &Transaction<'_>) -> rusqlite::Result<i64> {
    transaction
        .prepare_cached("SELECT coalesce(max(seq), 0) FROM learnings")?
        .query_row([], |row| row.get(0))
}

/// Seals what a transaction has changed, and what came in with it: what is newer than the newest before it.
///
/// What was not what was written before the transaction keeps the hash that says so, whoever else has made it surer since: only
/// a person can tell what is right.
pub(super) fn seal_changed(transaction: &Transaction<'_>, newest: i64) -> rusqlite::Result<()> {
    WORDS.put_on_changed(transaction, newest)?;
    STANDING.put_on_changed(transaction, newest)
}
