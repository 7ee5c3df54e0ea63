//! Statistics of learnings: counts by kind, average confidence, most used.

use std::collections::BTreeMap;

use jiff::Timestamp;
use ralph_model::{Learning, LearningKind, LearningSource, LearningStatus, TaskType};
use rusqlite::types::Value;
use rusqlite::{Connection, Row, params_from_iter};

use super::Store;
use super::columns::{number_at, time_at, unreadable, word_at, word_in};
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
    /// Number of unreadable ones; no other figure includes them.
    pub unreadable: u64,
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

impl From<&Learning> for Group {
    fn from(learning: &Learning) -> Self {
        Self {
            status: learning.status,
            is_superseded: learning.is_superseded(),
            kind: learning.kind,
            task_type: learning.task_type,
            source: learning.source,
            learnings: 1,
            confidence: learning.confidence,
            success_rate: learning.success_rate,
            updated_at: learning.updated_at,
        }
    }
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
    /// Returns the number of all learnings, readable or not.
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

    /// Returns statistics. Unreadable learnings are counted separately, and recorded where a figure depends on them.
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
                        sum(success_rate) AS success_rate, max(updated_at) AS updated_at,
                        sum(typeof(confidence) <> 'real' OR typeof(success_rate) <> 'real') AS no_numbers
                 FROM learnings GROUP BY status, is_superseded, kind, task_type, source",
            )?;
            let mut groups = statement.query([])?;
            while let Some(row) = groups.next()? {
                match read_group(row) {
                    Ok(group) => stats.count(&group),
                    Err(error @ rusqlite::Error::SqliteFailure(..)) => return Err(error),
                    Err(_unreadable) => self.count_one_by_one(&moment, row, &mut stats)?,
                }
            }
            stats.divide();
            let most_used = moment
                .prepare_cached(
                    "SELECT * FROM learnings WHERE seq = (
                         SELECT seq FROM learnings WHERE status = 'promoted' AND superseded_by IS NULL AND use_count > 0
                         ORDER BY use_count DESC, seq LIMIT 1)",
                )?
                .query_row([], read_learning);
            stats.most_used = self.skip_unreadable(most_used)?;
            Ok(stats)
        })())
    }

    /// Counts a group with at least one unreadable learning.
    fn count_one_by_one(
        &self,
        connection: &Connection,
        group: &Row<'_>,
        stats: &mut LearningStats,
    ) -> rusqlite::Result<()> {
        let common =
            ["status", "kind", "task_type", "source", "is_superseded"].map(|column| group.get::<_, Value>(column));
        let common = common.into_iter().collect::<rusqlite::Result<Vec<_>>>()?;
        let mut statement = connection.prepare_cached(
            "SELECT * FROM learnings
             WHERE status IS ?1 AND kind IS ?2 AND task_type IS ?3 AND source IS ?4
                   AND (superseded_by IS NOT NULL AND status NOT IN ('rejected', 'pruned')) IS ?5
             ORDER BY seq",
        )?;
        let mut rows = statement.query(params_from_iter(common))?;
        while let Some(row) = rows.next()? {
            match self.skip_unreadable(read_learning(row))? {
                Some(learning) => stats.count(&Group::from(&learning)),
                None => stats.unreadable += 1,
            }
        }
        Ok(())
    }
}

/// Returns an error if at least one learning of the group is unreadable.
fn read_group(row: &Row<'_>) -> rusqlite::Result<Group> {
    if number_at(row, "no_numbers")? > 0 {
        return Err(unreadable("a number is missing".to_owned()));
    }
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
