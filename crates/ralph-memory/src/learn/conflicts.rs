//! Finds conflicts among active and proposed learnings.

use std::collections::BTreeSet;

use ralph_model::{Learning, LearningId, LearningStatus};
use ralph_store::{LearningFilter, Store, StoreError};
use serde::Serialize;

use crate::similarity::{Difference, LearningFeatures, Neighbours};

/// Two learnings that disagree, unless a user has settled the conflict.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Conflict {
    pub one: Learning,
    pub other: Learning,
    pub why: Difference,
}

/// Conflicting learnings, those with the newest first: of those that are active or proposed and not superseded.
///
/// # Errors
/// When the database cannot be read.
pub fn conflicts(store: &Store) -> Result<Vec<Conflict>, StoreError> {
    let filter = LearningFilter {
        statuses: vec![
            LearningStatus::Promoted,
            LearningStatus::Validated,
            LearningStatus::Pending,
        ],
        ..LearningFilter::default()
    };
    let mut learnings = store.learning_list(&filter, None)?;
    learnings.retain(|learning| learning.superseded_by.is_none());
    let settled: BTreeSet<(LearningId, LearningId)> = store.settled_conflicts()?.into_iter().collect();
    let is_settled = |one: &Learning, other: &Learning| {
        let (first, second) = (one.id.clone(), other.id.clone());
        settled.contains(&if first < second {
            (first, second)
        } else {
            (second, first)
        })
    };
    let found = conflicting_pairs(&learnings)
        .into_iter()
        .filter_map(|(newer, older, why)| {
            let (other, one) = (learnings.get(newer)?, learnings.get(older)?);
            (!is_settled(one, other)).then(|| Conflict {
                one: one.clone(),
                other: other.clone(),
                why,
            })
        });
    Ok(found.collect())
}

/// The positions of learnings that disagree, the newer of each pair first.
fn conflicting_pairs(learnings: &[Learning]) -> Vec<(usize, usize, Difference)> {
    let mut newer = Neighbours::default();
    let mut found = Vec::new();
    for (place, learning) in learnings.iter().enumerate() {
        let features = LearningFeatures::of(learning);
        let differences = newer
            .of(&features)
            .filter_map(|(newer, other)| Some((*newer, place, features.conflict(other)?)));
        found.extend(differences);
        newer.add(place, features);
    }
    found.sort_by_key(|(newer, older, _)| (*newer, *older));
    found
}

#[cfg(test)]
#[path = "conflicts_tests.rs"]
mod tests;
