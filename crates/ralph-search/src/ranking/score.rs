//! Scores a document against a question, in named parts.

use super::numbers::PairSet;
use super::question::Question;
use crate::index::{Doc, Totals};

/// BM25's term saturation (k1), at its usual value.
const SATURATION: f64 = 1.2;
/// BM25's length normalization (b), a little above its usual value: long texts contain some word of every question.
const LENGTH: f64 = 0.8;
/// Weight of two words that are adjacent in both the question and the text.
const PHRASE: f64 = 0.5;
/// Weight of two words that are only near each other.
const NEAR: f64 = 0.2;
/// Extra weight of a word that is also a tag.
const TAG: f64 = 0.5;

/// The score of a document for a question.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Score {
    /// Shared words, by BM25.
    pub words: f64,
    /// Shared names, paths and numbers, by BM25.
    pub names: f64,
    /// Words adjacent in both.
    pub phrases: f64,
    /// Words of the question that are tags of the document.
    pub tags: f64,
}

impl Score {
    #[must_use]
    pub fn total(&self) -> f64 {
        self.words + self.names + self.phrases + self.tags
    }

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

/// Scores a document against all terms of a question.
#[expect(clippy::cast_precision_loss, reason = "lengths of notes are far below 2^52")]
pub(super) fn score(question: &Question, totals: &Totals, doc: &Doc) -> Score {
    let mut often = vec![0.0_f64; question.known.len()];
    let mut score = Score {
        phrases: phrases(question, &doc.terms),
        ..Score::default()
    };
    for number in &doc.terms {
        if let Some(often) = question.by_number.get(number).and_then(|at| often.get_mut(*at)) {
            *often += 1.0;
        }
    }
    for number in &doc.tag_terms {
        if let Some(often) = question.by_number.get(number).and_then(|at| often.get_mut(*at)) {
            *often += 1.0;
        }
    }
    let length = (doc.terms.len() + doc.tag_terms.len()) as f64;
    let usual_length = totals.terms as f64 / totals.docs.max(1) as f64;
    let norm = SATURATION * (1.0 - LENGTH + LENGTH * length / usual_length.max(1.0));
    for (asked, often) in question.known.iter().zip(often) {
        if often == 0.0 {
            continue;
        }
        let part = asked.weight * often * (SATURATION + 1.0) / (often + norm);
        if asked.is_name {
            score.names += part;
        } else {
            score.words += part;
        }
        if doc.tag_terms.contains(&asked.known.number) {
            score.tags += TAG * asked.rarity;
        }
    }
    score
}

/// The score of words adjacent in both. Each pair counts once, by the less rare of its words: two words that are in
/// every text mean nothing together either.
fn phrases(question: &Question, text: &[u32]) -> f64 {
    let mut seen = PairSet::default();
    let mut sum = 0.0;
    for (at, number) in text.iter().enumerate() {
        if !question.by_number.contains_key(number) {
            continue;
        }
        for distance in [1, 2] {
            let Some(earlier) = at.checked_sub(distance).and_then(|at| text.get(at)) else {
                continue;
            };
            let pair = (*earlier, *number);
            let follows = distance == 1 && question.pairs.contains(&pair);
            if (follows || question.near_pairs.contains(&pair)) && seen.insert(pair) {
                let common = rarity_of(question, pair.0).min(rarity_of(question, pair.1));
                sum += common * if follows { PHRASE } else { NEAR };
            }
        }
    }
    sum
}

fn rarity_of(question: &Question, number: u32) -> f64 {
    let at = question.by_number.get(&number);
    at.and_then(|at| question.known.get(*at))
        .map_or(0.0, |asked| asked.rarity)
}
