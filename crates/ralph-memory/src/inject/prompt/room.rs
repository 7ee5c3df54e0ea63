//! How much room the sections of memory have: each its own, and all of them together.

use ralph_model::config::Context;
use ralph_model::{Budget, Tokens};

use super::MemoryShare;

/// The room that is left for sections of memory.
#[derive(Debug)]
pub(super) struct Room {
    all: Budget,
    share: MemoryShare,
}

impl Room {
    /// Room for so many tokens in all.
    pub(super) fn of(all: Tokens, share: MemoryShare) -> Self {
        let all = match (all, share) {
            // Half of what knows no bounds would be no less.
            (Tokens(0), MemoryShare::Half) => Context::default().budget,
            (all, _) => all,
        };
        Self {
            all: Budget::of(part(all, share)),
            share,
        }
    }

    /// The room for a section that may take so many tokens.
    pub(super) fn for_section(&self, own: Tokens) -> Budget {
        Budget::of(part(own, self.share)).within(self.all)
    }

    /// Notes that so many characters are taken.
    pub(super) fn spend(&mut self, text: &str) {
        self.reserve(text.chars().count());
    }

    /// Keeps so many characters back, or as many as there are, and says how many.
    pub(super) fn reserve(&mut self, characters: usize) -> usize {
        self.all.take_up_to(characters)
    }

    /// Gives back what was kept.
    pub(super) fn release(&mut self, characters: usize) {
        self.all.give_back(characters);
    }
}

/// What is left of so many tokens where not the whole memory stands in a prompt.
pub(super) fn part(tokens: Tokens, share: MemoryShare) -> Tokens {
    match (tokens, share) {
        (Tokens(0), _) | (_, MemoryShare::Whole | MemoryShare::None) => tokens,
        // One token must not become none, which would be no bound.
        (Tokens(tokens), MemoryShare::Half) => Tokens((tokens / 2).max(1)),
    }
}
