//! How well an entry fits a question, in named parts.

use ralph_store::index::{Outline, Totals};

use super::numbers::PairSet;
use super::question::Terms;

/// How soon further mentions of a term stop counting; the usual value.
const SATURATION: f64 = 1.2;
/// How much long texts are held back, a little more than usual: a long note holds some word of every question.
const LENGTH: f64 = 0.8;
/// What two words that follow one another in the question and in the text count, beside each of them.
const PHRASE: f64 = 0.5;
/// The same for two words that only stand near one another.
const NEAR: f64 = 0.2;
/// What a word counts that is also a tag, beside its being in the text.
const TAG: f64 = 0.5;

/// How well an entry fits a question.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Score {
    /// Words that both hold, by BM25: rare ones count most, long texts are held back.
    pub words: f64,
    /// Whole names, paths and numbers that both hold, likewise.
    pub names: f64,
    /// Words that stand together in both.
    pub phrases: f64,
    /// Words of the question that are tags of the entry.
    pub tags: f64,
}

impl Score {
    /// All parts together.
    #[must_use]
    pub fn total(&self) -> f64 {
        self.words + self.names + self.phrases + self.tags
    }

    /// The parts by their names.
    #[must_use]
    pub fn parts(&self) -> [(&'static str, f64); 4] {
        [
            ("words", self.words),
            ("names", self.names),
            ("phrases", self.phrases),
            ("tags", self.tags),
        ]
    }
}

/// Weighs an entry against all terms of a question.
#[expect(clippy::cast_precision_loss, reason = "lengths of notes are far below 2^52")]
pub(super) fn score(terms: &Terms, totals: &Totals, outline: &Outline) -> Score {
    let mut often = vec![0.0_f64; terms.known.len()];
    let mut score = Score {
        phrases: phrases(terms, &outline.terms),
        ..Score::default()
    };
    for number in &outline.terms {
        if let Some(often) = terms.by_number.get(number).and_then(|at| often.get_mut(*at)) {
            *often += 1.0;
        }
    }
    for number in &outline.tag_terms {
        if let Some(often) = terms.by_number.get(number).and_then(|at| often.get_mut(*at)) {
            *often += 1.0;
        }
    }
    let length = (outline.terms.len() + outline.tag_terms.len()) as f64;
    let usual_length = totals.terms as f64 / totals.entries.max(1) as f64;
    let norm = SATURATION * (1.0 - LENGTH + LENGTH * length / usual_length.max(1.0));
    for (asked, often) in terms.known.iter().zip(often) {
        if often == 0.0 {
            continue;
        }
        let part = asked.weight * often * (SATURATION + 1.0) / (often + norm);
        if asked.is_name {
            score.names += part;
        } else {
            score.words += part;
        }
        if outline.tag_terms.contains(&asked.known.number) {
            score.tags += TAG * asked.rarity;
        }
    }
    score
}

/// What words count that stand together in the question and in the text. Each pair counts once, by its rarer word's
/// neighbour: two words that every text holds say nothing together either.
fn phrases(terms: &Terms, text: &[u32]) -> f64 {
    let mut met = PairSet::default();
    let mut sum = 0.0;
    for (at, number) in text.iter().enumerate() {
        if !terms.by_number.contains_key(number) {
            continue;
        }
        for distance in [1, 2] {
            let Some(earlier) = at.checked_sub(distance).and_then(|at| text.get(at)) else {
                continue;
            };
            let pair = (*earlier, *number);
            let follows = distance == 1 && terms.pairs.contains(&pair);
            if (follows || terms.near_pairs.contains(&pair)) && met.insert(pair) {
                let common = rarity_of(terms, pair.0).min(rarity_of(terms, pair.1));
                sum += common * if follows { PHRASE } else { NEAR };
            }
        }
    }
    sum
}

fn rarity_of(terms: &Terms, number: u32) -> f64 {
    let at = terms.by_number.get(&number);
    at.and_then(|at| terms.known.get(*at)).map_or(0.0, |asked| asked.rarity)
}
