//! The history behind the choice of a model: recent results, and a similar task that failed.

use std::fmt;

use ralph_memory::capture::{found_tags, is_tool};
use ralph_model::{Difficulty, Subject, Task, TaskId, TrackRecord};
use ralph_search::task_type_of;
use ralph_store::{HardFailureQuery, Store, StoreError};

use super::Rule;

/// How many recent iterations are searched for a similar task. Without this limit, one failure would keep the weaker
/// model from similar tasks forever, and it could never prove itself.
pub(super) const SIMILAR_WITHIN: u32 = 100;

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Past {
    pub track_record: TrackRecord,
    /// The model of the last failed attempt; `None` if the task has not failed since it was last done, or the agent
    /// chose the model.
    pub failed_on: Option<String>,
    /// A similar hard task that failed with the model that would be chosen.
    pub similar: Option<SimilarFailure>,
}

/// A similar hard task that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SimilarFailure {
    pub task: TaskId,
    pub difficulty: Difficulty,
    /// The model it failed with.
    pub model: String,
}

impl fmt::Display for SimilarFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            task,
            difficulty,
            model,
        } = self;
        write!(f, "similar to {task}, which was {difficulty} and failed on {model}")
    }
}

impl Past {
    /// Loads what the rule needs for a task.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn gather(store: &Store, task: &Task, rule: &Rule<'_>) -> Result<Self, StoreError> {
        if !rule.uses_history() {
            return Ok(Self::default());
        }
        let track_record = store.track_record(&task.id)?;
        let similar = match rule.liftable(&track_record) {
            Some(place) => similar(store, task, rule.models.get(..=place).unwrap_or_default())?,
            None => None,
        };
        let failed_on = match track_record.consecutive_failures {
            0 => None,
            _ => store.last_model(&task.id)?,
        };
        Ok(Self {
            track_record,
            failed_on,
            similar,
        })
    }
}

/// The latest similar hard task that failed with the strongest of these models, unless it or another similar task was
/// done with one of them since.
fn similar(store: &Store, task: &Task, models: &[String]) -> Result<Option<SimilarFailure>, StoreError> {
    let named = Named::by(task);
    let Some(model) = models.last().filter(|_| !named.0.is_empty()) else {
        return Ok(None);
    };
    let task_type = task_type_of(&task.title, &task.description);
    let mut failures = store.hard_failures(&HardFailureQuery {
        task_type,
        model,
        other_than: &task.id,
        within: SIMILAR_WITHIN,
    })?;
    failures.retain(|failure| named.overlaps(&failure.subject));
    let Some(oldest) = failures.last() else {
        return Ok(None);
    };
    let done = store.done_since(oldest.journal, task_type, models)?;
    let is_like = |other: &Subject| other.task == task.id || named.overlaps(other);
    let last_like = done
        .iter()
        .find(|(_, other)| is_like(other))
        .map(|(journal, _)| *journal);
    let standing = failures.into_iter().find(|failure| {
        let is_same =
            |(journal, other): &(i64, Subject)| *journal > failure.journal && other.task == failure.subject.task;
        last_like.is_none_or(|journal| journal < failure.journal) && !done.iter().any(is_same)
    });
    Ok(standing.map(|failure| SimilarFailure {
        task: failure.subject.task,
        difficulty: failure.difficulty,
        model: model.clone(),
    }))
}

/// The names in a task that make others similar to it.
struct Named(Vec<String>);

impl Named {
    fn by(task: &Task) -> Self {
        let mut named = found_tags(&[&task.title, &task.description], &[], None);
        named.retain(|tag| !is_tool(tag));
        Self(named)
    }

    /// Whether the other task named or changed any of them.
    fn overlaps(&self, other: &Subject) -> bool {
        let files = || other.files.iter().map(|file| file.to_lowercase());
        let is_file = |tag: &String| files().any(|file| file == *tag || file.ends_with(&format!("/{tag}")));
        self.0.iter().any(|tag| other.tags.contains(tag) || is_file(tag))
    }
}
