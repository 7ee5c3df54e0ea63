//! The peer: BM25 over every document, in memory.

use std::collections::HashMap;

use super::set::Document;
use super::systems::{System, best};
use super::words::Words;

/// How soon more of the same word stops to count.
const K1: f64 = 1.2;
/// How much the length of a document counts.
const B: f64 = 0.75;

/// The index of a project.
struct Bm25 {
    words: Words,
    /// For each term the documents that hold it, and what it is worth there.
    postings: HashMap<String, Vec<(usize, f64)>>,
    documents: usize,
}

/// Indexes documents.
pub(super) fn load(documents: &[Document]) -> Result<Box<dyn System>, String> {
    let words = Words::new();
    let mut lengths = Vec::with_capacity(documents.len());
    let mut counts: HashMap<String, Vec<(usize, f64)>> = HashMap::new();
    for (place, document) in documents.iter().enumerate() {
        let terms = words.terms(&document.text);
        lengths.push(terms.len() as f64);
        for term in terms {
            let holders = counts.entry(term).or_default();
            match holders.last_mut() {
                Some((last, count)) if *last == place => *count += 1.0,
                Some(_) | None => holders.push((place, 1.0)),
            }
        }
    }
    let all = documents.len() as f64;
    let mean_length = lengths.iter().sum::<f64>() / all.max(1.0);
    for holders in counts.values_mut() {
        let holding = holders.len() as f64;
        let rarity = (1.0 + (all - holding + 0.5) / (holding + 0.5)).ln();
        for (place, worth) in holders {
            let length = lengths.get(*place).copied().unwrap_or_default();
            let count = *worth;
            *worth = rarity * count * (K1 + 1.0) / (count + K1 * (1.0 - B + B * length / mean_length));
        }
    }
    Ok(Box::new(Bm25 {
        words,
        postings: counts,
        documents: documents.len(),
    }))
}

impl System for Bm25 {
    fn search(&self, query: &str, allowed: &dyn Fn(usize) -> bool, limit: usize) -> Result<Vec<usize>, String> {
        let mut scores = vec![0.0; self.documents];
        for term in self.words.terms(query) {
            for (document, worth) in self.postings.get(&term).into_iter().flatten() {
                if let Some(score) = scores.get_mut(*document) {
                    *score += worth;
                }
            }
        }
        let found = scores
            .into_iter()
            .enumerate()
            .filter(|(document, score)| *score > 0.0 && allowed(*document))
            .map(|(document, score)| (score, document))
            .collect();
        Ok(best(found, limit))
    }
}
