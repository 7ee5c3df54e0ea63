//! Lookup and lists of learnings, and their evidence.

use ralph_model::{JournalRow, Learning, LearningId, LearningKind, LearningStatus, TaskId, TaskType};
use rusqlite::named_params;

use super::Store;
use super::columns::to_json;
use super::id_prefix::IdPrefix;
use super::learning_error::LearningError;
use super::learning_parts::IS_PART;
use super::learning_reading::read_learning;
use crate::StoreError;

/// Filter for learnings. Unset fields match everything.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LearningFilter {
    /// An empty list matches every status.
    pub statuses: Vec<LearningStatus>,
    pub kind: Option<LearningKind>,
    pub category: Option<String>,
    pub task_type: Option<TaskType>,
    /// The task in which it was first learned.
    pub task: Option<TaskId>,
    pub tag: Option<String>,
    pub place: Place,
}

/// Filter by whether a learning is superseded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Place {
    #[default]
    Any,
    Own,
    /// Superseded or merged.
    Taken,
}

/// Evidence for a learning.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LearningEvidence {
    /// The iterations that taught it, or a learning merged into it; oldest first.
    pub taught: Vec<JournalRow>,
    /// The iterations that had it in the prompt; oldest first.
    pub shown: Vec<Showing>,
}

/// An iteration that had a learning in its prompt.
#[derive(Debug, Clone, PartialEq)]
pub struct Showing {
    pub row: JournalRow,
    /// Whether the agent reported that it used the learning.
    pub used: bool,
}

impl Store {
    /// Resolves an id or a prefix of one; the leading `learn-` is optional.
    ///
    /// # Errors
    /// When none or several match, or the database cannot be read.
    pub fn find_learning(&self, text: &str) -> Result<LearningId, LearningError> {
        let sql = "SELECT id, content FROM learnings WHERE id >= ?1 AND id < ?1 || 'g' ORDER BY id";
        match self.id_prefix(text, LearningId::PREFIX, sql, LearningId::parse)? {
            IdPrefix::One(id) => Ok(id),
            IdPrefix::Nothing => Err(LearningError::Unknown { text: text.to_owned() }),
            IdPrefix::Several(candidates, more) => Err(LearningError::Ambiguous {
                text: text.to_owned(),
                candidates,
                more,
            }),
        }
    }

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

    /// Lists learnings, newest first, up to the limit. Unreadable ones are skipped.
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
            statement.query_map(parameters, read_learning)?.collect()
        })();
        self.sql(found)
    }

    /// Returns the evidence for a learning: where it was learned, and the outcomes of iterations that had it in the
    /// prompt.
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
