//! Statistics of learnings: counts by kind, average confidence, most used.

use std::collections::BTreeMap;

use jiff::Timestamp;
use ralph_model::{Learning, LearningKind, LearningSource, LearningStatus, TaskType};
use rusqlite::{OptionalExtension, Row};

use super::Store;
use super::columns::{number_at, time_at, word_at, word_in};
use super::learning_reading::read_learning;
use crate::StoreError;

/// Statistics of learnings. Groups without learnings are not in the maps.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LearningStats {
    pub held: u64,
    /// Last change of an active one.
    pub last_updated: Option<Timestamp>,
    /// Average of the active ones; `None` if there are none.
    pub average_confidence: Option<f64>,
    pub average_success_rate: Option<f64>,
    /// The one that was in most prompts; `None` if none was.
    pub most_used: Option<Learning>,
    /// Active ones by kind.
    pub by_kind: BTreeMap<LearningKind, u64>,
    /// Active ones by task type; `None` for those of every type.
    pub by_task_type: BTreeMap<Option<TaskType>, u64>,
    /// Active ones by source.
    pub by_source: BTreeMap<LearningSource, u64>,
    /// Number of superseded ones; they keep their status but are not active.
    pub superseded: u64,
    /// All, by status.
    pub by_status: BTreeMap<LearningStatus, u64>,
}

struct Group {
    status: LearningStatus,
    is_superseded: bool,
    kind: LearningKind,
    task_type: Option<TaskType>,
    source: LearningSource,
    learnings: u64,
    confidence: f64,
    success_rate: f64,
    updated_at: Timestamp,
}

impl LearningStats {
    #[must_use]
    pub fn of_status(&self, status: LearningStatus) -> u64 {
        self.by_status.get(&status).copied().unwrap_or_default()
    }

    fn count(&mut self, group: &Group) {
        *self.by_status.entry(group.status).or_default() += group.learnings;
        if group.is_superseded {
            self.superseded += group.learnings;
            return;
        }
        if group.status != LearningStatus::Promoted {
            return;
        }
        self.held += group.learnings;
        self.last_updated = self.last_updated.max(Some(group.updated_at));
        *self.by_kind.entry(group.kind).or_default() += group.learnings;
        *self.by_task_type.entry(group.task_type).or_default() += group.learnings;
        *self.by_source.entry(group.source).or_default() += group.learnings;
        *self.average_confidence.get_or_insert_default() += group.confidence;
        *self.average_success_rate.get_or_insert_default() += group.success_rate;
    }

    #[expect(clippy::cast_precision_loss, reason = "there are fewer learnings")]
    fn divide(&mut self) {
        let held = self.held as f64;
        for sum in [&mut self.average_confidence, &mut self.average_success_rate]
            .into_iter()
            .flatten()
        {
            *sum /= held;
        }
    }
}

impl Store {
    /// Returns the number of all learnings.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn count_learnings(&self) -> Result<u64, StoreError> {
        let counted = self
            .connection
            .prepare_cached("SELECT count(*) AS learnings FROM learnings")
            .and_then(|mut statement| statement.query_row([], |row| number_at(row, "learnings")));
        self.sql(counted)
    }

    /// Returns statistics.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn learning_stats(&self) -> Result<LearningStats, StoreError> {
        self.sql((|| {
            // Both queries read the same snapshot.
            let moment = self.begin_read()?;
            let mut stats = LearningStats::default();
            let mut statement = moment.prepare_cached(
                "SELECT status, superseded_by IS NOT NULL AND status NOT IN ('rejected', 'pruned') AS is_superseded, kind,
                        task_type, source, count(*) AS learnings, sum(confidence) AS confidence,
                        sum(success_rate) AS success_rate, max(updated_at) AS updated_at
                 FROM learnings GROUP BY status, is_superseded, kind, task_type, source",
            )?;
            let mut groups = statement.query([])?;
            while let Some(row) = groups.next()? {
                stats.count(&read_group(row)?);
            }
            stats.divide();
            let most_used = moment
                .prepare_cached(
                    "SELECT * FROM learnings WHERE seq = (
                         SELECT seq FROM learnings WHERE status = 'promoted' AND superseded_by IS NULL AND use_count > 0
                         ORDER BY use_count DESC, seq LIMIT 1)",
                )?
                .query_row([], read_learning);
            stats.most_used = most_used.optional()?;
            Ok(stats)
        })())
    }
}

fn read_group(row: &Row<'_>) -> rusqlite::Result<Group> {
    Ok(Group {
        status: word_at(row, "status", LearningStatus::parse)?,
        is_superseded: row.get("is_superseded")?,
        kind: word_at(row, "kind", LearningKind::parse)?,
        task_type: word_in(row, "task_type", TaskType::parse)?,
        source: word_at(row, "source", LearningSource::parse)?,
        learnings: number_at(row, "learnings")?,
        confidence: row.get("confidence")?,
        success_rate: row.get("success_rate")?,
        updated_at: time_at(row, "updated_at")?,
    })
}
