//! Lessons and reports grow old: alike ones are merged, unused ones pruned, long texts shortened. Each method is a piece of
//! that which is whole by itself. Nothing is deleted; what is pruned can be brought back. When and by which rules is decided
//! elsewhere.

use jiff::Timestamp;
use ralph_model::{Learning, LearningId, LearningKind, LearningSource, LearningStatus, TaskId};
use rusqlite::{Connection, Row, Transaction, named_params, params};

use super::Store;
use super::columns::{count_at, from_json, moment, word_at, word_in};
use super::learning_changes::{unite, unite_tags, write_support};
use super::learning_reading::{if_readable, read_learning};
use super::learning_terms::words_beside;
use super::learning_warnings::take_warnings;
use crate::StoreError;

/// Statuses of lessons that hold, or wait to.
pub(super) const ACTIVE: &str = "status IN ('promoted', 'validated', 'pending')";
/// Lessons that may be merged by themselves. The numbers behind one are of that one alone.
const MERGEABLE: &str = "status IN ('promoted', 'validated', 'pending') AND superseded_by IS NULL
    AND restored_at IS NULL AND facts IS NULL";

/// By which moments lessons are pruned, and what is written as the reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PruneRules<'a> {
    /// Those that were first learned before this moment …
    pub created_before: Timestamp,
    /// … and neither stood in a prompt nor changed since this one.
    pub unused_since: Timestamp,
    /// Why those go.
    pub unused_reason: &'a str,
    /// Those that another has taken the place of before this moment.
    pub superseded_before: Timestamp,
    /// Why those go.
    pub superseded_reason: &'a str,
}

/// What is known of a lesson that may be merged with others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergeCandidate {
    /// Its id.
    pub id: LearningId,
    /// Its kind.
    pub kind: LearningKind,
    /// What it is about.
    pub category: String,
    /// How far it has come.
    pub status: LearningStatus,
    /// Where it comes from.
    pub source: LearningSource,
    /// The task that it was first learned at.
    pub task: Option<TaskId>,
    /// Its tags.
    pub tags: Vec<String>,
    /// What its text says beside its tags, as stems with a space between each two; also of what was merged into it.
    pub words: String,
    /// What it says.
    pub content: String,
    /// How many were merged into it already.
    pub examples: u32,
}

/// Lessons that become one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergeGroup {
    /// The newest, whose text stays.
    pub newest: LearningId,
    /// The others, the newest of them first.
    pub others: Vec<LearningId>,
}

/// What a merge did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Merged {
    /// How many lessons went into others.
    pub merged: usize,
    /// Into how many.
    pub into: usize,
}

impl Store {
    /// How many lessons hold, or wait to.
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

    /// How many iterations of this project have ended since lessons were last merged; none when they never were.
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

    /// Notes that all lessons were merged that could be.
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

    /// The lessons that may be merged, the newest first, at most so many. What a person brought back, and what another has
    /// taken the place of, is not among them.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn merge_candidates(&self, most: u32) -> Result<Vec<MergeCandidate>, StoreError> {
        let sql = format!(
            "SELECT id, kind, category, status, source, task, tags, terms, content, json_array_length(examples) AS examples
             FROM learnings WHERE {MERGEABLE}
             ORDER BY created_at DESC, seq DESC LIMIT ?1"
        );
        let found = self
            .connection
            .prepare_cached(&sql)
            .and_then(|mut statement| statement.query_map([most], read_candidate)?.collect());
        self.sql(found)
    }

    /// Makes one lesson of each group. The text of the newest stays and the others' become its examples; tags and runs are
    /// united, counts summed, and it is as sure as the surest. A lesson that somebody has changed so that it does not belong
    /// to its group any more is left alone.
    ///
    /// # Errors
    /// When the database cannot be written; then none was merged.
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

    /// The lessons that are to be pruned, each with why, the oldest first.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn learnings_to_prune(&self, rules: &PruneRules<'_>) -> Result<Vec<(Learning, String)>, StoreError> {
        self.sql(to_prune(&self.connection, rules, -1))
    }

    /// Prunes at most so many of them; those that were.
    ///
    /// # Errors
    /// When the database cannot be written; then none was pruned.
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
    let tags: Vec<String> = from_json(&row.get::<_, String>("tags")?, "tags")?;
    Ok(MergeCandidate {
        id: word_at(row, "id", LearningId::parse)?,
        kind: word_at(row, "kind", LearningKind::parse)?,
        category: row.get("category")?,
        status: word_at(row, "status", LearningStatus::parse)?,
        source: word_at(row, "source", LearningSource::parse)?,
        task: word_in(row, "task", TaskId::parse)?,
        words: words_beside(&row.get::<_, String>("terms")?, &tags),
        tags,
        content: row.get("content")?,
        examples: count_at(row, "examples")?,
    })
}

/// Merges a group; how many lessons went into its newest.
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
        take_in(&mut newest, &other);
        take_warnings(transaction, &newest.id, &other.id)?;
        let reason = format!("Merged into {}.", newest.id);
        prune(transaction, &other.id, (&reason, Some(&newest.id)), now)?;
        merged += 1;
    }
    if merged > 0 {
        write_support(transaction, &newest, now)?;
    }
    Ok(merged)
}

/// A lesson, if it can be read and may be merged as it stands in this moment.
fn mergeable(transaction: &Transaction<'_>, id: &LearningId) -> rusqlite::Result<Option<Learning>> {
    let found = transaction
        .prepare_cached(&format!("SELECT * FROM learnings WHERE id = ?1 AND {MERGEABLE}"))?
        .query_row([id.as_str()], read_learning);
    if_readable(found)
}

/// Takes over what another lesson said, and what speaks for it.
fn take_in(newest: &mut Learning, other: &Learning) {
    let said = std::iter::once(&other.content).chain(&other.examples);
    let content = newest.content.clone();
    unite(&mut newest.examples, said.filter(|text| **text != content));
    unite_tags(&mut newest.tags, &other.tags);
    unite(&mut newest.source_loops, &other.source_loops);
    newest.use_count = newest.use_count.saturating_add(other.use_count);
    newest.first_use_count = newest.first_use_count.saturating_add(other.first_use_count);
    newest.successes = newest.successes.saturating_add(other.successes);
    newest.confidence = newest.confidence.max(other.confidence);
    newest.last_used_at = newest.last_used_at.max(other.last_used_at);
}

/// The lessons that the rules take out, with why.
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

/// Takes a lesson out, so that it can be brought back.
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
