//! Lessons in figures: how many there are of each kind, how sure they are, and which was needed most.

use std::collections::BTreeMap;

use jiff::Timestamp;
use ralph_model::{Learning, LearningKind, LearningSource, LearningStatus, TaskType};
use rusqlite::types::Value;
use rusqlite::{Connection, Row, params_from_iter};

use super::Store;
use super::columns::{number_at, time_at, unreadable, word_at, word_in};
use super::learning_reading::read_learning;
use crate::StoreError;

/// Lessons in figures. Kinds of which there is none are not in the maps.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LearningStats {
    /// How many hold.
    pub held: u64,
    /// When one of those that hold changed last.
    pub last_updated: Option<Timestamp>,
    /// How sure those are that hold, on average; none where there are none.
    pub average_confidence: Option<f64>,
    /// How often what they say succeeds, on average.
    pub average_success_rate: Option<f64>,
    /// The one that stood in most prompts; none as long as none did.
    pub most_used: Option<Learning>,
    /// Those that hold, by their kind.
    pub by_kind: BTreeMap<LearningKind, u64>,
    /// Those that hold, by the kind of work; those of every kind of work are under none.
    pub by_task_type: BTreeMap<Option<TaskType>, u64>,
    /// Those that hold, by where they come from.
    pub by_source: BTreeMap<LearningSource, u64>,
    /// How many another one has taken the place of: they have come as far as they say, and hold no more.
    pub superseded: u64,
    /// All, by how far they have come.
    pub by_status: BTreeMap<LearningStatus, u64>,
    /// How many were met that cannot be read; they are in no other figure.
    pub unreadable: u64,
}

/// Lessons that have all of these in common.
struct Group {
    status: LearningStatus,
    is_superseded: bool,
    kind: LearningKind,
    task_type: Option<TaskType>,
    source: LearningSource,
    lessons: u64,
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
            lessons: 1,
            confidence: learning.confidence,
            success_rate: learning.success_rate,
            updated_at: learning.updated_at,
        }
    }
}

impl LearningStats {
    /// How many have come so far.
    #[must_use]
    pub fn of_status(&self, status: LearningStatus) -> u64 {
        self.by_status.get(&status).copied().unwrap_or_default()
    }

    fn count(&mut self, group: &Group) {
        *self.by_status.entry(group.status).or_default() += group.lessons;
        if group.is_superseded {
            self.superseded += group.lessons;
            return;
        }
        if group.status != LearningStatus::Promoted {
            return;
        }
        self.held += group.lessons;
        self.last_updated = self.last_updated.max(Some(group.updated_at));
        *self.by_kind.entry(group.kind).or_default() += group.lessons;
        *self.by_task_type.entry(group.task_type).or_default() += group.lessons;
        *self.by_source.entry(group.source).or_default() += group.lessons;
        *self.average_confidence.get_or_insert_default() += group.confidence;
        *self.average_success_rate.get_or_insert_default() += group.success_rate;
    }

    /// Makes averages of sums.
    #[expect(clippy::cast_precision_loss, reason = "nobody has so many lessons")]
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
    /// How many lessons there are, whatever they hold.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn count_learnings(&self) -> Result<u64, StoreError> {
        let counted = self
            .connection
            .prepare_cached("SELECT count(*) AS lessons FROM learnings")
            .and_then(|mut statement| statement.query_row([], |row| number_at(row, "lessons")));
        self.sql(counted)
    }

    /// Lessons in figures. One that cannot be read is counted as such, and noted, where a figure depends on it.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn learning_stats(&self) -> Result<LearningStats, StoreError> {
        self.sql((|| {
            // Both are of the same moment.
            let moment = self.look()?;
            let mut stats = LearningStats::default();
            let mut statement = moment.prepare_cached(
                "SELECT status, superseded_by IS NOT NULL AND status NOT IN ('rejected', 'pruned') AS is_superseded, kind,
                        task_type, source, count(*) AS lessons, sum(confidence) AS confidence,
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
            stats.most_used = self.passing_over(most_used)?;
            Ok(stats)
        })())
    }

    /// Counts the lessons of a group of which one at least cannot be read.
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
            match self.passing_over(read_learning(row))? {
                Some(learning) => stats.count(&Group::from(&learning)),
                None => stats.unreadable += 1,
            }
        }
        Ok(())
    }
}

/// Lessons that have everything in common; an error where one of them at least cannot be read.
fn read_group(row: &Row<'_>) -> rusqlite::Result<Group> {
    if number_at(row, "no_numbers")? > 0 {
        return Err(unreadable("no number where one has to be".to_owned()));
    }
    Ok(Group {
        status: word_at(row, "status", LearningStatus::parse)?,
        is_superseded: row.get("is_superseded")?,
        kind: word_at(row, "kind", LearningKind::parse)?,
        task_type: word_in(row, "task_type", TaskType::parse)?,
        source: word_at(row, "source", LearningSource::parse)?,
        lessons: number_at(row, "lessons")?,
        confidence: row.get("confidence")?,
        success_rate: row.get("success_rate")?,
        updated_at: time_at(row, "updated_at")?,
    })
}
