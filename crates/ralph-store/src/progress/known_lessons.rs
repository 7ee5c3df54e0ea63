//! Lessons that whole runs taught, here or elsewhere: what may stand in a prompt as knowledge of earlier runs. However many
//! there are, few are looked at: the partial index has them in the order of their confidence.

use std::collections::HashSet;

use ralph_model::{Learning, LearningKind, Signature, StandingRule, TaskType};
use rusqlite::params;

use super::Store;
use super::learning_reading::{read_learning, read_text};
use crate::StoreError;

/// How many lessons are named that may not stand in a prompt.
const MOST_FAILING: usize = 3;
/// How many of the surest are looked at until as many are found as are asked for.
const MOST_LOOKED_AT: u32 = 10_000;

/// Lessons that whole runs taught.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct KnownLessons {
    /// Those that may stand in a prompt.
    pub standing: Vec<Learning>,
    /// A few that may not, because those who saw them did not do well: of as sure ones as the others.
    pub failing: Vec<Learning>,
}

/// What the partial index holds; a question that says so in other words would not be answered by it.
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

/// Warnings and conventions of some kinds of work. Each range is asked for by itself, so that the index can leap there.
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
    /// The lessons of a kind that runs taught at a kind of work and that may stand in a prompt, the surest first and of these the
    /// newest, so many at most. Those that may not take no place: how sure they are would keep others from theirs. Nor do those
    /// that cannot be read.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn known_lessons(
        &self,
        kind: LearningKind,
        task_type: Option<TaskType>,
        least_confidence: f64,
        most: usize,
    ) -> Result<KnownLessons, StoreError> {
        let rule = StandingRule::STRATEGIES;
        let parameters = params![
            kind.word(),
            task_type.map(TaskType::word),
            least_confidence,
            rule.enters_at,
            rule.leaves_below,
            rule.uses_that_tell,
            MOST_LOOKED_AT,
        ];
        let read = || -> rusqlite::Result<KnownLessons> {
            let moment = self.look()?;
            let mut found = KnownLessons::default();
            // The index has them in this order, and all that is asked for here: rows are read only of those that are told.
            let mut ranked = moment.prepare_cached(known!(
                "SELECT seq, kind <> 'strategy'
                        OR CASE WHEN use_count <= first_use_count THEN success_rate >= ?4
                                ELSE use_count - first_use_count < ?6 OR success_rate >= ?5 END AS stands
                 FROM learnings INDEXED BY learnings_known WHERE",
                "AND kind = ?1 AND task_type IS ?2 AND confidence >= ?3 ORDER BY confidence DESC, seq DESC LIMIT ?7"
            ))?;
            let mut lesson = moment.prepare_cached("SELECT * FROM learnings WHERE seq = ?1")?;
            let mut rows = ranked.query(parameters)?;
            while found.standing.len() < most
                && let Some(row) = rows.next()?
            {
                let stands: bool = row.get("stands")?;
                if !stands && found.failing.len() >= MOST_FAILING {
                    continue;
                }
                let seq: i64 = row.get("seq")?;
                let learning = self.passing_over(lesson.query_row([seq], read_learning))?;
                // The index does not know what says nothing.
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

    /// Whether runs taught warnings or conventions at any other kind of work.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn has_lessons_of_other_work(&self, task_type: TaskType) -> Result<bool, StoreError> {
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

    /// The numbers of all warnings and conventions that runs taught at other kinds of work than this; none if there are more than
    /// so many.
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

    /// The same of all warnings, whatever the work was.
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

    /// The words of the texts of those of these lessons that are warnings or conventions which runs taught at other kinds of
    /// work, a space between each two.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn texts_of_other_work(&self, numbers: &[i64], task_type: TaskType) -> Result<Vec<(i64, String)>, StoreError> {
        let question = known!(
            "SELECT terms, id FROM learnings WHERE",
            "AND seq = ?1 AND task_type IS NOT ?2 AND kind IN ('antipattern', 'convention')"
        );
        self.texts_of(question, numbers, Some(task_type))
    }

    /// The same of those that are warnings, whatever the work was.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn texts_of_warnings(&self, numbers: &[i64]) -> Result<Vec<(i64, String)>, StoreError> {
        let question = known!(
            "SELECT terms, id FROM learnings WHERE",
            "AND seq = ?1 AND kind = 'antipattern' AND ?2 IS NULL"
        );
        self.texts_of(question, numbers, None)
    }

    fn texts_of(
        &self,
        question: &str,
        numbers: &[i64],
        task_type: Option<TaskType>,
    ) -> Result<Vec<(i64, String)>, StoreError> {
        let moment = self.sql(self.look())?;
        let texts = moment.prepare_cached(question).and_then(|mut statement| {
            let mut texts = Vec::new();
            for number in numbers {
                let found = statement.query_row(params![number, task_type.map(TaskType::word)], read_text);
                texts.extend(self.passing_over(found)?.map(|text| (*number, text)));
            }
            Ok(texts)
        });
        self.sql(texts)
    }

    /// The lessons of runs that warn of a failure, the newest first, so many at most.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn lessons_warning_of(&self, signature: &Signature, most: u32) -> Result<Vec<Learning>, StoreError> {
        let found = self
            .connection
            .prepare_cached(known!(
                "SELECT learnings.* FROM learning_signatures CROSS JOIN learnings ON seq = learning
                 WHERE signature = ?1 AND kind = 'antipattern' AND",
                "ORDER BY seq DESC LIMIT ?2"
            ))
            .and_then(|mut statement| {
                let mut lessons = Vec::new();
                for lesson in statement.query_map(params![signature.as_str(), most], read_learning)? {
                    lessons.extend(self.passing_over(lesson)?);
                }
                Ok(lessons)
            });
        self.sql(found)
    }
}
