//! Whether two lessons say nearly the same.

use ralph_model::Learning;
use ralph_store::index::terms_of;

use super::choose::{Facts, common, facts};
use super::numbers::number_of_word;

/// Two lessons say nearly the same when they share more than so many in a hundred of their words.
const NEAR_PERCENT: usize = 80;

/// What is compared of a lesson.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Likeness {
    category: String,
    /// The numbers of its words, ascending, each once.
    words: Vec<u64>,
    facts: Facts,
}

impl Likeness {
    /// What is compared of a lesson.
    #[must_use]
    pub fn of(learning: &Learning) -> Self {
        let mut words: Vec<u64> = terms_of(&learning.content)
            .iter()
            .map(|term| number_of_word(term))
            .collect();
        words.sort_unstable();
        words.dedup();
        Self {
            category: learning.category.clone(),
            words,
            facts: facts(&learning.content),
        }
    }

    /// Whether two say nearly the same about the same: not where a number or a "not" tells them apart.
    #[must_use]
    pub fn is_near(&self, other: &Self) -> bool {
        let of = self.words.len().max(other.words.len());
        self.category == other.category
            && self.facts == other.facts
            && common(&self.words, &other.words) * 100 > of * NEAR_PERCENT
    }
}
