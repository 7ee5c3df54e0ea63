//! Ranking: which documents answer a question, best first.
//!
//! The index gives candidates by the question's most distinctive words, `score` ranks each against the whole question,
//! and `choose` picks the results: near-duplicates once, and of several on one subject the newest first.

mod candidates;
mod choose;
mod numbers;
mod question;
mod score;
mod typos;

use std::collections::HashSet;

pub use question::{CommonWords, Question, is_distinctive};
pub use score::Score;

use crate::index::{Doc, Index, IndexError, KnownTerm, Totals};
use crate::{DocKind, places_of};
use choose::Selection;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// The N best results.
    Best(usize),
    /// Every document that shares a distinctive word.
    All,
}

/// How many documents are looked at when only the best are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Limit on the lists of documents per word that are read. The rarest words are always read.
    pub postings: u64,
    /// Limit on the documents scored.
    pub candidates: usize,
    /// How many documents that share equally much are looked at together.
    pub ties: usize,
}

impl Limits {
    /// For a person's question.
    pub const QUESTION: Self = Self {
        postings: 8_000,
        candidates: 128,
        // Which of the documents that share equally much is best is known only after scoring.
        ties: usize::MAX,
    };
    /// For a person's question about facts: later facts have higher numbers, and go first.
    pub const FACTS: Self = Self {
        ties: 32,
        ..Self::QUESTION
    };
    /// For a search that each iteration waits for.
    pub const PROMPT: Self = Self {
        postings: 2_000,
        candidates: 32,
        ties: 32,
    };
}

/// How near-duplicates among the results are treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Duplicates {
    /// Only the newest is returned. A note and a fact that say the same are both returned.
    Drop,
    Keep,
}

/// Search results, best first.
#[derive(Debug)]
pub struct SearchAnswer {
    pub hits: Vec<(Score, Doc)>,
    /// Unknown words of the question, with the words that replaced them.
    pub corrected: Vec<(String, String)>,
    pub question: Question,
}

impl SearchAnswer {
    /// The searched terms.
    #[must_use]
    pub fn terms(&self) -> HashSet<String> {
        self.question.terms()
    }
}

/// The ranges of the words in a text that have one of these terms.
#[must_use]
pub fn places_in(text: &str, terms: &HashSet<String>) -> Vec<std::ops::Range<usize>> {
    places_of(text, |term| terms.contains(term))
}

/// Searches some kinds of documents. The rarity of words is computed over all of these kinds.
#[derive(Debug, Clone, Copy)]
pub struct Searcher<'i> {
    index: &'i Index,
    kinds: &'i [DocKind],
    limits: Limits,
    totals: Totals,
    /// The numbers of the only documents to find, if not all.
    among: Option<&'i HashSet<i64>>,
}

impl<'i> Searcher<'i> {
    /// The order of the kinds matters only between documents that are equally good and old.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub fn new(index: &'i Index, kinds: &'i [DocKind], limits: Limits) -> Result<Self, IndexError> {
        Ok(Self {
            totals: index.totals(kinds)?,
            index,
            kinds,
            limits,
            among: None,
        })
    }

    /// Finds only documents with one of these numbers, if there are any.
    #[must_use]
    pub fn among(self, numbers: Option<&'i HashSet<i64>>) -> Self {
        Self { among: numbers, ..self }
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.totals.docs == 0
    }

    /// Searches; if nothing is found, tries again with corrected typos. Only accepted documents are returned.
    ///
    /// # Errors
    /// When the index cannot be read, or a document cannot be checked.
    pub fn search<E: From<IndexError>>(
        &self,
        text: &str,
        (reach, duplicates): (Reach, Duplicates),
        accept: &mut dyn FnMut(&Doc) -> Result<bool, E>,
    ) -> Result<SearchAnswer, E> {
        let mut question = self.question(text, CommonWords::Search)?;
        let mut hits = self.best(&question, (reach, duplicates), accept)?;
        let mut corrected = Vec::new();
        if hits.is_empty() {
            corrected = typos::correct(self, &mut question)?;
            if !corrected.is_empty() {
                hits = self.best(&question, (reach, duplicates), accept)?;
            }
        }
        Ok(SearchAnswer {
            hits,
            corrected,
            question,
        })
    }

    /// The best documents for a question.
    ///
    /// # Errors
    /// When the index cannot be read, or a document cannot be checked.
    pub fn best<E: From<IndexError>>(
        &self,
        question: &Question,
        (reach, duplicates): (Reach, Duplicates),
        accept: &mut dyn FnMut(&Doc) -> Result<bool, E>,
    ) -> Result<Vec<(Score, Doc)>, E> {
        let candidates = self.candidates(question, reach, accept)?;
        let scored = candidates
            .into_iter()
            .map(|doc| (self.score(question, &doc), doc))
            .filter(|(score, _)| score.total() > 0.0)
            .collect();
        let selection = Selection {
            question,
            kinds: self.kinds,
            duplicates,
            most: match reach {
                Reach::Best(most) => most,
                Reach::All => usize::MAX,
            },
        };
        Ok(choose::choose(&selection, scored))
    }

    /// Scores a document against all words of a question.
    #[must_use]
    pub fn score(&self, question: &Question, doc: &Doc) -> Score {
        score::score(question, &self.totals, doc)
    }

    fn term(&self, term: &str) -> Result<Option<KnownTerm>, IndexError> {
        self.index.term(term, self.kinds)
    }
}
