//! How often a long test repeats itself, and with which seed: little in the gate, a lot in the soak.

use ralph_model::{Entropy, SplitMix64};

/// The number in this environment variable, else the small one for the gate.
#[must_use]
pub fn count(variable: &str, in_the_gate: usize) -> usize {
    read(variable).unwrap_or(in_the_gate)
}

/// Random numbers that can be had again from their seed.
#[derive(Debug, Clone)]
pub struct Seed(SplitMix64);

impl Seed {
    /// The seed in `RALPH_SOAK_SEED`, else one from the clock; it is printed, so that a failure can be repeated.
    #[must_use]
    pub fn announced(test: &str) -> Self {
        #[expect(clippy::disallowed_methods, reason = "a new seed for every run is the point")]
        let clock = || std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let seed = read("RALPH_SOAK_SEED")
            .map(|seed| seed as u64)
            .unwrap_or_else(|| clock().map_or(1, |now| u64::from(now.subsec_nanos()) ^ now.as_secs()));
        #[expect(clippy::print_stderr, reason = "whoever repeats a failure needs it")]
        {
            eprintln!("{test}: RALPH_SOAK_SEED={seed}");
        }
        Self(SplitMix64::new(seed))
    }

    /// A seed of its own for a worker.
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
    #[expect(clippy::disallowed_methods, reason = "the soak hands its counts over so")]
    let value = std::env::var(variable).ok()?;
    Some(value.parse().expect("the soak's variables are numbers"))
}
