//! Lessons on their way in, from whomever they come, as they are compared with those that are known.

use ralph_model::{CapturedLearning, DrawnLesson, LearningKind, TaskType};
use ralph_store::{ForeignLearning, NewLearning, Store, StoreError};

use super::retold::{keep_compared, retold};
use crate::contradiction::Reading;

/// What is compared of a lesson that comes in.
#[derive(Debug, Clone, Copy)]
pub struct Said<'a> {
    pub(super) kind: LearningKind,
    /// The kind of work that it is for; none for every kind.
    pub(super) task_type: Option<TaskType>,
    tags: &'a [String],
    pub(super) content: &'a str,
}

impl<'a> Said<'a> {
    /// What an agent tells in an iteration at some kind of work.
    #[must_use]
    pub fn told(learning: &'a CapturedLearning, task_type: TaskType) -> Self {
        Self {
            kind: LearningKind::of_category(&learning.category),
            task_type: Some(task_type),
            tags: &learning.tags,
            content: &learning.content,
        }
    }

    pub(super) fn reading(&self) -> Reading {
        Reading::new(self.kind, self.tags, self.content)
    }
}

impl<'a> From<&'a DrawnLesson> for Said<'a> {
    fn from(drawn: &'a DrawnLesson) -> Self {
        Self {
            kind: drawn.kind,
            task_type: Some(drawn.task_type),
            tags: &drawn.tags,
            content: &drawn.content,
        }
    }
}

impl<'a> From<&'a NewLearning> for Said<'a> {
    fn from(new: &'a NewLearning) -> Self {
        Self {
            kind: new.kind(),
            task_type: new.task_type,
            tags: &new.tags,
            content: &new.content,
        }
    }
}

impl<'a> From<&'a ForeignLearning> for Said<'a> {
    fn from(foreign: &'a ForeignLearning) -> Self {
        Self {
            kind: foreign.kind,
            task_type: foreign.task_type,
            tags: &foreign.tags,
            content: &foreign.content,
        }
    }
}

/// Keeps lessons of another store, each with whether it says nearly what another one says.
///
/// # Errors
/// When they cannot be compared or kept.
pub fn keep_foreign<T>(
    store: &mut Store,
    lessons: &[ForeignLearning],
    mut keep: impl FnMut(&mut Store, &[ForeignLearning]) -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    let compare = |store: &Store| retold(store, lessons.iter().map(Said::from));
    keep_compared(store, compare, |store, found| {
        let mut compared = lessons.to_vec();
        for (lesson, retold) in compared.iter_mut().zip(found) {
            lesson.retold = retold;
        }
        keep(store, &compared)
    })
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use ralph_model::SplitMix64;
    use ralph_model::config::Promote;
    use ralph_store::{ForeignStanding, Retold};

    use super::*;

    fn foreign(id: &str, task_type: TaskType, content: &str) -> ForeignLearning {
        ForeignLearning {
            id: Some(id.to_owned()),
            kind: LearningKind::Strategy,
            category: "strategy".to_owned(),
            task_type: Some(task_type),
            content: content.to_owned(),
            tags: Vec::new(),
            facts: None,
            confidence: 0.8,
            success_rate: 0.8,
            use_count: 0,
            source_loops: Vec::new(),
            standing: ForeignStanding::Promoted,
            original: None,
            created_at: Timestamp::UNIX_EPOCH,
            updated_at: Timestamp::UNIX_EPOCH,
            retold: None,
        }
    }

    #[test]
    fn lessons_that_come_in_together_are_compared_with_the_known_and_with_one_another() {
        let folder = tempfile::tempdir().unwrap();
        let mut store = Store::open_or_create(&folder.path().join("progress.db")).unwrap();
        let known = foreign("one", TaskType::BugFix, "Start the emulator before the suite");
        let mut bits = SplitMix64::new(1);
        let taken = store.import_learnings(&[known], Promote::Auto, &mut bits, Timestamp::UNIX_EPOCH);
        let id = taken.unwrap().remove(0).id;
        let coming_in = [
            foreign("two", TaskType::BugFix, "Before the suite, start the emulator"),
            foreign("three", TaskType::BugFix, "Keep the lock file short"),
            foreign("four", TaskType::Refactor, "The lock file: keep it short"),
            foreign("five", TaskType::BugFix, "The lock file: keep it short"),
            foreign("six", TaskType::BugFix, "Never keep the lock file short"),
        ];
        let state = store.lessons_state().unwrap();
        let found = keep_foreign(&mut store, &coming_in, |_, lessons| {
            Ok(lessons.iter().map(|lesson| lesson.retold.clone()).collect::<Vec<_>>())
        });
        let found: Vec<Retold> = found.unwrap().into_iter().flatten().collect();
        assert_eq!(
            found,
            [
                Retold::known(id, "Start the emulator before the suite"),
                Retold::default(),
                Retold::default(),
                Retold::earlier(1, &coming_in[1].content),
                Retold::default(),
            ]
            .map(|retold| retold.as_of(state))
        );
    }
}
