//! The compared features of a text, and the one rule for near-duplicates.

/// Near-duplicates share more than this percentage of the stems of the longer text.
const NEAR_PERCENT: usize = 80;
const NUMBER_BYTES: usize = size_of::<u64>();

/// What is compared of a text. The default, of a text without words, is near to none.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TextFeatures {
    /// Hashes of the stems of its words, sorted and unique.
    stems: Vec<u64>,
    /// A digest of what must be equal in near-duplicates: numbers, negations and words such as "before".
    facts: u64,
}

impl TextFeatures {
    #[must_use]
    pub fn new(stems: impl IntoIterator<Item = u64>, facts: u64) -> Self {
        let mut stems: Vec<u64> = stems.into_iter().collect();
        stems.sort_unstable();
        stems.dedup();
        Self { stems, facts }
    }

    #[must_use]
    pub fn stems(&self) -> &[u64] {
        &self.stems
    }

    /// Whether the texts are near-duplicates: they share most of their stems and have the same facts.
    #[must_use]
    pub fn is_near(&self, other: &Self) -> bool {
        self.facts == other.facts && self.shares_most_stems(other, 1)
    }

    /// Whether the texts share most of their stems, and at least this number.
    #[must_use]
    pub fn shares_most_stems(&self, other: &Self, least: usize) -> bool {
        let shared = common(&self.stems, &other.stems);
        shared >= least && are_most(shared, self.stems.len().max(other.stems.len()))
    }

    /// The number of its stems, in any order that all texts share, of which every near-duplicate has at least one.
    #[must_use]
    pub fn prefix_len(&self) -> usize {
        prefix_len(self.stems.len())
    }

    /// Numbers of which every near-duplicate has at least one: the first stems, each mixed with the facts.
    pub fn prefix(&self) -> impl Iterator<Item = u64> {
        self.stems.iter().take(self.prefix_len()).map(|stem| stem ^ self.facts)
    }

    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let numbers = std::iter::once(&self.facts).chain(&self.stems);
        numbers.flat_map(|number| number.to_le_bytes()).collect()
    }

    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Self {
        let (numbers, _) = bytes.as_chunks::<NUMBER_BYTES>();
        let mut numbers = numbers.iter().map(|number| u64::from_le_bytes(*number));
        let facts = numbers.next().unwrap_or_default();
        Self::new(numbers, facts)
    }
}

/// The number of common elements of two sorted lists.
#[must_use]
pub fn common<T: Ord>(one: &[T], other: &[T]) -> usize {
    let is_shared = |element: &&T| other.binary_search(element).is_ok();
    one.iter().filter(is_shared).count()
}

/// Whether two texts with this number of common words may be near-duplicates, given the number of words of the longer.
#[must_use]
pub fn are_most(shared: usize, longer: usize) -> bool {
    shared * 100 > longer * NEAR_PERCENT
}

/// The number of a text's words, in any order that all texts share, of which every near-duplicate has at least one.
#[must_use]
pub fn prefix_len(words: usize) -> usize {
    words - words * NEAR_PERCENT / 100
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn near_duplicates_share_over_80_percent_of_the_longer_text() {
        let check = |one: u64, other: u64, is_near: bool| {
            let [one, other] = [one, other].map(|stems| TextFeatures::new(0..stems, 0));
            assert_eq!(
                (one.is_near(&other), other.is_near(&one)),
                (is_near, is_near),
                "{one:?} {other:?}"
            );
        };
        check(10, 8, false);
        check(10, 9, true);
        check(5, 4, false);
        check(6, 5, true);
        check(1, 1, true);
        check(0, 0, false);
        let facts = [1, 2].map(|facts| TextFeatures::new(0..9, facts));
        assert!(!facts[0].is_near(&facts[1]));
    }

    proptest! {
        #[test]
        fn near_duplicates_share_a_number_of_their_prefixes(
            common in vec(0..200_u64, 0..60), one in vec(0..200_u64, 0..8), other in vec(0..200_u64, 0..8), facts: u64
        ) {
            let [one, other] = [one, other].map(|own| TextFeatures::new(common.iter().copied().chain(own), facts));
            if one.is_near(&other) {
                prop_assert!(one.prefix().any(|number| other.prefix().any(|another| another == number)));
            }
            prop_assert_eq!(TextFeatures::from_bytes(&one.to_bytes()), one);
        }
    }
}
