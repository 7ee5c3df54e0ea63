//! A question as terms: which of its words are known, and which are distinctive: not in nearly every document.

use std::collections::{HashMap, HashSet};

use super::Searcher;
use super::numbers::{NumberMap, PairSet};
use crate::index::{Doc, IndexError, KnownTerm};
use crate::tokenizer::{is_name, terms_of};

/// Maximum number of different terms per question. The longest tasks have some hundreds.
const MAX_TERMS: usize = 1_024;
/// In a question of this few words, common ones count too.
const FEW_TERMS: usize = 3;

/// How a question of only common words is treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommonWords {
    Search,
    /// They are ignored: the text is not a user's question, and documents that share only common words are irrelevant.
    Ignore,
}

#[derive(Debug)]
pub struct Question {
    /// The known terms, rarest first.
    pub(super) known: Vec<Asked>,
    /// Positions in `known` by term number.
    pub(super) by_number: NumberMap<u32, usize>,
    /// Pairs of adjacent terms.
    pub(super) pairs: PairSet,
    /// Pairs of adjacent terms in reverse order, or with one term between them.
    pub(super) near_pairs: PairSet,
    /// Terms that no document contains.
    pub(super) unknown: Vec<String>,
    /// The term numbers in the order of the question.
    sequence: Vec<Option<u32>>,
    docs: u64,
    common: CommonWords,
}

/// A known term of a question.
#[derive(Debug, Clone)]
pub(super) struct Asked {
    pub(super) known: KnownTerm,
    /// Its rarity, increased if the question repeats it.
    pub(super) weight: f64,
    pub(super) rarity: f64,
    pub(super) is_name: bool,
    /// Whether a document may be found by it alone.
    pub(super) distinctive: bool,
}

/// What a document shares with a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shared {
    /// Whether a distinctive name is among them.
    pub has_name: bool,
    /// The number of different distinctive words.
    pub distinctive: usize,
    /// The number of different words, also in tags, common ones included.
    pub words: usize,
}

impl Searcher<'_> {
    /// The terms of a text.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub fn question(&self, text: &str, common: CommonWords) -> Result<Question, IndexError> {
        Question::of(self, text, common)
    }
}

impl Question {
    /// What a document shares with the question.
    #[must_use]
    pub fn shared(&self, doc: &Doc) -> Shared {
        let asked = |number: &u32| self.by_number.get(number).and_then(|at| self.known.get(*at));
        let distinctive: HashMap<u32, bool> = doc
            .terms
            .iter()
            .filter_map(asked)
            .filter(|asked| asked.distinctive)
            .map(|asked| (asked.known.number, asked.is_name))
            .collect();
        let has = |number: &u32| doc.terms.contains(number) || doc.tag_terms.contains(number);
        Shared {
            has_name: distinctive.values().any(|is_name| *is_name),
            distinctive: distinctive.len(),
            words: self.known.iter().filter(|asked| has(&asked.known.number)).count(),
        }
    }

    pub(super) fn terms(&self) -> HashSet<String> {
        self.known.iter().map(|asked| asked.known.term.clone()).collect()
    }

    fn of(searcher: &Searcher<'_>, text: &str, common: CommonWords) -> Result<Self, IndexError> {
        let mut terms = Self {
            known: Vec::new(),
            by_number: NumberMap::default(),
            pairs: PairSet::default(),
            near_pairs: PairSet::default(),
            unknown: Vec::new(),
            sequence: Vec::new(),
            docs: searcher.totals.docs,
            common,
        };
        let mut seen: HashMap<String, Option<KnownTerm>> = HashMap::new();
        for term in terms_of(text) {
            if !seen.contains_key(&term) {
                if seen.len() >= MAX_TERMS {
                    continue;
                }
                let known = searcher.term(&term)?;
                if known.is_none() {
                    terms.unknown.push(term.clone());
                }
                seen.insert(term.clone(), known);
            }
            let known = seen.get(&term).and_then(Option::as_ref);
            terms.sequence.push(known.map(|known| known.number));
        }
        terms.set(seen.into_values().flatten().collect());
        Ok(terms)
    }

    /// Replaces the unknown terms.
    pub(super) fn replace_unknown(&mut self, instead: Vec<KnownTerm>) {
        self.sequence = instead.iter().map(|known| Some(known.number)).collect();
        self.unknown.clear();
        self.set(instead);
    }

    fn set(&mut self, known: Vec<KnownTerm>) {
        let mut often: HashMap<u32, f64> = HashMap::new();
        for number in self.sequence.iter().flatten() {
            *often.entry(*number).or_default() += 1.0;
        }
        self.known = known
            .into_iter()
            .map(|known| {
                let rarity = rarity(known.docs, self.docs);
                Asked {
                    weight: rarity * (1.0 + often.get(&known.number).copied().unwrap_or(1.0).ln()),
                    rarity,
                    is_name: is_name(&known.term),
                    distinctive: is_distinctive(known.docs, self.docs),
                    known,
                }
            })
            .collect();
        // Sums of floats depend on their order, so it must not be that of a hash map.
        self.known
            .sort_by(|one, other| (one.known.docs, &one.known.term).cmp(&(other.known.docs, &other.known.term)));
        // Without any rarer word, the common ones are what is asked for.
        let means_common_ones = self.known.len() <= FEW_TERMS || self.unknown.is_empty();
        if self.common == CommonWords::Search && means_common_ones && !self.known.iter().any(|asked| asked.distinctive)
        {
            self.known.iter_mut().for_each(|asked| asked.distinctive = true);
        }
        self.by_number = self
            .known
            .iter()
            .enumerate()
            .map(|(position, asked)| (asked.known.number, position))
            .collect();
        let pairs = |distance: usize| {
            let later = self.sequence.iter().skip(distance);
            self.sequence
                .iter()
                .zip(later)
                .filter_map(|(one, other)| one.zip(*other))
        };
        self.near_pairs = pairs(1).map(|(one, other)| (other, one)).chain(pairs(2)).collect();
        self.pairs = pairs(1).collect();
    }
}

/// A term in more than one in this many documents is common …
const COMMON_SHARE: u64 = 4;
/// … from this many documents on; among a handful every word would be common.
const COMMON_FROM: u64 = 24;

/// Whether a term in `holding` of `all` documents is distinctive.
#[must_use]
pub fn is_distinctive(holding: u64, all: u64) -> bool {
    all < COMMON_FROM || holding * COMMON_SHARE <= all
}

/// The inverse document frequency of BM25.
#[expect(clippy::cast_precision_loss, reason = "counts of notes are far below 2^52")]
fn rarity(holding: u64, all: u64) -> f64 {
    let (holding, all) = (holding as f64, all as f64);
    (1.0 + (all - holding + 0.5) / (holding + 0.5)).ln()
}
