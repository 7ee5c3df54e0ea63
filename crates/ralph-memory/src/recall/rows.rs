//! A table of the database of facts as a body of texts: its words, and numbers for them.

use std::cell::RefCell;

use ralph_store::index::{KnownTerm, Totals};
use ralph_store::{Searched, Store, StoreError, encode_term};

use super::numbers::{NumberMap, number_of_word};

/// The first number of a word; those below are the search index's.
const FIRST_NUMBER: u32 = 1 << 31;

/// A table whose rows hold words.
pub(super) struct Rows<'s> {
    pub(super) store: &'s Store,
    searched: Searched,
    /// The table has no numbers for its words, so each gets one when it is met, by [`number_of_word`].
    numbers: RefCell<NumberMap<u64, u32>>,
}

impl<'s> Rows<'s> {
    pub(super) fn of(store: &'s Store, searched: Searched) -> Self {
        Self {
            store,
            searched,
            numbers: RefCell::default(),
        }
    }

    /// How much there is.
    pub(super) fn totals(&self) -> Result<Totals, StoreError> {
        self.store.totals_of(self.searched)
    }

    /// How many rows hold a term.
    pub(super) fn holding(&self, term: &str) -> Result<u64, StoreError> {
        self.store.rows_holding(self.searched, &encode_term(term))
    }

    /// A term, if any row holds it.
    pub(super) fn term(&self, term: &str) -> Result<Option<KnownTerm>, StoreError> {
        let entries = self.holding(term)?;
        Ok((entries > 0).then(|| KnownTerm {
            term: term.to_owned(),
            number: self.number_of(&encode_term(term)),
            entries,
        }))
    }

    /// The numbers of the rows that hold a term.
    pub(super) fn with(&self, term: &KnownTerm, visit: &mut dyn FnMut(i64)) -> Result<(), StoreError> {
        self.store.rows_with(self.searched, &encode_term(&term.term), visit)
    }

    /// Every term that a row holds, but those that are not plain words.
    pub(super) fn plain_terms(&self, visit: &mut dyn FnMut(&str, u64)) -> Result<(), StoreError> {
        self.store.words_in(self.searched, &mut |word, entries| {
            if word == encode_term(word) {
                visit(word, entries);
            }
        })
    }

    /// Gives a term the number that it has elsewhere.
    pub(super) fn set_number(&self, term: &str, number: u32) {
        let word = number_of_word(&encode_term(term));
        self.numbers.borrow_mut().insert(word, number);
    }

    /// The numbers of words with a space between each two.
    pub(super) fn numbers_of(&self, words: &str) -> Vec<u32> {
        words
            .split_ascii_whitespace()
            .map(|word| self.number_of(word))
            .collect()
    }

    fn number_of(&self, word: &str) -> u32 {
        let mut numbers = self.numbers.borrow_mut();
        let next = u32::try_from(numbers.len())
            .unwrap_or(u32::MAX)
            .saturating_add(FIRST_NUMBER);
        *numbers.entry(number_of_word(word)).or_insert(next)
    }
}
