//! A database table as a corpus: its words, and numbers for them.

use std::cell::RefCell;

use ralph_store::index::{KnownTerm, Totals};
use ralph_store::{Searched, Store, StoreError, encode_term};

use super::numbers::{NumberMap, number_of_word};

/// The first number of a word; lower numbers belong to the search index.
const FIRST_NUMBER: u32 = 1 << 31;

pub(super) struct Rows<'s> {
    pub(super) store: &'s Store,
    searched: Searched,
    /// Words are numbered as they are seen, by [`number_of_word`].
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

    pub(super) fn totals(&self) -> Result<Totals, StoreError> {
        self.store.totals_of(self.searched)
    }

    /// How many rows contain a term.
    pub(super) fn holding(&self, term: &str) -> Result<u64, StoreError> {
        self.store.rows_holding(self.searched, &encode_term(term))
    }

    pub(super) fn term(&self, term: &str) -> Result<Option<KnownTerm>, StoreError> {
        let entries = self.holding(term)?;
        Ok((entries > 0).then(|| KnownTerm {
            term: term.to_owned(),
            number: self.number_of(&encode_term(term)),
            entries,
        }))
    }

    /// Visits the numbers of the rows that contain a term.
    pub(super) fn with(&self, term: &KnownTerm, visit: &mut dyn FnMut(i64)) -> Result<(), StoreError> {
        self.store.rows_with(self.searched, &encode_term(&term.term), visit)
    }

    /// Visits every term that is a plain word.
    pub(super) fn plain_terms(&self, visit: &mut dyn FnMut(&str, u64)) -> Result<(), StoreError> {
        self.store.words_in(self.searched, &mut |word, entries| {
            if word == encode_term(word) {
                visit(word, entries);
            }
        })
    }

    /// Gives a term the number it has in another corpus.
    pub(super) fn set_number(&self, term: &str, number: u32) {
        let word = number_of_word(&encode_term(term));
        self.numbers.borrow_mut().insert(word, number);
    }

    /// The numbers of space-separated words.
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
