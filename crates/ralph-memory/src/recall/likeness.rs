//! Whether two lessons say nearly the same.

use std::collections::HashSet;

use ralph_model::Learning;
use ralph_store::index::terms_of;

use super::choose::{Facts, facts};

/// Two lessons say nearly the same when they share more than so many in a hundred of their words.
const NEAR_PERCENT: usize = 80;

/// What is compared of a lesson.
#[derive(Debug)]
pub struct Likeness {
    category: String,
    words: HashSet<String>,
    facts: Facts,
}

impl Likeness {
    /// What is compared of a lesson.
    #[must_use]
    pub fn of(learning: &Learning) -> Self {
        Self {
            category: learning.category.clone(),
            words: terms_of(&learning.content).into_iter().collect(),
            facts: facts(&learning.content),
        }
    }

    /// Whether two say nearly the same about the same: not where a number or a "not" tells them apart.
    #[must_use]
    pub fn is_near(&self, other: &Self) -> bool {
        let shared = self.words.intersection(&other.words).count();
        let of = self.words.len().max(other.words.len());
        self.category == other.category && shared * 100 > of * NEAR_PERCENT && self.facts == other.facts
    }
}
