//! Learnings: what iterations taught, with evidence and a status.

use jiff::Timestamp;
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use crate::word_enum::word_enum;
use crate::{Facts, LearningId, TaskId, TaskType, serialize_timestamp};

/// The maximum number of texts merged into a learning.
pub const MAX_EXAMPLES: usize = 9;

word_enum! {
    pub enum LearningKind {
        Strategy = "strategy",
        /// Something to avoid.
        Antipattern = "antipattern",
        Estimate = "estimate",
        /// How this project does things.
        Convention = "convention",
    }
}

impl LearningKind {
    /// The kind that belongs to a category.
    #[must_use]
    pub fn of_category(category: &str) -> Self {
        match category {
            "pitfall" => Self::Antipattern,
            "code_structure" => Self::Convention,
            _ => Self::Strategy,
        }
    }

    /// The success rate before any outcome is known.
    #[must_use]
    pub fn first_success_rate(self) -> f64 {
        match self {
            Self::Antipattern => 0.0,
            Self::Strategy | Self::Estimate | Self::Convention => 1.0,
        }
    }
}

word_enum! {
    /// Where a learning comes from.
    pub enum LearningSource {
        Sigil = "sigil",
        /// Extracted from the journal.
        Extracted = "extracted",
        /// From another store.
        Imported = "imported",
        Human = "human",
    }
}

word_enum! {
    /// Status of a learning.
    pub enum LearningStatus {
        Pending = "pending",
        /// Valid, but without evidence or not yet accepted by a person.
        Validated = "validated",
        /// Invalid, or refused by a person.
        Rejected = "rejected",
        /// Active: eligible for injection.
        Promoted = "promoted",
        /// Retired; can be restored.
        Pruned = "pruned",
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct Learning {
    pub id: LearningId,
    pub kind: LearningKind,
    /// `pitfall`, `testing_strategy`, …; any word.
    pub category: String,
    /// The type of task it was learned from, if known.
    pub task_type: Option<TaskType>,
    pub content: String,
    /// Given tags first, then inferred ones.
    pub tags: Vec<String>,
    /// From 0 to 1.
    pub confidence: f64,
    /// From 0 to 1.
    pub success_rate: f64,
    /// The success rate before any outcome was counted here.
    pub first_success_rate: f64,
    /// The number of counted iterations that had it in their prompt, here and elsewhere.
    pub use_count: u32,
    /// How many of those were elsewhere; the initial success rate covers them.
    pub first_use_count: u32,
    /// How many of those here were done.
    pub successes: u32,
    pub source: LearningSource,
    /// All runs that taught it. Imports use them to recognise a run that was already imported, so none may be dropped.
    pub source_loops: Vec<String>,
    /// The task it was first learned from; may be deleted.
    pub task: Option<TaskId>,
    /// The journal entry it was first learned from.
    pub journal: Option<i64>,
    pub status: LearningStatus,
    /// Why it was rejected or retired.
    pub reason: Option<String>,
    pub superseded_by: Option<LearningId>,
    /// The texts of learnings merged into it.
    pub examples: Vec<String>,
    /// The numbers behind it, if it was extracted.
    pub facts: Option<Facts>,
    /// Its id in the store it was imported from.
    pub foreign_id: Option<String>,
    /// When the last iteration that had it in its prompt ended.
    pub last_used_at: Option<Timestamp>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// The JSON form of other tools, followed by ralph's own fields.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct JsonLearning<'a> {
    id: &'a LearningId,
    r#type: LearningKind,
    task_type: Option<TaskType>,
    content: LearningContent<'a>,
    confidence: f64,
    source_loops: &'a [String],
    #[serde(serialize_with = "serialize_timestamp")]
    created_at: Timestamp,
    #[serde(serialize_with = "serialize_timestamp")]
    updated_at: Timestamp,
    use_count: u32,
    success_rate: f64,
    status: LearningStatus,
    source: LearningSource,
    category: &'a str,
    tags: &'a [String],
    task: Option<&'a TaskId>,
    journal: Option<i64>,
    reason: Option<&'a str>,
    superseded_by: Option<&'a LearningId>,
    examples: &'a [String],
    successes: u32,
    first_success_rate: f64,
    first_use_count: u32,
    foreign_id: Option<&'a str>,
    #[serde(serialize_with = "serialize_timestamp")]
    last_used_at: Option<Timestamp>,
}

impl Serialize for Learning {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let form = JsonLearning {
            id: &self.id,
            r#type: self.kind,
            task_type: self.task_type,
            content: LearningContent {
                kind: self.kind,
                description: &self.content,
                facts: self.facts.as_ref(),
            },
            confidence: self.confidence,
            source_loops: &self.source_loops,
            created_at: self.created_at,
            updated_at: self.updated_at,
            use_count: self.use_count,
            success_rate: self.success_rate,
            status: self.status,
            source: self.source,
            category: &self.category,
            tags: &self.tags,
            task: self.task.as_ref(),
            journal: self.journal,
            reason: self.reason.as_deref(),
            superseded_by: self.superseded_by.as_ref(),
            examples: &self.examples,
            successes: self.successes,
            first_success_rate: self.first_success_rate,
            first_use_count: self.first_use_count,
            foreign_id: self.foreign_id.as_deref(),
            last_used_at: self.last_used_at,
        };
        form.serialize(serializer)
    }
}

/// The content of a learning and its numbers, with the field names of other tools.
#[derive(Debug, Clone, Copy)]
pub struct LearningContent<'a> {
    pub kind: LearningKind,
    pub description: &'a str,
    pub facts: Option<&'a Facts>,
}

impl Serialize for LearningContent<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut parts = serializer.serialize_map(None)?;
        parts.serialize_entry("description", self.description)?;
        if self.kind == LearningKind::Convention {
            parts.serialize_entry("pattern", self.description)?;
        }
        match self.facts {
            Some(Facts::Strategy {
                effectiveness,
                iterations,
            }) => {
                parts.serialize_entry("effectiveness", effectiveness)?;
                parts.serialize_entry("iterations", iterations)?;
            }
            Some(Facts::Antipattern {
                occurrences, impact, ..
            }) => {
                parts.serialize_entry("occurrences", occurrences)?;
                parts.serialize_entry("impact", impact)?;
            }
            Some(Facts::Estimate {
                avg_iteration_time,
                total_iterations,
                complexity,
                success_rate,
                sampled,
            }) => {
                parts.serialize_entry("avgIterationTime", avg_iteration_time)?;
                parts.serialize_entry("totalIterations", total_iterations)?;
                parts.serialize_entry("complexity", complexity)?;
                parts.serialize_entry("successRate", success_rate)?;
                parts.serialize_entry("sampled", sampled)?;
            }
            Some(Facts::Convention { examples }) => parts.serialize_entry("examples", examples)?,
            None => {}
        }
        parts.end()
    }
}
