//! Time and randomness, from the machine or fixed by a test.

use jiff::Timestamp;
use ralph_model::{Clock, Entropy, SplitMix64};

use crate::env;
use crate::error::CommandError;

/// The machine's clock, or a time fixed by a test.
#[derive(Debug)]
pub(crate) enum ProgramClock {
    Machine,
    Fixed(Timestamp),
}

impl ProgramClock {
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
            Self::Fixed(time) => *time,
        }
    }
}

/// Random bits from the machine, or a sequence fixed by a test.
#[derive(Debug)]
pub(crate) enum ProgramEntropy {
    Machine,
    Sequence(SplitMix64),
}

impl ProgramEntropy {
    pub(crate) fn from_environment() -> Result<Self, CommandError> {
        match env::seed() {
            None => Ok(Self::Machine),
            Some(text) => text
                .parse()
                .map(|seed| Self::Sequence(SplitMix64::new(seed)))
                .map_err(|error| CommandError::new(format!("RALPH_SEED is {text:?}, which is not a number: {error}"))),
        }
    }
}

impl Entropy for ProgramEntropy {
    fn next_bits(&mut self) -> u64 {
        match self {
            // Without system randomness the time is good enough: an id that is taken is never used.
            Self::Machine => getrandom::u64().unwrap_or_else(|_| {
                let since_1970 = ProgramClock::Machine.now().as_nanosecond();
                u64::try_from(since_1970).unwrap_or_default()
            }),
            Self::Sequence(sequence) => sequence.next_bits(),
        }
    }
}
