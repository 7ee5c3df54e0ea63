//! Budgets in tokens. A token is always four Unicode characters.

use std::fmt;

use serde::{Deserialize, Serialize};

const CHARACTERS_PER_TOKEN: usize = 4;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Tokens(pub u32);

impl Tokens {
    /// Converts a number of characters to tokens, rounding up.
    #[must_use]
    pub fn of_characters(characters: usize) -> Self {
        Self(u32::try_from(characters.div_ceil(CHARACTERS_PER_TOKEN)).unwrap_or(u32::MAX))
    }
}

impl fmt::Display for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A text budget that is spent item by item and never exceeded.
///
/// It counts characters, not rounded tokens: small items do not each waste a fraction of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    left: Option<usize>,
}

impl Budget {
    /// A budget of this many tokens; 0 is unlimited.
    #[must_use]
    pub fn of(tokens: Tokens) -> Self {
        match tokens.0 {
            0 => Self { left: None },
            limited => Self {
                left: Some((limited as usize).saturating_mul(CHARACTERS_PER_TOKEN)),
            },
        }
    }

    /// Caps the budget at this many characters.
    #[must_use]
    pub fn at_most(self, characters: usize) -> Self {
        Self {
            left: Some(self.left.map_or(characters, |left| left.min(characters))),
        }
    }

    #[must_use]
    pub fn within(self, other: Self) -> Self {
        match other.left {
            None => self,
            Some(left) => self.at_most(left),
        }
    }

    /// Takes up to this many characters and returns how many were taken.
    #[must_use]
    pub fn take_up_to(&mut self, characters: usize) -> usize {
        let taken = self.left.map_or(characters, |left| left.min(characters));
        if let Some(left) = &mut self.left {
            *left -= taken;
        }
        taken
    }

    /// Takes this many characters if they fit, and returns whether they did.
    #[must_use]
    pub fn take(&mut self, characters: usize) -> bool {
        match self.left {
            None => true,
            Some(left) if characters <= left => {
                self.left = Some(left - characters);
                true
            }
            Some(_) => false,
        }
    }

    /// Returns characters that were taken but not used.
    pub fn give_back(&mut self, characters: usize) {
        if let Some(left) = &mut self.left {
            *left = left.saturating_add(characters);
        }
    }

    /// Returns a separate budget with an equal share of what is left. Spending it does not change `self`.
    #[must_use]
    pub fn share(&self, parts: usize) -> Self {
        Self {
            left: self.left.map(|left| left / parts.max(1)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_is_never_exceeded_and_zero_is_unlimited() {
        let mut budget = Budget::of(Tokens(2));
        assert!(budget.take(5));
        assert!(!budget.take(4));
        assert!(budget.take(3));
        assert!(!budget.take(1));
        budget.give_back(2);
        assert!(budget.take(2));
        assert!(Budget::of(Tokens(0)).take(usize::MAX));
    }

    #[test]
    fn reservations_never_exceed_the_budget() {
        for (tokens, asked, taken, left) in [(2, 5, 5, 3), (2, 9, 8, 0), (0, 9, 9, 100)] {
            let mut budget = Budget::of(Tokens(tokens));
            assert_eq!(budget.take_up_to(asked), taken, "{asked} of {tokens} tokens");
            let narrow = Budget::of(Tokens(25)).within(budget);
            assert!({ narrow }.take(left) && !{ narrow }.take(left + 1));
        }
    }

    #[test]
    fn budget_can_be_narrowed_not_widened() {
        for (tokens, most, fits) in [(0, 5, 5), (1, 9, 4), (2, 5, 5), (0, 0, 0)] {
            let narrowed = Budget::of(Tokens(tokens)).at_most(most);
            assert!(
                { narrowed }.take(fits) && !{ narrowed }.take(fits + 1),
                "{tokens} {most}"
            );
        }
    }
}
