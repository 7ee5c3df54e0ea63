//! Repetition counts and seeds of long tests: few repetitions in the gate, many in a soak.

use ralph_model::{Entropy, SplitMix64};

/// The count from this environment variable, or the small default for the gate.
#[must_use]
pub fn count(variable: &str, in_the_gate: usize) -> usize {
    read(variable).unwrap_or(in_the_gate)
}

/// Reproducible random numbers.
#[derive(Debug, Clone)]
pub struct Seed(SplitMix64);

impl Seed {
    /// The seed from `RALPH_SOAK_SEED`, or one from the clock. It is printed, so that a failure can be reproduced.
    #[must_use]
    pub fn announced(test: &str) -> Self {
        #[expect(clippy::disallowed_methods, reason = "a new seed for every run is the point")]
        let clock = || std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let seed = read("RALPH_SOAK_SEED")
            .map(|seed| seed as u64)
            .unwrap_or_else(|| clock().map_or(1, |now| u64::from(now.subsec_nanos()) ^ now.as_secs()));
        #[expect(clippy::print_stderr, reason = "needed to reproduce a failure")]
        {
            eprintln!("{test}: RALPH_SOAK_SEED={seed}");
        }
        Self(SplitMix64::new(seed))
    }

    /// A separate seed for a worker.
    #[must_use]
    pub fn split(&mut self) -> Self {
        Self(SplitMix64::new(self.0.next_bits()))
    }

    /// The next number below a limit.
    pub fn below(&mut self, limit: usize) -> usize {
        let below = self.0.next_bits() % limit.max(1) as u64;
        usize::try_from(below).expect("it is below a usize")
    }
}

fn read(variable: &str) -> Option<usize> {
    #[expect(clippy::disallowed_methods, reason = "the soak passes its counts this way")]
    let value = std::env::var(variable).ok()?;
    Some(value.parse().expect("the soak's variables are numbers"))
}
