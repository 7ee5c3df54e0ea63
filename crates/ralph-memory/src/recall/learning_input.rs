//! Incoming learnings, from any source, in the form in which they are compared with known ones.

use ralph_model::{CapturedLearning, ExtractedLearning, LearningKind, TaskType};
use ralph_store::{ForeignLearning, NewLearning, Store, StoreError};

use super::paraphrase::{find_paraphrases, keep_compared};
use crate::similarity::LearningFeatures;

/// An incoming learning.
#[derive(Debug, Clone, Copy)]
pub struct LearningInput<'a> {
    pub(super) kind: LearningKind,
    /// The kind of work it applies to; `None` means every kind.
    pub(super) task_type: Option<TaskType>,
    category: &'a str,
    tags: &'a [String],
    pub(super) content: &'a str,
}

impl<'a> LearningInput<'a> {
    /// A learning that an agent reported in an iteration.
    #[must_use]
    pub fn captured(learning: &'a CapturedLearning, task_type: TaskType) -> Self {
        Self {
            kind: LearningKind::of_category(&learning.category),
            task_type: Some(task_type),
            category: &learning.category,
            tags: &learning.tags,
            content: &learning.content,
        }
    }

    pub(super) fn features(&self) -> LearningFeatures {
        LearningFeatures::new(self.kind, self.category, self.tags, self.content)
    }
}

impl<'a> From<&'a ExtractedLearning> for LearningInput<'a> {
    fn from(drawn: &'a ExtractedLearning) -> Self {
        Self {
            kind: drawn.kind,
            task_type: Some(drawn.task_type),
            category: drawn.kind.word(),
            tags: &drawn.tags,
            content: &drawn.content,
        }
    }
}

impl<'a> From<&'a NewLearning> for LearningInput<'a> {
    fn from(new: &'a NewLearning) -> Self {
        Self {
            kind: new.kind(),
            task_type: new.task_type,
            category: &new.category,
            tags: &new.tags,
            content: &new.content,
        }
    }
}

impl<'a> From<&'a ForeignLearning> for LearningInput<'a> {
    fn from(foreign: &'a ForeignLearning) -> Self {
        Self {
            kind: foreign.kind,
            task_type: foreign.task_type,
            category: &foreign.category,
            tags: &foreign.tags,
            content: &foreign.content,
        }
    }
}

/// Stores imported learnings, after comparing each with known ones for near-duplicates.
///
/// # Errors
/// When they cannot be compared or kept.
pub fn keep_foreign<T>(
    store: &mut Store,
    learnings: &[ForeignLearning],
    mut keep: impl FnMut(&mut Store, &[ForeignLearning]) -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    let compare = |store: &Store| find_paraphrases(store, learnings.iter().map(LearningInput::from));
    keep_compared(store, compare, |store, found| {
        let mut compared = learnings.to_vec();
        for (learning, paraphrase) in compared.iter_mut().zip(found) {
            learning.paraphrase = paraphrase;
        }
        keep(store, &compared)
    })
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use ralph_model::SplitMix64;
    use ralph_model::config::Promote;
    use ralph_store::{ForeignLearningStatus, Paraphrase};

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
            standing: ForeignLearningStatus::Promoted,
            original: None,
            created_at: Timestamp::UNIX_EPOCH,
            updated_at: Timestamp::UNIX_EPOCH,
            paraphrase: None,
        }
    }

    #[test]
    fn incoming_learnings_are_compared_with_known_and_each_other() {
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
        let state = store.learnings_state().unwrap();
        let found = keep_foreign(&mut store, &coming_in, |_, learnings| {
            Ok(learnings
                .iter()
                .map(|learning| learning.paraphrase.clone())
                .collect::<Vec<_>>())
        });
        let found: Vec<Paraphrase> = found.unwrap().into_iter().flatten().collect();
        assert_eq!(
            found,
            [
                Paraphrase::known(id, "Start the emulator before the suite"),
                Paraphrase::default(),
                Paraphrase::default(),
                Paraphrase::earlier(1, &coming_in[1].content),
                Paraphrase::default(),
            ]
            .map(|paraphrase| paraphrase.as_of(state))
        );
    }
}
