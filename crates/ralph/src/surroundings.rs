//! Time and randomness from the machine, or fixed by a test.

use jiff::Timestamp;
use ralph_model::{Clock, Entropy};

use crate::env;
use crate::error::CommandError;

/// The machine's clock, or a moment that a test fixed.
#[derive(Debug)]
pub(crate) enum ProgramClock {
    Machine,
    Fixed(Timestamp),
}

impl ProgramClock {
    /// The clock that the environment asks for.
    pub(crate) fn from_environment() -> Result<Self, CommandError> {
        match env::now() {
            None => Ok(Self::Machine),
            Some(text) => text.parse().map(Self::Fixed).map_err(|error| {
                CommandError::new(format!("RALPH_NOW is {text:?}, which is not an RFC 3339 time: {error}"))
            }),
        }
    }
}

impl Clock for ProgramClock {
    fn now(&self) -> Timestamp {
        match self {
            #[expect(clippy::disallowed_methods, reason = "this is the clock that others are handed")]
            Self::Machine => Timestamp::now(),
            Self::Fixed(moment) => *moment,
        }
    }
}

/// Random bits from the machine, or a sequence that a test fixed.
#[derive(Debug)]
pub(crate) enum ProgramEntropy {
    Machine,
    Sequence(u64),
}

impl ProgramEntropy {
    /// The randomness that the environment asks for.
    pub(crate) fn from_environment() -> Result<Self, CommandError> {
        match env::seed() {
            None => Ok(Self::Machine),
            Some(text) => text
                .parse()
                .map(Self::Sequence)
                .map_err(|error| CommandError::new(format!("RALPH_SEED is {text:?}, which is not a number: {error}"))),
        }
    }
}

impl Entropy for ProgramEntropy {
    fn next_bits(&mut self) -> u64 {
        match self {
            // Without the system's randomness the time is good enough: an id that is taken is never used.
            Self::Machine => getrandom::u64().unwrap_or_else(|_| {
                let since_1970 = ProgramClock::Machine.now().as_nanosecond();
                u64::try_from(since_1970).unwrap_or_default()
            }),
            Self::Sequence(state) => {
                *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
                let mixed = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
                let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
                mixed ^ (mixed >> 31)
            }
        }
    }
}
