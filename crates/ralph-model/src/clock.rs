//! Time and randomness as values that are handed in, so that tests can fix them.

use jiff::Timestamp;

/// Where the present moment comes from.
pub trait Clock {
    /// The present moment.
    fn now(&self) -> Timestamp;
}

/// Where random bits come from.
pub trait Entropy {
    /// The next 64 bits.
    fn next_bits(&mut self) -> u64;
}
