//! The budgets of memory sections: one each, and a total.

use ralph_model::config::Context;
use ralph_model::{Budget, Tokens};

use super::MemoryShare;

/// The remaining budget.
#[derive(Debug)]
pub(super) struct SectionBudgets {
    all: Budget,
    share: MemoryShare,
}

impl SectionBudgets {
    /// A total budget of this many tokens.
    pub(super) fn of(all: Tokens, share: MemoryShare) -> Self {
        let all = match (all, share) {
            // Half of unlimited would still be unlimited.
            (Tokens(0), MemoryShare::Half) => Context::default().budget,
            (all, _) => all,
        };
        Self {
            all: Budget::of(part(all, share)),
            share,
        }
    }

    /// The budget of a section with this limit.
    pub(super) fn for_section(&self, own: Tokens) -> Budget {
        Budget::of(part(own, self.share)).within(self.all)
    }

    /// Spends the size of a text.
    pub(super) fn spend(&mut self, text: &str) {
        self.reserve(text.chars().count());
    }

    /// Reserves up to this many characters and returns how many.
    pub(super) fn reserve(&mut self, characters: usize) -> usize {
        self.all.take_up_to(characters)
    }

    /// Returns reserved characters.
    pub(super) fn release(&mut self, characters: usize) {
        self.all.give_back(characters);
    }
}

/// The share of these tokens.
pub(super) fn part(tokens: Tokens, share: MemoryShare) -> Tokens {
    match (tokens, share) {
        (Tokens(0), _) | (_, MemoryShare::Whole | MemoryShare::None) => tokens,
        // 1 must not become 0, which would be unlimited.
        (Tokens(tokens), MemoryShare::Half) => Tokens((tokens / 2).max(1)),
    }
}
