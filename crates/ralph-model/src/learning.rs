//! Lessons: what iterations teach, with the evidence for it.

use jiff::Timestamp;
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use crate::word_enum::word_enum;
use crate::{Facts, LearningId, TaskId, TaskType, serialize_moment};

/// How many texts a lesson may hold beside its own: more than that helps nobody who reads it.
pub const MOST_EXAMPLES: usize = 9;

word_enum! {
    /// What kind of lesson it is.
    pub enum LearningKind {
        /// A way that works.
        Strategy = "strategy",
        /// A way that does not.
        Antipattern = "antipattern",
        /// How long something takes.
        Estimate = "estimate",
        /// How things are done here.
        Convention = "convention",
    }
}

impl LearningKind {
    /// The kind of a lesson that an agent filed under a category.
    #[must_use]
    pub fn of_category(category: &str) -> Self {
        match category {
            "pitfall" => Self::Antipattern,
            "code_structure" => Self::Convention,
            _ => Self::Strategy,
        }
    }

    /// How often such a thing succeeds before anybody has counted.
    #[must_use]
    pub fn first_success_rate(self) -> f64 {
        match self {
            Self::Antipattern => 0.0,
            Self::Strategy | Self::Estimate | Self::Convention => 1.0,
        }
    }
}

word_enum! {
    /// Where a lesson comes from.
    pub enum LearningSource {
        /// An agent said it.
        Sigil = "sigil",
        /// ralph drew it from the journal.
        Extracted = "extracted",
        /// It came from another store.
        Imported = "imported",
        /// A person said it.
        Human = "human",
    }
}

word_enum! {
    /// How far a lesson has come.
    pub enum LearningStatus {
        /// Nobody has judged it.
        Pending = "pending",
        /// It can be true; nothing has shown it yet, or a person has to say so.
        Validated = "validated",
        /// It cannot be true, or a person said no.
        Rejected = "rejected",
        /// It holds, and stands in prompts.
        Promoted = "promoted",
        /// It was taken out, and can be brought back.
        Pruned = "pruned",
    }
}

/// A lesson.
#[derive(Debug, Clone, PartialEq)]
pub struct Learning {
    /// Its id.
    pub id: LearningId,
    /// What kind of lesson it is.
    pub kind: LearningKind,
    /// What it is about: `pitfall`, `testing_strategy`, …; any word.
    pub category: String,
    /// The kind of work that it was learned at; none where nobody knows.
    pub task_type: Option<TaskType>,
    /// What it says.
    pub content: String,
    /// Its tags, those that it was given first, then those that were found.
    pub tags: Vec<String>,
    /// How sure it is, from 0 to 1.
    pub confidence: f64,
    /// How often what it says succeeds, from 0 to 1.
    pub success_rate: f64,
    /// How often it succeeded before anybody counted here.
    pub first_success_rate: f64,
    /// In how many iterations that count it stood in the prompt, here and elsewhere.
    pub use_count: u32,
    /// How many of those were elsewhere: what was counted there is in the first success rate.
    pub first_use_count: u32,
    /// How many of those here were done.
    pub successes: u32,
    /// Where it comes from.
    pub source: LearningSource,
    /// The runs that taught it: all of them, however many. By them a run of another tool that comes in a second time is known
    /// again, and no other record says that of it, so none may be dropped.
    pub source_loops: Vec<String>,
    /// The task that it was first learned at; it may have been deleted since.
    pub task: Option<TaskId>,
    /// The row of the journal that it was first learned in.
    pub journal: Option<i64>,
    /// How far it has come.
    pub status: LearningStatus,
    /// Why it was rejected or pruned.
    pub reason: Option<String>,
    /// The lesson that has taken its place.
    pub superseded_by: Option<LearningId>,
    /// What others said that were merged into it.
    pub examples: Vec<String>,
    /// The numbers behind it, where it was drawn from what happened.
    pub facts: Option<Facts>,
    /// Its id in the store that it comes from.
    pub foreign_id: Option<String>,
    /// When an iteration that it stood in the prompt of ended last.
    pub last_used_at: Option<Timestamp>,
    /// When it was first learned.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

/// A lesson as other tools know it, with what only ralph knows after that.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Form<'a> {
    id: &'a LearningId,
    r#type: LearningKind,
    task_type: Option<TaskType>,
    content: LearningContent<'a>,
    confidence: f64,
    source_loops: &'a [String],
    #[serde(serialize_with = "serialize_moment")]
    created_at: Timestamp,
    #[serde(serialize_with = "serialize_moment")]
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
    #[serde(serialize_with = "serialize_moment")]
    last_used_at: Option<Timestamp>,
}

impl Serialize for Learning {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let form = Form {
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

/// What a lesson says, with the numbers behind it, by the names that other tools have for them.
#[derive(Debug, Clone, Copy)]
pub struct LearningContent<'a> {
    /// What kind of lesson it is.
    pub kind: LearningKind,
    /// What it says.
    pub description: &'a str,
    /// The numbers behind it.
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
            Some(Facts::Antipattern { occurrences, impact }) => {
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
