//! A question as terms: which of its words the notes know, and which of them tell something.

use std::collections::{HashMap, HashSet};

use ralph_store::index::{KnownTerm, is_name, terms_of};

use super::corpus::Corpus;
use super::numbers::{NumberMap, PairSet};

/// How many different terms of a question are looked at. The longest task has some hundreds.
const MAX_TERMS: usize = 1_024;
/// A term that more than one in so many notes holds is common …
const COMMON_SHARE: u64 = 4;
/// … from so many notes on; among a handful of notes every word of theirs is common.
const COMMON_FROM: u64 = 24;
/// A question of so few words means each of them, also the common ones.
const FEW_TERMS: usize = 3;

/// What a question means that holds none but common words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CommonWords {
    /// Just these.
    AreMeant,
    /// Nothing: nobody has asked, and what shares only them is not to be shown.
    TellNothing,
}

/// The terms of a question.
#[derive(Debug)]
pub(super) struct Terms {
    /// Those that the notes hold, the rarest first.
    pub(super) known: Vec<Asked>,
    /// Where a term stands in `known`, by its number.
    pub(super) by_number: NumberMap<u32, usize>,
    /// Terms that follow one another in the question.
    pub(super) pairs: PairSet,
    /// Terms that do so the other way round, or with one between them.
    pub(super) near_pairs: PairSet,
    /// Those that no note holds.
    pub(super) unknown: Vec<String>,
    /// The numbers of the question's terms in its order.
    sequence: Vec<Option<u32>>,
    entries: u64,
    common: CommonWords,
}

/// A term of a question that the notes hold.
#[derive(Debug, Clone)]
pub(super) struct Asked {
    pub(super) known: KnownTerm,
    /// What it tells, and more of it the oftener the question says it.
    pub(super) weight: f64,
    /// What it tells.
    pub(super) rarity: f64,
    pub(super) is_name: bool,
    /// Whether a note may be found by it alone.
    pub(super) telling: bool,
}

impl Terms {
    /// The terms of a text.
    pub(super) fn of<C: Corpus>(corpus: &C, text: &str, common: CommonWords) -> Result<Self, C::Error> {
        let mut terms = Self {
            known: Vec::new(),
            by_number: NumberMap::default(),
            pairs: PairSet::default(),
            near_pairs: PairSet::default(),
            unknown: Vec::new(),
            sequence: Vec::new(),
            entries: corpus.totals()?.entries,
            common,
        };
        let mut met: HashMap<String, Option<KnownTerm>> = HashMap::new();
        for term in terms_of(text) {
            if !met.contains_key(&term) {
                if met.len() >= MAX_TERMS {
                    continue;
                }
                let known = corpus.term(&term)?;
                if known.is_none() {
                    terms.unknown.push(term.clone());
                }
                met.insert(term.clone(), known);
            }
            let known = met.get(&term).and_then(Option::as_ref);
            terms.sequence.push(known.map(|known| known.number));
        }
        terms.set(met.into_values().flatten().collect());
        Ok(terms)
    }

    /// All terms that are looked for.
    pub(super) fn all(&self) -> HashSet<String> {
        self.known.iter().map(|asked| asked.known.term.clone()).collect()
    }

    /// Takes other terms for those that no note holds.
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
                let rarity = rarity(known.entries, self.entries);
                Asked {
                    weight: rarity * (1.0 + often.get(&known.number).copied().unwrap_or(1.0).ln()),
                    rarity,
                    is_name: is_name(&known.term),
                    telling: tells(known.entries, self.entries),
                    known,
                }
            })
            .collect();
        // Sums of floats depend on their order, so it must not be that of a hash map.
        self.known
            .sort_by(|one, other| (one.known.entries, &one.known.term).cmp(&(other.known.entries, &other.known.term)));
        // Where there is no rarer word, the common ones are what is asked for.
        let means_common_ones = self.known.len() <= FEW_TERMS || self.unknown.is_empty();
        if self.common == CommonWords::AreMeant && means_common_ones && !self.known.iter().any(|asked| asked.telling) {
            self.known.iter_mut().for_each(|asked| asked.telling = true);
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

/// Whether a term tells something that so many of all entries hold.
pub(crate) fn tells(holding: u64, all: u64) -> bool {
    all < COMMON_FROM || holding * COMMON_SHARE <= all
}

/// How much a term tells that so many of all entries hold: the usual weight of BM25.
#[expect(clippy::cast_precision_loss, reason = "counts of notes are far below 2^52")]
fn rarity(holding: u64, all: u64) -> f64 {
    let (holding, all) = (holding as f64, all as f64);
    (1.0 + (all - holding + 0.5) / (holding + 0.5)).ln()
}
