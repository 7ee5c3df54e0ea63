//! Lessons are taken away for good. What was shown to whom stays on record.

use std::path::PathBuf;

use jiff::Timestamp;
use ralph_model::{LearningId, LearningStatus};
use rusqlite::{Row, Transaction};

use super::Store;
use super::columns::moment;
use super::learning_changes::{existing, leave_merged};
use super::learning_error::{LearningError, LearningTrouble};
use crate::open::open_to_look;
use crate::{StoreError, backup};

/// Which lessons have something in their place that is not there.
pub(super) const REPLACED_BY_NOTHING: &str =
    "superseded_by IS NOT NULL AND superseded_by NOT IN (SELECT id FROM learnings)";

/// What was taken away.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DeletedLearnings {
    /// The lessons.
    pub deleted: Vec<LearningId>,
    /// Others that had been merged into one of them: they are no part of anything any more, and can be restored.
    pub freed: Vec<LearningId>,
    /// Others that one of them had taken the place of. They do not hold again by themselves: they are rejected now.
    pub rejected: Vec<LearningId>,
}

/// What became of lessons in whose place something stood that is not there.
#[derive(Debug, Default)]
pub(super) struct Released {
    /// Those that had been merged.
    freed: Vec<LearningId>,
    /// Those that were rejected.
    rejected: Vec<LearningId>,
}

/// Which lessons are cleared away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clearing {
    /// All that were not promoted: pending, validated and rejected ones.
    Staged,
    /// All, those that were pruned too.
    All,
}

/// What was cleared away.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cleared {
    /// How many lessons.
    pub lessons: usize,
    /// A copy of the database as it was before.
    pub copy: PathBuf,
}

impl Store {
    /// Takes lessons away for good, all of them or none. One that was merged into another is no part of that one any more.
    /// Those that had been merged into one of them stand for themselves again; those that one of them had taken the place of
    /// are rejected, since a person said that they do not hold.
    ///
    /// # Errors
    /// When there is no such lesson, or the database cannot be written.
    pub fn delete_learnings(&mut self, ids: &[LearningId], now: Timestamp) -> Result<DeletedLearnings, LearningError> {
        self.change_learnings(|transaction| {
            let mut done = DeletedLearnings::default();
            for id in ids {
                let learning = existing(transaction, id);
                if let Err(LearningTrouble::Learning(error)) = learning {
                    return Err(error.into());
                }
                delete(transaction, id, now)?;
                done.deleted.push(id.clone());
                // One that cannot be read can go all the same.
                if let Ok(learning) = learning
                    && learning.status == LearningStatus::Pruned
                {
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

    /// Clears lessons away for good, after a copy of the whole database was made beside it; none where there is nothing to
    /// clear. Nobody else can write between the copy and the end.
    ///
    /// # Errors
    /// When the copy cannot be made, or the database not be written; then everything is as it was.
    pub fn clear_learnings(&mut self, clearing: Clearing, now: Timestamp) -> Result<Option<Cleared>, StoreError> {
        let path = self.path.clone();
        let copy = self.free_copy_name(now);
        let cleared = self.transact(|transaction| {
            if !has_some(transaction, clearing)? {
                return Ok(None);
            }
            // Another connection sees what is committed, and while this one writes nobody else changes that.
            if let Some(before) = open_to_look(&path).map_err(Trouble::Store)? {
                backup::keep_copy(&before, &copy).map_err(Trouble::Store)?;
            }
            let lessons = clear(transaction, clearing, now)?;
            Ok(Some(Cleared { lessons, copy }))
        });
        match cleared {
            Ok(cleared) => Ok(cleared),
            Err(Trouble::Sql(error)) => self.sql(Err(error)),
            Err(Trouble::Store(error)) => Err(error),
        }
    }

    /// A name beside the database that is not taken.
    fn free_copy_name(&self, now: Timestamp) -> PathBuf {
        let stem = format!("db.cleared-{}", now.strftime("%Y%m%dT%H%M%SZ"));
        let names = std::iter::once(stem.clone()).chain((2_u64..).map(|number| format!("{stem}-{number}")));
        let mut paths = names.map(|name| self.path.with_extension(name));
        paths.find(|path| !path.exists()).unwrap_or_default()
    }
}

/// What can go wrong while lessons are cleared away.
enum Trouble {
    Sql(rusqlite::Error),
    Store(StoreError),
}

impl From<rusqlite::Error> for Trouble {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sql(error)
    }
}

/// Takes a lesson away; what is drawn from it goes with it.
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

/// Releases the lessons in whose place something stands that is not there. What was merged is pruned, and can be restored. What
/// was replaced does not hold again because its replacement went: it is rejected until a person says otherwise. One that was
/// rejected before keeps its own reason.
pub(super) fn release_replaced(transaction: &Transaction<'_>, now: Timestamp) -> rusqlite::Result<Released> {
    let rejected = transaction
        .prepare_cached(&format!(
            "UPDATE learnings SET status = 'rejected', updated_at = ?1, superseded_by = NULL,
                 reason = superseded_by || ' had taken its place, and is not there any more'
             WHERE {REPLACED_BY_NOTHING} AND status NOT IN ('pruned', 'rejected') RETURNING id"
        ))?
        .query_map([moment(now)], readable_id)?
        .filter_map(Result::transpose)
        .collect::<rusqlite::Result<_>>()?;
    let freed = transaction
        .prepare_cached(&format!(
            "UPDATE learnings SET superseded_by = NULL WHERE {REPLACED_BY_NOTHING} RETURNING id"
        ))?
        .query_map([], readable_id)?
        .filter_map(Result::transpose)
        .collect::<rusqlite::Result<_>>()?;
    Ok(Released { freed, rejected })
}

/// The id of a row; a row that cannot be read has none, and must not keep others from being changed.
fn readable_id(row: &Row<'_>) -> rusqlite::Result<Option<LearningId>> {
    let id = row.get_ref(0)?.as_str().ok();
    Ok(id.and_then(LearningId::parse))
}

impl Clearing {
    /// Which rows are meant.
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

/// Clears lessons away; how many they were.
fn clear(transaction: &Transaction<'_>, clearing: Clearing, now: Timestamp) -> rusqlite::Result<usize> {
    let condition = clearing.condition();
    transaction.execute(
        &format!(
            "INSERT INTO learning_log (learning, at, action) SELECT id, ?1, 'deleted' FROM learnings WHERE {condition}"
        ),
        [moment(now)],
    )?;
    let lessons = transaction.execute(&format!("DELETE FROM learnings WHERE {condition}"), [])?;
    release_replaced(transaction, now)?;
    transaction.execute_batch(
        "DELETE FROM settled_conflicts
             WHERE one NOT IN (SELECT id FROM learnings) OR other NOT IN (SELECT id FROM learnings);",
    )?;
    Ok(lessons)
}
