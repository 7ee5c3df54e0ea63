//! What the journal says that a choice of a model asks for: how it goes with the task and with everything lately, and which
//! task was like it.

use std::fmt;

use ralph_memory::capture::{found_tags, is_tool};
use ralph_model::{Course, Difficulty, Subject, Task, TaskId};
use ralph_store::{HardLike, Store, StoreError, task_type_of};

use super::Rule;

/// Among so many of the last iterations a task that was like it tells something. Before that, one failure would keep the
/// weaker model from every task like it for ever: it is never tried, so it is never seen to do what it can by now.
pub(super) const LIKES_WITHIN: u32 = 100;

/// What came before an iteration.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Past {
    /// How it goes.
    pub course: Course,
    /// The model that the last attempt at the task failed with; none where it has not failed since it was last done, or where
    /// the model was left to the agent.
    pub failed_on: Option<String>,
    /// A task that was like this one, and hard, and failed with the model that would be chosen; none where there is none, or
    /// where nobody asked.
    pub like: Option<Like>,
}

/// A task that was like another one, and hard, and failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Like {
    /// The task.
    pub task: TaskId,
    /// How hard it was found.
    pub difficulty: Difficulty,
    /// The model that it failed with.
    pub model: String,
}

impl fmt::Display for Like {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            task,
            difficulty,
            model,
        } = self;
        write!(f, "like {task}, which was {difficulty} and failed on {model}")
    }
}

impl Past {
    /// What a rule asks for, about a task; nothing is read where it asks for nothing.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn gather(store: &Store, task: &Task, rule: &Rule<'_>) -> Result<Self, StoreError> {
        if !rule.asks_the_past() {
            return Ok(Self::default());
        }
        let course = store.course(&task.id)?;
        let like = match rule.liftable(&course) {
            Some(place) => like(store, task, rule.models.get(..=place).unwrap_or_default())?,
            None => None,
        };
        let failed_on = match course.consecutive_failures {
            0 => None,
            _ => store.last_model(&task.id)?,
        };
        Ok(Self {
            course,
            failed_on,
            like,
        })
    }
}

/// The last task like this one that was hard and failed with the strongest of these models, and that nothing outweighs: since
/// then neither it nor another one like this was done with one of them.
fn like(store: &Store, task: &Task, models: &[String]) -> Result<Option<Like>, StoreError> {
    let named = Named::by(task);
    let Some(model) = models.last().filter(|_| !named.0.is_empty()) else {
        return Ok(None);
    };
    let task_type = task_type_of(&task.title, &task.description);
    let mut failures = store.hard_failures(&HardLike {
        task_type,
        model,
        other_than: &task.id,
        within: LIKES_WITHIN,
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
    Ok(standing.map(|failure| Like {
        task: failure.subject.task,
        difficulty: failure.difficulty,
        model: model.clone(),
    }))
}

/// What a task names by which others may be like it.
struct Named(Vec<String>);

impl Named {
    fn by(task: &Task) -> Self {
        let mut named = found_tags(&[&task.title, &task.description], &[], None);
        named.retain(|tag| !is_tool(tag));
        Self(named)
    }

    /// Whether the other one named or changed something of it.
    fn overlaps(&self, other: &Subject) -> bool {
        let files = || other.files.iter().map(|file| file.to_lowercase());
        let is_file = |tag: &String| files().any(|file| file == *tag || file.ends_with(&format!("/{tag}")));
        self.0.iter().any(|tag| other.tags.contains(tag) || is_file(tag))
    }
}
