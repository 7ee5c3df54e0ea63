//! Maps and sets keyed by numbers. The numbers are our own, so no attacker can force collisions, and each question
//! looks up tens of thousands.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};

pub(super) type NumberMap<K, V> = HashMap<K, V, BuildHasherDefault<NumberHasher>>;
pub(super) type PairSet = HashSet<(u32, u32), BuildHasherDefault<NumberHasher>>;

/// Distributes numbers evenly, and nothing more.
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
        // The golden ratio, whose multiples are evenly distributed; a map uses both the lower and the upper bits.
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
    fn numbers_and_pairs_are_found() {
        let squares: NumberMap<u32, u32> = (0..1000).map(|number| (number, number * number)).collect();
        assert!((0..1000).all(|number| squares.get(&number) == Some(&(number * number))));
        let pairs: PairSet = (0..1000).map(|number| (number, number + 1)).collect();
        assert!(pairs.contains(&(7, 8)) && !pairs.contains(&(8, 7)));
    }
}
