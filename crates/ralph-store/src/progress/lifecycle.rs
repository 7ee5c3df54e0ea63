//! Maintenance of learnings and reports: merging near-duplicates, pruning unused ones, shortening long texts. Each
//! method is one transaction. Nothing is deleted; pruned learnings can be restored. The caller decides when and by
//! which rules.

use jiff::Timestamp;
use ralph_model::{Learning, LearningId, LearningKind, LearningSource, LearningStatus, TaskId};
use rusqlite::{Connection, OptionalExtension, Row, Transaction, named_params, params};

use super::Store;
use super::columns::{from_json, moment, word_at, word_in};
use super::learning_reading::read_learning;
use super::learning_warnings::take_warnings;
use super::learning_writer::{save, unite, unite_tags};
use crate::StoreError;

pub(super) const ACTIVE: &str = "status IN ('promoted', 'validated', 'pending')";
/// Learnings that may be merged automatically. Those with measured facts are not, since the facts belong to one
/// learning only.
const MERGEABLE: &str = "status IN ('promoted', 'validated', 'pending') AND superseded_by IS NULL
    AND restored_at IS NULL AND facts IS NULL";

/// Cutoff times for pruning, and the reasons to record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PruneRules<'a> {
    /// Candidates were first learned before this time …
    pub created_before: Timestamp,
    /// … and were neither injected nor changed since this one.
    pub unused_since: Timestamp,
    pub unused_reason: &'a str,
    /// Superseded learnings are pruned if that happened before this time.
    pub superseded_before: Timestamp,
    pub superseded_reason: &'a str,
}

/// The fields of a learning that decide about merging.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergeCandidate {
    pub id: LearningId,
    pub kind: LearningKind,
    pub category: String,
    pub status: LearningStatus,
    pub source: LearningSource,
    /// The task in which it was first learned.
    pub task: Option<TaskId>,
    pub tags: Vec<String>,
    pub content: String,
    /// The texts of the learnings that were merged into it.
    pub examples: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergeGroup {
    /// The newest, whose text stays.
    pub newest: LearningId,
    /// The others, newest first.
    pub others: Vec<LearningId>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Merged {
    pub merged: usize,
    pub into: usize,
}

impl Store {
    /// Returns the number of learnings that are active or proposed.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn active_learnings(&self) -> Result<u64, StoreError> {
        let sql = format!("SELECT count(*) FROM learnings WHERE {ACTIVE}");
        let counted: rusqlite::Result<i64> = self
            .connection
            .prepare_cached(&sql)
            .and_then(|mut statement| statement.query_row([], |row| row.get(0)));
        Ok(self.sql(counted)?.cast_unsigned())
    }

    /// Returns how many iterations ended since the last merge; `None` if there was none.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn iterations_since_merge(&self) -> Result<Option<u64>, StoreError> {
        let counted: rusqlite::Result<Option<i64>> = self
            .connection
            .prepare_cached(
                "SELECT (SELECT count(*) FROM journal WHERE id > lifecycle.journal AND NOT imported)
                 FROM lifecycle WHERE step = 'merge' UNION ALL SELECT NULL LIMIT 1",
            )
            .and_then(|mut statement| statement.query_row([], |row| row.get(0)));
        Ok(self.sql(counted)?.map(i64::cast_unsigned))
    }

    /// Records that all possible merges are done.
    ///
    /// # Errors
    /// When the database cannot be written.
    pub fn record_merge(&mut self, now: Timestamp) -> Result<(), StoreError> {
        self.write(|transaction| {
            transaction
                .prepare_cached(
                    "INSERT INTO lifecycle (step, journal, at)
                     VALUES ('merge', (SELECT coalesce(max(id), 0) FROM journal), ?1)
                     ON CONFLICT (step) DO UPDATE SET journal = excluded.journal, at = excluded.at",
                )?
                .execute([moment(now)])
                .map(drop)
        })
    }

    /// Returns up to `most` learnings that may be merged, newest first. Those that a user restored and superseded ones
    /// are excluded.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn merge_candidates(&self, most: u32) -> Result<Vec<MergeCandidate>, StoreError> {
        let sql = format!(
            "SELECT id, kind, category, status, source, task, tags, content, examples
             FROM learnings WHERE {MERGEABLE}
             ORDER BY created_at DESC, seq DESC LIMIT ?1"
        );
        let found = self
            .connection
            .prepare_cached(&sql)
            .and_then(|mut statement| statement.query_map([most], read_candidate)?.collect());
        self.sql(found)
    }

    /// Merges each group into one learning. The text of the newest stays and the others become its examples; tags and
    /// runs are united, counts are added, and the highest confidence wins. A learning that has changed and no longer
    /// belongs to its group is skipped.
    ///
    /// # Errors
    /// When the database cannot be written; then nothing is merged.
    pub fn merge_learnings(&mut self, groups: &[MergeGroup], now: Timestamp) -> Result<Merged, StoreError> {
        self.write(|transaction| {
            let mut done = Merged::default();
            for group in groups {
                let merged = merge(transaction, group, now)?;
                done.merged += merged;
                done.into += usize::from(merged > 0);
            }
            Ok(done)
        })
    }

    /// Returns the learnings to prune with the reasons, oldest first.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn learnings_to_prune(&self, rules: &PruneRules<'_>) -> Result<Vec<(Learning, String)>, StoreError> {
        self.sql(to_prune(&self.connection, rules, -1))
    }

    /// Prunes up to `most` of them and returns these.
    ///
    /// # Errors
    /// When the database cannot be written; then nothing is pruned.
    pub fn prune_learnings(
        &mut self,
        rules: &PruneRules<'_>,
        most: u32,
        now: Timestamp,
    ) -> Result<Vec<(Learning, String)>, StoreError> {
        self.write(|transaction| {
            let found = to_prune(transaction, rules, i64::from(most))?;
            for (learning, why) in &found {
                prune(transaction, &learning.id, (why, learning.superseded_by.as_ref()), now)?;
            }
            Ok(found)
        })
    }
}

fn read_candidate(row: &Row<'_>) -> rusqlite::Result<MergeCandidate> {
    Ok(MergeCandidate {
        id: word_at(row, "id", LearningId::parse)?,
        kind: word_at(row, "kind", LearningKind::parse)?,
        category: row.get("category")?,
        status: word_at(row, "status", LearningStatus::parse)?,
        source: word_at(row, "source", LearningSource::parse)?,
        task: word_in(row, "task", TaskId::parse)?,
        tags: from_json(&row.get::<_, String>("tags")?, "tags")?,
        content: row.get("content")?,
        examples: from_json(&row.get::<_, String>("examples")?, "examples")?,
    })
}

/// Returns how many learnings were merged into the newest.
fn merge(transaction: &Transaction<'_>, group: &MergeGroup, now: Timestamp) -> rusqlite::Result<usize> {
    let Some(mut newest) = mergeable(transaction, &group.newest)? else {
        return Ok(0);
    };
    let mut merged = 0;
    for id in group.others.iter().filter(|id| **id != group.newest) {
        let other = mergeable(transaction, id)?;
        let Some(other) = other.filter(|other| other.status == newest.status) else {
            continue;
        };
        absorb(&mut newest, &other);
        take_warnings(transaction, &newest.id, &other.id)?;
        let reason = format!("Merged into {}.", newest.id);
        prune(transaction, &other.id, (&reason, Some(&newest.id)), now)?;
        merged += 1;
    }
    if merged > 0 {
        newest.updated_at = now;
        save(transaction, &newest, None)?;
    }
    Ok(merged)
}

/// Returns a learning if it currently may be merged.
fn mergeable(transaction: &Transaction<'_>, id: &LearningId) -> rusqlite::Result<Option<Learning>> {
    let found = transaction
        .prepare_cached(&format!("SELECT * FROM learnings WHERE id = ?1 AND {MERGEABLE}"))?
        .query_row([id.as_str()], read_learning);
    found.optional()
}

/// Takes over texts and support of another learning.
fn absorb(newest: &mut Learning, other: &Learning) {
    let texts = std::iter::once(&other.content).chain(&other.examples);
    let content = newest.content.clone();
    unite(&mut newest.examples, texts.filter(|text| **text != content));
    unite_tags(&mut newest.tags, &other.tags);
    unite(&mut newest.source_loops, &other.source_loops);
    newest.use_count = newest.use_count.saturating_add(other.use_count);
    newest.first_use_count = newest.first_use_count.saturating_add(other.first_use_count);
    newest.successes = newest.successes.saturating_add(other.successes);
    newest.confidence = newest.confidence.max(other.confidence);
    newest.last_used_at = newest.last_used_at.max(other.last_used_at);
}

fn to_prune(connection: &Connection, rules: &PruneRules<'_>, limit: i64) -> rusqlite::Result<Vec<(Learning, String)>> {
    let sql = format!(
        "SELECT *, superseded_by IS NOT NULL AND updated_at < :superseded AS is_superseded FROM learnings
         WHERE {ACTIVE} AND (
             superseded_by IS NOT NULL AND updated_at < :superseded
             OR created_at < :created AND updated_at < :unused AND coalesce(last_used_at, '') < :unused)
         ORDER BY created_at, seq LIMIT :limit"
    );
    let parameters = named_params! {
        ":superseded": moment(rules.superseded_before),
        ":created": moment(rules.created_before),
        ":unused": moment(rules.unused_since),
        ":limit": limit,
    };
    connection
        .prepare_cached(&sql)?
        .query_map(parameters, |row| {
            let why = if row.get("is_superseded")? {
                rules.superseded_reason
            } else {
                rules.unused_reason
            };
            Ok((read_learning(row)?, why.to_owned()))
        })?
        .collect()
}

/// Prunes a learning so that it can be restored.
pub(super) fn prune(
    transaction: &Transaction<'_>,
    id: &LearningId,
    (reason, superseded_by): (&str, Option<&LearningId>),
    now: Timestamp,
) -> rusqlite::Result<()> {
    transaction
        .prepare_cached(
            "UPDATE learnings SET pruned_from = status, status = 'pruned', reason = ?2, superseded_by = ?3, updated_at = ?4
             WHERE id = ?1",
        )?
        .execute(params![
            id.as_str(),
            reason,
            superseded_by.map(LearningId::as_str),
            moment(now),
        ])
        .map(drop)
}
