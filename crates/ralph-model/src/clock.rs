//! Time and randomness as injected values, so that tests can fix them.

use jiff::Timestamp;

pub trait Clock {
    fn now(&self) -> Timestamp;
}

/// A source of random bits.
pub trait Entropy {
    fn next_bits(&mut self) -> u64;
}
