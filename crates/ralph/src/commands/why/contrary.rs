//! Which lesson of a prompt says the contrary of one that was left out. It is on record only that another one was in its way; why
//! is seen from what they say, as contradictions always are.

use std::collections::HashMap;

use ralph_memory::learn::contradiction;
use ralph_model::{EntryKind, InjectionReason, Learning, LearningId};
use ralph_store::{RecordedInjection, Store};

use crate::error::CommandError;

/// What was in the way of lessons that were left out.
#[derive(Default)]
pub(super) struct Contraries {
    by_id: HashMap<String, Option<LearningId>>,
}

impl Contraries {
    /// Looks at the lessons of a prompt, and at those that others kept from it.
    pub(super) fn read(store: Option<&Store>, recorded: &[RecordedInjection]) -> Result<Self, CommandError> {
        let Some(store) = store else {
            return Ok(Self::default());
        };
        let left_out = lessons(store, recorded, InjectionReason::Duplicate)?;
        if left_out.is_empty() {
            return Ok(Self::default());
        }
        let shown = lessons(store, recorded, InjectionReason::Shown)?;
        let in_the_way = |lesson: &Option<Learning>| {
            let lesson = lesson.as_ref()?;
            let contrary = |shown: &&Learning| contradiction(shown, lesson).is_some();
            let contrary = shown.iter().filter_map(|(_, shown)| shown.as_ref()).find(contrary);
            let is_all_known = shown.iter().all(|(_, shown)| shown.is_some());
            match contrary {
                Some(contrary) => Some(Some(contrary.id.clone())),
                None => is_all_known.then_some(None),
            }
        };
        let known = left_out.into_iter();
        Ok(Self {
            by_id: known
                .filter_map(|(id, lesson)| Some((id, in_the_way(&lesson)?)))
                .collect(),
        })
    }

    /// Why a lesson was left out that another entry was in the way of.
    pub(super) fn why(&self, id: &str) -> String {
        match self.by_id.get(id) {
            Some(Some(contrary)) => format!("{contrary} says the contrary"),
            Some(None) => "another entry says the same".to_owned(),
            // One of them is gone.
            None => "another entry says the same, or the contrary".to_owned(),
        }
    }
}

/// The lessons with this reason as they are now, by their ids; none where one is gone.
fn lessons(
    store: &Store,
    recorded: &[RecordedInjection],
    reason: InjectionReason,
) -> Result<Vec<(String, Option<Learning>)>, CommandError> {
    let injections = recorded.iter().map(|recorded| &recorded.injection);
    let mut lessons = Vec::new();
    for injection in injections.filter(|injection| injection.kind == EntryKind::Learning && injection.reason == reason)
    {
        let learning = match LearningId::parse(&injection.id) {
            Some(id) => store.learning(&id)?,
            None => None,
        };
        lessons.push((injection.id.clone(), learning));
    }
    Ok(lessons)
}
