//! Whether two lessons say nearly the same.

use std::collections::BTreeSet;

use super::differ;
use super::reading::{Reading, Value};

/// They share more than so many in a hundred of their words.
const NEAR_PERCENT: usize = 80;

impl Reading {
    /// Whether it says nearly what another one of its kind says: the same about nearly the same words, with the same values and
    /// about the same files.
    #[must_use]
    pub fn says_nearly(&self, other: &Self) -> bool {
        let shared = self.stems.keys().filter(|stem| other.stems.contains_key(*stem)).count();
        let most = self.stems.len().max(other.stems.len());
        shared * 100 > most * NEAR_PERCENT
            && self.kind == other.kind
            && self.files == other.files
            && !differ(&self.tags, &other.tags)
            && self.answers_otherwise(other).is_none()
            && self.is_of_one_mind_with(other)
            && self.names_nothing_else_than(other)
    }

    /// Whether both say yes and no to the same, and name the same values.
    fn is_of_one_mind_with(&self, other: &Self) -> bool {
        let same_signs = self
            .stems
            .iter()
            .all(|(stem, sign)| other.stems.get(stem).is_none_or(|another| another == sign));
        let sides = |reading: &Self| -> Vec<(usize, bool)> {
            let sides = reading.sides.iter();
            sides.map(|(pair, (side, _))| (*pair, *side)).collect()
        };
        same_signs && sides(self) == sides(other) && texts(&self.values) == texts(&other.values)
    }

    /// Whether what only one of them says is no name, where the other says something else instead.
    fn names_nothing_else_than(&self, other: &Self) -> bool {
        let (own, others) = (self.words_beside(other), other.words_beside(self));
        own.is_empty() || others.is_empty() || !(self.refers_to_any(&own) || other.refers_to_any(&others))
    }
}

fn texts(values: &[Value]) -> BTreeSet<&str> {
    values.iter().map(|value| value.text.as_str()).collect()
}
