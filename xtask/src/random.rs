//! Reproducible random numbers; soak tests print the seed.

use std::hash::{BuildHasher, Hasher, RandomState};

use ralph_model::{Entropy, SplitMix64};

#[derive(Debug, Clone)]
pub(crate) struct Random(SplitMix64);

impl Random {
    pub(crate) fn seeded(seed: u64) -> Self {
        Self(SplitMix64::new(seed))
    }

    /// A random number below a limit.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        let limit = u64::try_from(limit).unwrap_or(u64::MAX).max(1);
        usize::try_from(self.0.next_bits() % limit).unwrap_or_default()
    }

    /// A random element, or none of an empty slice.
    pub(crate) fn one_of<'a, T>(&mut self, choices: &'a [T]) -> Option<&'a T> {
        choices.get(self.below(choices.len()))
    }

    /// A separate sequence for a worker.
    pub(crate) fn split(&mut self) -> Self {
        Self::seeded(self.0.next_bits())
    }
}

/// A random seed from the system, by way of the standard library's hash maps.
pub(crate) fn any_seed() -> u64 {
    RandomState::new().build_hasher().finish() >> 16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn same_seed_gives_the_same_numbers() {
        let numbers = |seed| {
            let mut random = Random::seeded(seed);
            [random.below(10), random.below(1000), random.split().below(1000)]
        };
        assert_eq!(numbers(7), numbers(7));
        assert_ne!(numbers(7), numbers(8));
        assert_eq!(Random::seeded(1).one_of::<u8>(&[]), None);
    }
}
