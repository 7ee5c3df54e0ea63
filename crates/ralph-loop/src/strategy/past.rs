//! What the journal says that a choice of a model asks for: how it goes with the task and with everything lately, and which
//! task was like it.

use std::fmt;

use ralph_memory::capture::found_tags;
use ralph_model::{Course, Difficulty, HardFailure, Task, TaskId};
use ralph_store::{HardLike, Store, StoreError, task_type_of};

use super::Rule;

/// So many of the last attempts that failed and were hard are looked at.
const LOOKED_AT: u32 = 50;

/// What came before an iteration.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Past {
    /// How it goes.
    pub course: Course,
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
        Ok(Self { course, like })
    }
}

/// The last task like this one that was hard and failed with the strongest of these models, and that neither it nor a weaker
/// one of them has done since.
fn like(store: &Store, task: &Task, models: &[String]) -> Result<Option<Like>, StoreError> {
    let named = found_tags(&[&task.title, &task.description], &[], None);
    let Some(model) = models.last().filter(|_| !named.is_empty()) else {
        return Ok(None);
    };
    let failures = store.hard_failures(&HardLike {
        task_type: task_type_of(&task.title, &task.description),
        model,
        other_than: &task.id,
        most: LOOKED_AT,
    })?;
    // What was done after the last failure of a task was done after those before it, too.
    let mut done: Vec<TaskId> = Vec::new();
    for failure in failures.into_iter().filter(|failure| overlap(&named, failure)) {
        if done.contains(&failure.task) {
            continue;
        }
        if !store.was_done_since(&failure.task, failure.journal, models)? {
            return Ok(Some(Like {
                task: failure.task,
                difficulty: failure.difficulty,
                model: model.clone(),
            }));
        }
        done.push(failure.task);
    }
    Ok(None)
}

/// Whether a task names something that the other one named or changed.
fn overlap(named: &[String], failure: &HardFailure) -> bool {
    let files = || failure.files.iter().map(|file| file.to_lowercase());
    let is_file = |tag: &String| files().any(|file| file == *tag || file.ends_with(&format!("/{tag}")));
    named.iter().any(|tag| failure.tags.contains(tag) || is_file(tag))
}
