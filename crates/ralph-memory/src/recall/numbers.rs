//! Maps and sets of numbers. The numbers are our own, so nobody can choose them to collide, and tens of thousands are looked
//! up for each question.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};

use xxhash_rust::xxh3::xxh3_64;

/// A map whose keys are numbers.
pub(super) type NumberMap<K, V> = HashMap<K, V, BuildHasherDefault<NumberHasher>>;
/// A set of pairs of terms.
pub(super) type PairSet = HashSet<(u32, u32), BuildHasherDefault<NumberHasher>>;

/// The number of a word. Two words that have the same are taken for one, which does no more harm than a wrong score: thousands
/// are looked up for each question, and none has to be kept.
pub(super) fn number_of_word(word: &str) -> u64 {
    xxh3_64(word.as_bytes())
}

/// Spreads numbers evenly, and does no more.
#[derive(Debug, Default)]
pub(super) struct NumberHasher(u64);

impl Hasher for NumberHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }

    fn write_u64(&mut self, number: u64) {
        // The golden ratio, whose multiples are spread evenly; a map looks at the lower and at the upper bits.
        self.0 = (self.0.rotate_left(32) ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn write_u32(&mut self, number: u32) {
        self.write_u64(u64::from(number));
    }

    fn write_i64(&mut self, number: i64) {
        self.write_u64(number.cast_unsigned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_pairs_are_found_again() {
        let squares: NumberMap<u32, u32> = (0..1000).map(|number| (number, number * number)).collect();
        assert!((0..1000).all(|number| squares.get(&number) == Some(&(number * number))));
        let pairs: PairSet = (0..1000).map(|number| (number, number + 1)).collect();
        assert!(pairs.contains(&(7, 8)) && !pairs.contains(&(8, 7)));
    }
}
