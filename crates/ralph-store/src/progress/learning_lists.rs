//! Lessons are looked up, listed and shown with their evidence.

use ralph_model::{JournalRow, Learning, LearningId, LearningKind, LearningStatus, TaskId, TaskType};
use rusqlite::named_params;

use super::Store;
use super::by_beginning::ByBeginning;
use super::columns::to_json;
use super::learning_error::LearningError;
use super::learning_parts::IS_PART;
use super::learning_reading::read_learning;
use crate::StoreError;

/// Which lessons are wanted. What is not set lets everything through.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LearningFilter {
    /// Only those that have come so far; none at all lets every one through.
    pub statuses: Vec<LearningStatus>,
    /// Only those of this kind.
    pub kind: Option<LearningKind>,
    /// Only those of this category.
    pub category: Option<String>,
    /// Only those that were learned at this kind of work.
    pub task_type: Option<TaskType>,
    /// Only those that were first learned at this task.
    pub task: Option<TaskId>,
    /// Only those with this tag, in lower case.
    pub tag: Option<String>,
    /// Whether another one has taken their place.
    pub place: Place,
}

/// Which lessons are wanted by who stands in their place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Place {
    /// All.
    #[default]
    Any,
    /// Those that stand for themselves.
    Own,
    /// Those that another one has taken the place of, or that are part of another one.
    Taken,
}

/// What speaks for a lesson.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LearningEvidence {
    /// The iterations that taught it, or what was merged into it, the oldest first.
    pub taught: Vec<JournalRow>,
    /// The iterations that it stood in the prompt of, the oldest first.
    pub shown: Vec<Showing>,
}

/// An iteration that a lesson stood in the prompt of.
#[derive(Debug, Clone, PartialEq)]
pub struct Showing {
    /// What the journal says of it.
    pub row: JournalRow,
    /// Whether the agent said that it relied on it.
    pub used: bool,
}

impl Store {
    /// The lesson that an id, or the beginning of one, means; the `learn-` in front may be left out.
    ///
    /// # Errors
    /// When there is none or more than one, or the database cannot be read.
    pub fn find_learning(&self, text: &str) -> Result<LearningId, LearningError> {
        let sql = "SELECT id, content FROM learnings WHERE id >= ?1 AND id < ?1 || 'g' ORDER BY id";
        match self.by_beginning(text, LearningId::PREFIX, sql, LearningId::parse)? {
            ByBeginning::One(id) => Ok(id),
            ByBeginning::Nothing => Err(LearningError::Unknown { text: text.to_owned() }),
            ByBeginning::Several(candidates, more) => Err(LearningError::Ambiguous {
                text: text.to_owned(),
                candidates,
                more,
            }),
        }
    }

    /// Whether there is any lesson.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn has_learnings(&self) -> Result<bool, StoreError> {
        let found = self
            .connection
            .prepare_cached("SELECT 1 FROM learnings")
            .and_then(|mut statement| statement.exists([]));
        self.sql(found)
    }

    /// Lessons, the newest first; with a limit only so many of them. One that cannot be read is passed over.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn learning_list(&self, filter: &LearningFilter, limit: Option<u32>) -> Result<Vec<Learning>, StoreError> {
        let found = (|| {
            let statuses: Vec<&str> = filter.statuses.iter().map(|status| status.word()).collect();
            let mut statement = self.connection.prepare_cached(
                "SELECT * FROM learnings
                 WHERE (:statuses = '[]' OR status IN (SELECT value FROM json_each(:statuses)))
                   AND (:kind IS NULL OR kind = :kind)
                   AND (:category IS NULL OR category = :category)
                   AND (:type IS NULL OR task_type = :type)
                   AND (:task IS NULL OR task = :task)
                   AND (:taken IS NULL OR (superseded_by IS NOT NULL) = :taken)
                   AND (:tag IS NULL OR EXISTS (SELECT 1 FROM json_each(tags) WHERE value = :tag))
                 ORDER BY created_at DESC, seq DESC LIMIT :limit",
            )?;
            let parameters = named_params! {
                ":statuses": to_json(&statuses)?,
                ":kind": filter.kind.map(LearningKind::word),
                ":category": filter.category,
                ":type": filter.task_type.map(TaskType::word),
                ":task": filter.task.as_ref().map(TaskId::as_str),
                ":tag": filter.tag,
                ":taken": match filter.place {
                    Place::Any => None,
                    Place::Own => Some(false),
                    Place::Taken => Some(true),
                },
                ":limit": limit.map_or(-1, i64::from),
            };
            let mut learnings = Vec::new();
            for learning in statement.query_map(parameters, read_learning)? {
                learnings.extend(self.passing_over(learning)?);
            }
            Ok(learnings)
        })();
        self.sql(found)
    }

    /// What speaks for a lesson: where it was learned, and how the iterations went that saw it.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn learning_evidence(&self, id: &LearningId) -> Result<LearningEvidence, StoreError> {
        let taught: Vec<i64> = self.sql(
            self.connection
                .prepare_cached(&format!(
                    "WITH RECURSIVE merged(id) AS (
                         SELECT ?1
                         UNION SELECT member.id FROM merged
                         CROSS JOIN learnings AS member ON member.superseded_by = merged.id
                         CROSS JOIN learnings AS survivor ON survivor.id = merged.id WHERE {IS_PART})
                     SELECT DISTINCT learning_sources.journal
                     FROM merged CROSS JOIN learnings ON learnings.id = merged.id
                     CROSS JOIN learning_sources ON learning = learnings.seq ORDER BY learning_sources.journal",
                ))
                .and_then(|mut statement| statement.query_map([id.as_str()], |row| row.get(0))?.collect()),
        )?;
        let shown: Vec<(i64, bool)> = self.sql(
            self.connection
                .prepare_cached(
                    "SELECT journal, max(used) FROM injections
                     WHERE kind = 'learning' AND entry = ?1 AND reason = 'shown' GROUP BY journal ORDER BY journal",
                )
                .and_then(|mut statement| {
                    let rows = statement.query_map([id.as_str()], |row| Ok((row.get(0)?, row.get(1)?)))?;
                    rows.collect()
                }),
        )?;
        let mut evidence = LearningEvidence {
            taught: self.journal_rows(&taught)?,
            shown: Vec::new(),
        };
        for (journal, used) in shown {
            let row = self.journal_row(journal)?;
            evidence.shown.extend(row.map(|row| Showing { row, used }));
        }
        Ok(evidence)
    }
}
