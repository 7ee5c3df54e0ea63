//! Every lesson carries a hash of what it says, written by the transaction that changes it. A row whose hash is another was
//! changed by something that is not SQL: a disk that lies, a hand in the file.

use ralph_model::LearningId;
use rusqlite::{OptionalExtension, Row, Transaction};
use sha2::{Digest, Sha256};

use super::Store;
use crate::StoreError;

/// What is sealed: the columns that the trigger names which takes the hash away.
const SEALED: [&str; 12] = [
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
];

/// What the hashes say about the lessons.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Seals {
    /// How many lessons there are.
    pub learnings: u64,
    /// The ids of those that are not what was written, the oldest first, as they can be read.
    pub altered: Vec<String>,
    /// How many have no hash yet: those of an older ralph, until something is written again.
    pub unsealed: u64,
}

impl Store {
    /// Compares every lesson with its hash.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn learning_seals(&self) -> Result<Seals, StoreError> {
        let looked = (|| {
            let mut seals = Seals::default();
            let mut statement = self.connection.prepare_cached(&format!(
                "SELECT {}, hash FROM learnings ORDER BY seq",
                SEALED.join(", ")
            ))?;
            let mut rows = statement.query([])?;
            while let Some(row) = rows.next()? {
                seals.learnings += 1;
                match row.get_ref("hash")?.as_bytes_or_null()? {
                    None => seals.unsealed += 1,
                    Some(hash) if hash == seal(row)?.as_bytes() => {}
                    Some(_) => {
                        let id = row.get_ref("id")?.as_bytes_or_null()?.unwrap_or_default();
                        seals.altered.push(String::from_utf8_lossy(id).into_owned());
                    }
                }
            }
            Ok(seals)
        })();
        self.sql(looked)
    }
}

/// Seals what a transaction has changed. In most it is nothing, which is one look into an index that is empty then.
///
/// What was not what was written before the transaction keeps the hash that says so, whoever else has made it surer since: only
/// a person can tell what is right.
pub(super) fn seal_changed(transaction: &Transaction<'_>) -> rusqlite::Result<()> {
    let changed: Vec<i64> = transaction
        .prepare_cached("SELECT seq FROM learnings INDEXED BY learnings_unsealed WHERE hash IS NULL")?
        .query_map([], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    if changed.is_empty() {
        return Ok(());
    }
    let columns = SEALED.join(", ");
    let mut before =
        transaction.prepare_cached(&format!("SELECT {columns}, hash FROM learnings_before WHERE seq = ?1"))?;
    let mut read = transaction.prepare_cached(&format!("SELECT {columns} FROM learnings WHERE seq = ?1"))?;
    let mut write = transaction.prepare_cached("UPDATE learnings SET hash = ?2 WHERE seq = ?1")?;
    for seq in changed {
        let altered = before.query_row([seq], hash_of_altered).optional()?.flatten();
        let hash = match altered {
            Some(hash) => hash,
            None => read.query_row([seq], seal)?,
        };
        write.execute(rusqlite::params![seq, hash])?;
    }
    transaction
        .prepare_cached("DELETE FROM learnings_before")?
        .execute([])
        .map(drop)
}

/// Seals a lesson as it is at the end of this transaction, whatever it was before: a person has vouched for it.
pub(super) fn vouch_for(transaction: &Transaction<'_>, id: &LearningId) -> rusqlite::Result<()> {
    transaction
        .prepare_cached("DELETE FROM learnings_before WHERE seq = (SELECT seq FROM learnings WHERE id = ?1)")?
        .execute([id.as_str()])
        .map(drop)
}

/// The hash of a row that is not what was written. Bytes that are no text are no hash either, and are told as they can be.
fn hash_of_altered(row: &Row<'_>) -> rusqlite::Result<Option<String>> {
    let hash = String::from_utf8_lossy(row.get_ref("hash")?.as_bytes()?).into_owned();
    Ok((hash != seal(row)?).then_some(hash))
}

/// The hash of a row: of the bytes of its columns, each behind its length, so that no two rows run together to the same.
pub(super) fn seal(row: &Row<'_>) -> rusqlite::Result<String> {
    let mut hasher = Sha256::new();
    for column in SEALED {
        match row.get_ref(column)?.as_bytes_or_null()? {
            None => hasher.update(b"-\n"),
            Some(bytes) => {
                hasher.update(format!("{} ", bytes.len()));
                hasher.update(bytes);
                hasher.update(b"\n");
            }
        }
    }
    Ok(hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}
