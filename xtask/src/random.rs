//! Random numbers that can be had again from their seed, which the soaks print.

use std::hash::{BuildHasher, Hasher, RandomState};

use ralph_model::{Entropy, SplitMix64};

/// A sequence of random numbers.
#[derive(Debug, Clone)]
pub(crate) struct Random(SplitMix64);

impl Random {
    /// The sequence of this seed.
    pub(crate) fn seeded(seed: u64) -> Self {
        Self(SplitMix64::new(seed))
    }

    /// The next number below a limit.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        let limit = u64::try_from(limit).unwrap_or(u64::MAX).max(1);
        usize::try_from(self.0.next_bits() % limit).unwrap_or_default()
    }

    /// One of these, or nothing of none.
    pub(crate) fn one_of<'a, T>(&mut self, choices: &'a [T]) -> Option<&'a T> {
        choices.get(self.below(choices.len()))
    }

    /// A sequence of its own for one of several workers.
    pub(crate) fn split(&mut self) -> Self {
        Self::seeded(self.0.next_bits())
    }
}

/// A seed that nobody chose. The standard library's hash maps are seeded by the system, and so is this.
pub(crate) fn any_seed() -> u64 {
    RandomState::new().build_hasher().finish() >> 16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_same_numbers_again() {
        let numbers = |seed| {
            let mut random = Random::seeded(seed);
            [random.below(10), random.below(1000), random.split().below(1000)]
        };
        assert_eq!(numbers(7), numbers(7));
        assert_ne!(numbers(7), numbers(8));
        assert_eq!(Random::seeded(1).one_of::<u8>(&[]), None);
    }
}
