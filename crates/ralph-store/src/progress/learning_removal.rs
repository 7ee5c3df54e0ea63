//! Deletes learnings permanently. The record of injections stays.

use std::path::PathBuf;

use jiff::Timestamp;
use ralph_model::{LearningId, LearningStatus};
use rusqlite::{Row, Transaction};

use super::Store;
use super::columns::{moment, word_at};
use super::learning_changes::{existing, leave_merged};
use super::learning_error::LearningError;
use crate::open::open_read_only;
use crate::{StoreError, backup};

/// SQL condition for learnings that are superseded by a missing one.
const REPLACED_BY_NOTHING: &str = "superseded_by IS NOT NULL AND superseded_by NOT IN (SELECT id FROM learnings)";

#[derive(Debug, Clone, PartialEq, Default)]
pub struct DeletedLearnings {
    pub deleted: Vec<LearningId>,
    /// Learnings that were merged into a deleted one. They are separate again and can be restored.
    pub freed: Vec<LearningId>,
    /// Learnings that were superseded by a deleted one. They are rejected, since they must not become active by
    /// themselves.
    pub rejected: Vec<LearningId>,
}

/// Learnings whose superseding learning is missing.
#[derive(Debug, Default)]
struct Released {
    freed: Vec<LearningId>,
    rejected: Vec<LearningId>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clearing {
    /// All that are pending, validated or rejected.
    Staged,
    /// All, including promoted and pruned ones.
    All,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cleared {
    pub learnings: usize,
    /// A copy of the database from before.
    pub copy: PathBuf,
}

impl Store {
    /// Deletes learnings permanently, all or none. One that was merged is removed from the other. Learnings that were
    /// merged into a deleted one become separate again; those that it superseded are rejected, since a user decided
    /// against them.
    ///
    /// # Errors
    /// When a learning is missing, or the database cannot be written.
    pub fn delete_learnings(&mut self, ids: &[LearningId], now: Timestamp) -> Result<DeletedLearnings, LearningError> {
        self.change_learnings(|transaction| {
            let mut done = DeletedLearnings::default();
            for id in ids {
                let learning = existing(transaction, id)?;
                delete(transaction, id, now)?;
                done.deleted.push(id.clone());
                if learning.status == LearningStatus::Pruned {
                    leave_merged(transaction, &learning, learning.superseded_by.clone(), now)?;
                }
            }
            let Released { freed, rejected } = release_replaced(transaction, now)?;
            Ok(DeletedLearnings {
                freed,
                rejected,
                ..done
            })
        })
    }

    /// Deletes many learnings permanently after copying the whole database to a file next to it. Returns `None` if
    /// there are none. No other process can write between the copy and the end.
    ///
    /// # Errors
    /// When the copy cannot be made, or the database cannot be written; then nothing is deleted.
    pub fn clear_learnings(&mut self, clearing: Clearing, now: Timestamp) -> Result<Option<Cleared>, StoreError> {
        let path = self.path.clone();
        let copy = self.free_copy_name(now);
        let cleared = self.transact(|transaction| {
            if !has_some(transaction, clearing)? {
                return Ok(None);
            }
            // Another connection sees the committed state, and this transaction blocks other writers.
            if let Some(before) = open_read_only(&path).map_err(Trouble::Store)? {
                backup::durable_copy(&before, &copy).map_err(Trouble::Store)?;
            }
            let learnings = clear(transaction, clearing, now)?;
            Ok(Some(Cleared { learnings, copy }))
        });
        match cleared {
            Ok(cleared) => Ok(cleared),
            Err(Trouble::Sql(error)) => self.sql(Err(error)),
            Err(Trouble::Store(error)) => Err(error),
        }
    }

    /// A free file name next to the database.
    fn free_copy_name(&self, now: Timestamp) -> PathBuf {
        let stem = format!("db.cleared-{}", now.strftime("%Y%m%dT%H%M%SZ"));
        let names = std::iter::once(stem.clone()).chain((2_u64..).map(|number| format!("{stem}-{number}")));
        let mut paths = names.map(|name| self.path.with_extension(name));
        paths.find(|path| !path.exists()).unwrap_or_default()
    }
}

enum Trouble {
    Sql(rusqlite::Error),
    Store(StoreError),
}

impl From<rusqlite::Error> for Trouble {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sql(error)
    }
}

/// Deletes a learning with the data derived from it.
fn delete(transaction: &Transaction<'_>, id: &LearningId, now: Timestamp) -> rusqlite::Result<()> {
    transaction
        .prepare_cached("INSERT INTO learning_log (learning, at, action) VALUES (?1, ?2, 'deleted')")?
        .execute([id.as_str(), &moment(now)])?;
    transaction
        .prepare_cached("DELETE FROM settled_conflicts WHERE one = ?1 OR other = ?1")?
        .execute([id.as_str()])?;
    transaction
        .prepare_cached("DELETE FROM learnings WHERE id = ?1")?
        .execute([id.as_str()])
        .map(drop)
}

/// Handles learnings whose superseding learning is missing. Merged ones stay pruned and can be restored. Superseded
/// ones do not become active again: they are rejected until a user decides otherwise. A learning that was rejected
/// before keeps its reason.
fn release_replaced(transaction: &Transaction<'_>, now: Timestamp) -> rusqlite::Result<Released> {
    let rejected = transaction
        .prepare_cached(&format!(
            "UPDATE learnings SET status = 'rejected', updated_at = ?1, superseded_by = NULL,
                 reason = superseded_by || ' superseded it and was deleted'
             WHERE {REPLACED_BY_NOTHING} AND status NOT IN ('pruned', 'rejected') RETURNING id"
        ))?
        .query_map([moment(now)], read_id)?
        .collect::<rusqlite::Result<_>>()?;
    let freed = transaction
        .prepare_cached(&format!(
            "UPDATE learnings SET superseded_by = NULL WHERE {REPLACED_BY_NOTHING} RETURNING id"
        ))?
        .query_map([], read_id)?
        .collect::<rusqlite::Result<_>>()?;
    Ok(Released { freed, rejected })
}

fn read_id(row: &Row<'_>) -> rusqlite::Result<LearningId> {
    word_at(row, "id", LearningId::parse)
}

impl Clearing {
    fn condition(self) -> &'static str {
        match self {
            Self::Staged => "status IN ('pending', 'validated', 'rejected')",
            Self::All => "TRUE",
        }
    }
}

fn has_some(transaction: &Transaction<'_>, clearing: Clearing) -> rusqlite::Result<bool> {
    let sql = format!("SELECT 1 FROM learnings WHERE {}", clearing.condition());
    transaction.prepare(&sql)?.exists([])
}

fn clear(transaction: &Transaction<'_>, clearing: Clearing, now: Timestamp) -> rusqlite::Result<usize> {
    let condition = clearing.condition();
    transaction.execute(
        &format!(
            "INSERT INTO learning_log (learning, at, action) SELECT id, ?1, 'deleted' FROM learnings WHERE {condition}"
        ),
        [moment(now)],
    )?;
    let learnings = transaction.execute(&format!("DELETE FROM learnings WHERE {condition}"), [])?;
    release_replaced(transaction, now)?;
    transaction.execute_batch(
        "DELETE FROM settled_conflicts
             WHERE one NOT IN (SELECT id FROM learnings) OR other NOT IN (SELECT id FROM learnings);",
    )?;
    Ok(learnings)
}
