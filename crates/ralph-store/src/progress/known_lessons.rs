//! Lessons that whole runs taught, here or elsewhere: what may stand in a prompt as knowledge of earlier runs. However many
//! there are, few are looked at: the partial index has them in the order of their confidence.

use ralph_model::{Learning, LearningKind, Signature, StandingRule, TaskType};
use rusqlite::{OptionalExtension, params};

use super::Store;
use super::learning_reading::read_learning;
use super::learning_terms::text_and_tags;
use crate::StoreError;

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
    ($range:literal) => {
        known!(
            "SELECT 1 FROM learnings INDEXED BY learnings_known WHERE kind IN ('antipattern', 'convention') AND",
            "AND ",
            $range
        )
    };
}

impl Store {
    /// The lessons of a kind that runs taught at a kind of work and that may stand in a prompt, the surest first and of these the
    /// newest, so many at most. Those that may not are passed over here: how sure they are would keep others from their places.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn known_lessons(
        &self,
        kind: LearningKind,
        task_type: Option<TaskType>,
        least_confidence: f64,
        most: u32,
    ) -> Result<Vec<Learning>, StoreError> {
        let found = self
            .connection
            .prepare_cached(known!(
                "SELECT * FROM learnings INDEXED BY learnings_known WHERE",
                "AND kind = ?1 AND task_type IS ?2 AND confidence >= ?3
                 AND (kind <> 'strategy'
                      OR CASE WHEN use_count <= first_use_count THEN success_rate >= ?5
                              ELSE use_count - first_use_count < ?7 OR success_rate >= ?6 END)
                 ORDER BY confidence DESC, seq DESC LIMIT ?4"
            ))
            .and_then(|mut statement| {
                let rule = StandingRule::STRATEGIES;
                let parameters = params![
                    kind.word(),
                    task_type.map(TaskType::word),
                    least_confidence,
                    most,
                    rule.enters_at,
                    rule.leaves_below,
                    rule.uses_that_tell,
                ];
                statement.query_map(parameters, read_learning)?.collect()
            });
        self.sql(found)
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
                of_other_work!("task_type < ?1"),
                ") OR EXISTS (",
                of_other_work!("task_type > ?1"),
                ") OR EXISTS (",
                of_other_work!("task_type IS NULL"),
                ")"
            ))
            .and_then(|mut statement| statement.query_row([task_type.word()], |row| row.get(0)));
        self.sql(found)
    }

    /// The words of the texts of those of these lessons that are warnings or conventions which runs taught at other kinds of
    /// work, a space between each two.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn texts_of_other_work(&self, numbers: &[i64], task_type: TaskType) -> Result<Vec<(i64, String)>, StoreError> {
        let question = known!(
            "SELECT terms FROM learnings WHERE",
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
            "SELECT terms FROM learnings WHERE",
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
        let moment = self.sql(self.connection.unchecked_transaction())?;
        let texts = moment.prepare_cached(question).and_then(|mut statement| {
            let mut texts = Vec::new();
            for number in numbers {
                let found = statement.query_row(params![number, task_type.map(TaskType::word)], |row| {
                    let (of_text, _) = text_and_tags(row.get_ref(0)?.as_str()?);
                    Ok((*number, of_text.to_owned()))
                });
                texts.extend(found.optional()?);
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
                statement
                    .query_map(params![signature.as_str(), most], read_learning)?
                    .collect()
            });
        self.sql(found)
    }
}
