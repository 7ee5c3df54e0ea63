//! Learnings from whole runs, here or imported, that may be injected as knowledge of earlier runs. A partial index has
//! them in order of confidence, so few rows are read however many there are.

use std::collections::HashSet;

use ralph_model::{EligibilityRule, Learning, LearningKind, Signature, TaskType};
use rusqlite::{OptionalExtension, params};

use super::Store;
use super::learning_reading::read_learning;
use crate::StoreError;

/// Maximum number of ineligible learnings to return.
const MAX_INELIGIBLE: usize = 3;
/// Maximum number of rows to examine while looking for enough eligible ones.
const MAX_EXAMINED: u32 = 10_000;

#[derive(Debug, Clone, PartialEq, Default)]
pub struct RunLearnings {
    /// Eligible learnings.
    pub standing: Vec<Learning>,
    /// A few that are not eligible because of poor outcomes, with a confidence like that of the others.
    pub failing: Vec<Learning>,
}

/// The condition of the partial index; SQLite uses the index only if the query repeats it literally.
macro_rules! known {
    ($question:literal) => {
        concat!(
            $question,
            " status = 'promoted' AND superseded_by IS NULL AND source IN ('extracted', 'imported') "
        )
    };
    ($question:literal, $($more:literal),+) => {
        concat!(known!($question), $($more),+)
    };
}

/// Warnings and conventions of some task types. Each range is a query of its own so that the index can seek to it.
macro_rules! of_other_work {
    ($wanted:literal, $range:literal) => {
        concat!(
            "SELECT ",
            $wanted,
            known!(
                " FROM learnings INDEXED BY learnings_known WHERE kind IN ('antipattern', 'convention') AND",
                "AND ",
                $range
            )
        )
    };
}

impl Store {
    /// Returns up to `most` eligible learnings of one kind and task type, by descending confidence, newest first.
    /// Ineligible and unreadable ones do not count toward the limit.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn run_learnings(
        &self,
        kind: LearningKind,
        task_type: Option<TaskType>,
        least_confidence: f64,
        most: usize,
    ) -> Result<RunLearnings, StoreError> {
        let rule = EligibilityRule::STRATEGIES;
        let parameters = params![
            kind.word(),
            task_type.map(TaskType::word),
            least_confidence,
            rule.enters_at,
            rule.leaves_below,
            rule.min_uses,
            MAX_EXAMINED,
        ];
        let read = || -> rusqlite::Result<RunLearnings> {
            let moment = self.begin_read()?;
            let mut found = RunLearnings::default();
            // The index provides this order and these columns; full rows are read only for the learnings that are
            // returned.
            let mut ranked = moment.prepare_cached(known!(
                "SELECT seq, kind <> 'strategy'
                        OR CASE WHEN use_count <= first_use_count THEN success_rate >= ?4
                                ELSE use_count - first_use_count < ?6 OR success_rate >= ?5 END AS stands
                 FROM learnings INDEXED BY learnings_known WHERE",
                "AND kind = ?1 AND task_type IS ?2 AND confidence >= ?3 ORDER BY confidence DESC, seq DESC LIMIT ?7"
            ))?;
            let mut learning = moment.prepare_cached("SELECT * FROM learnings WHERE seq = ?1")?;
            let mut rows = ranked.query(parameters)?;
            while found.standing.len() < most
                && let Some(row) = rows.next()?
            {
                let stands: bool = row.get("stands")?;
                if !stands && found.failing.len() >= MAX_INELIGIBLE {
                    continue;
                }
                let seq: i64 = row.get("seq")?;
                let learning = learning.query_row([seq], read_learning).optional()?;
                // The index does not cover empty texts.
                let place = if stands && learning.as_ref().is_none_or(Learning::has_text) {
                    &mut found.standing
                } else {
                    &mut found.failing
                };
                place.extend(learning);
            }
            Ok(found)
        };
        self.sql(read())
    }

    /// Whether there are warnings or conventions from runs for any other task type.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn has_learnings_of_other_work(&self, task_type: TaskType) -> Result<bool, StoreError> {
        let found = self
            .connection
            .prepare_cached(concat!(
                "SELECT EXISTS (",
                of_other_work!("1", "task_type < ?1"),
                ") OR EXISTS (",
                of_other_work!("1", "task_type > ?1"),
                ") OR EXISTS (",
                of_other_work!("1", "task_type IS NULL"),
                ")"
            ))
            .and_then(|mut statement| statement.query_row([task_type.word()], |row| row.get(0)));
        self.sql(found)
    }

    /// Returns the numbers of all warnings and conventions from runs for other task types, or `None` if there are more
    /// than `most`.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn few_of_other_work(&self, task_type: TaskType, most: usize) -> Result<Option<HashSet<i64>>, StoreError> {
        let question = concat!(
            of_other_work!("seq", "task_type < ?1"),
            " UNION ALL ",
            of_other_work!("seq", "task_type > ?1"),
            " UNION ALL ",
            of_other_work!("seq", "task_type IS NULL"),
            " LIMIT ?2"
        );
        self.few_of(question, Some(task_type), most)
    }

    /// Like [`few_of_other_work`](Self::few_of_other_work), for warnings of every task type.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn few_warnings(&self, most: usize) -> Result<Option<HashSet<i64>>, StoreError> {
        let question = known!(
            "SELECT seq FROM learnings INDEXED BY learnings_known WHERE",
            "AND kind = 'antipattern' AND ?1 IS NULL LIMIT ?2"
        );
        self.few_of(question, None, most)
    }

    fn few_of(
        &self,
        question: &str,
        task_type: Option<TaskType>,
        most: usize,
    ) -> Result<Option<HashSet<i64>>, StoreError> {
        let one_more = i64::try_from(most.saturating_add(1)).unwrap_or(i64::MAX);
        let found = self.connection.prepare_cached(question).and_then(|mut statement| {
            let parameters = params![task_type.map(TaskType::word), one_more];
            statement
                .query_map(parameters, |row| row.get(0))?
                .collect::<rusqlite::Result<HashSet<i64>>>()
        });
        Ok(Some(self.sql(found)?).filter(|found| found.len() <= most))
    }

    /// Whether a learning is a warning or convention from runs for another task type.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn is_of_other_work(&self, number: i64, task_type: TaskType) -> Result<bool, StoreError> {
        let question = known!(
            "SELECT 1 FROM learnings WHERE",
            "AND seq = ?1 AND task_type IS NOT ?2 AND kind IN ('antipattern', 'convention')"
        );
        self.learning_exists(question, params![number, task_type.word()])
    }

    /// Whether a learning is a warning from runs.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn is_run_warning(&self, number: i64) -> Result<bool, StoreError> {
        let question = known!("SELECT 1 FROM learnings WHERE", "AND seq = ?1 AND kind = 'antipattern'");
        self.learning_exists(question, [number])
    }

    /// Returns up to `most` learnings from runs that warn of a failure, newest first.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn learnings_warning_of(&self, signature: &Signature, most: u32) -> Result<Vec<Learning>, StoreError> {
        let found = self
            .connection
            .prepare_cached(known!(
                "SELECT learnings.* FROM learning_signatures CROSS JOIN learnings ON seq = learning
                 WHERE signature = ?1 AND kind = 'antipattern' AND",
                "ORDER BY seq DESC LIMIT ?2"
            ))
            .and_then(|mut statement| {
                let known = statement.query_map(params![signature.as_str(), most], read_learning)?;
                known.collect()
            });
        self.sql(found)
    }
}
