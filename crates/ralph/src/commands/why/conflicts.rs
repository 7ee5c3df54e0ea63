//! Finds the learning in a prompt that conflicts with one that was left out. The record says only that another entry
//! blocked it, so the reason is derived from their texts.

use std::collections::HashMap;

use ralph_memory::learn::conflict;
use ralph_model::{EntryKind, InjectionReason, Learning, LearningId};
use ralph_store::{RecordedInjection, Store};

use crate::error::CommandError;

/// What blocked the learnings that were left out.
#[derive(Default)]
pub(super) struct Conflicts {
    by_id: HashMap<String, Option<LearningId>>,
}

impl Conflicts {
    /// Compares the learnings in a prompt with those that others blocked.
    pub(super) fn read(store: Option<&Store>, recorded: &[RecordedInjection]) -> Result<Self, CommandError> {
        let Some(store) = store else {
            return Ok(Self::default());
        };
        let left_out = learnings(store, recorded, InjectionReason::Duplicate)?;
        if left_out.is_empty() {
            return Ok(Self::default());
        }
        let shown = learnings(store, recorded, InjectionReason::Shown)?;
        let blocker = |learning: &Option<Learning>| {
            let learning = learning.as_ref()?;
            let conflicts = |shown: &&Learning| conflict(shown, learning).is_some();
            let conflict = shown.iter().filter_map(|(_, shown)| shown.as_ref()).find(conflicts);
            let is_all_known = shown.iter().all(|(_, shown)| shown.is_some());
            match conflict {
                Some(conflict) => Some(Some(conflict.id.clone())),
                None => is_all_known.then_some(None),
            }
        };
        let known = left_out.into_iter();
        Ok(Self {
            by_id: known
                .filter_map(|(id, learning)| Some((id, blocker(&learning)?)))
                .collect(),
        })
    }

    /// Why a learning was left out that another entry blocked.
    pub(super) fn why(&self, id: &str) -> String {
        match self.by_id.get(id) {
            Some(Some(conflict)) => format!("conflicts with {conflict}"),
            Some(None) => "duplicate of another entry".to_owned(),
            // One of them is missing.
            None => "duplicate of or conflict with another entry".to_owned(),
        }
    }
}

/// The current learnings with this reason, by id; none if one is missing.
fn learnings(
    store: &Store,
    recorded: &[RecordedInjection],
    reason: InjectionReason,
) -> Result<Vec<(String, Option<Learning>)>, CommandError> {
    let injections = recorded.iter().map(|recorded| &recorded.injection);
    let mut learnings = Vec::new();
    for injection in injections.filter(|injection| injection.kind == EntryKind::Learning && injection.reason == reason)
    {
        let learning = match LearningId::parse(&injection.id) {
            Some(id) => store.learning(&id)?,
            None => None,
        };
        learnings.push((injection.id.clone(), learning));
    }
    Ok(learnings)
}
