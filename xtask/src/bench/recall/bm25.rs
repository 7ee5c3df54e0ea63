//! The peer: in-memory BM25 over all documents.

use std::collections::{BTreeMap, HashMap};

use super::set::Document;
use super::systems::{Allowed, System, best};
use super::words::Words;

/// Term frequency saturation.
const K1: f64 = 1.2;
/// Length normalization.
const B: f64 = 0.75;

/// The index of a project.
struct Bm25 {
    words: Words,
    /// For each term, the documents that contain it with its weight there.
    postings: HashMap<String, Vec<(usize, f64)>>,
    documents: usize,
}

pub(super) fn load(documents: &[Document]) -> Result<Box<dyn System>, String> {
    Ok(Box::new(Bm25::of(documents)))
}

impl Bm25 {
    fn of(documents: &[Document]) -> Self {
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
        Self {
            words,
            postings: counts,
            documents: documents.len(),
        }
    }
}

impl System for Bm25 {
    fn search(&self, query: &str, allowed: &Allowed<'_>, limit: usize) -> Result<Vec<usize>, String> {
        // Sorted, so that floating-point sums are deterministic.
        let mut terms: BTreeMap<String, f64> = BTreeMap::new();
        for term in self.words.terms(query) {
            *terms.entry(term).or_default() += 1.0;
        }
        let mut scores = vec![0.0; self.documents];
        for (term, count) in terms {
            // Repeated query terms count sublinearly. Counting them in full, or only once, finds less with long
            // queries.
            let weight = 1.0 + count.ln();
            for (document, worth) in self.postings.get(&term).into_iter().flatten() {
                if let Some(score) = scores.get_mut(*document) {
                    *score += weight * worth;
                }
            }
        }
        let found = scores
            .into_iter()
            .enumerate()
            .filter(|(document, score)| *score > 0.0 && allowed.allows(*document))
            .map(|(document, score)| (score, document))
            .collect();
        Ok(best(found, limit))
    }
}

#[cfg(test)]
mod tests {
    use super::super::set::testing::document;
    use super::*;

    #[test]
    fn rare_words_short_documents_and_repetition_rank_higher() {
        let check = |texts: [&str; 3], query: &str, expected: &[usize]| {
            let documents = texts.map(|text| document(text, 1));
            let found = load(&documents)
                .unwrap()
                .search(query, &Allowed::all(&documents), 10)
                .unwrap();
            assert_eq!(found, expected, "{texts:?} {query:?}");
        };
        check(["cat dog", "cat bird", "cat fish"], "the cats and a bird", &[1, 0, 2]);
        check(["cat dog bird fish", "cat", "dog dog"], "cat", &[1, 0]);
        check(["cat dog", "cat cat", "dog dog dog"], "cat", &[1, 0]);
        check(["cat lion", "dog lion", "fish"], "dog cat dog", &[1, 0]);
        check(["read file", "readFile now", "fish"], "readFile", &[1, 0]);
    }

    #[test]
    fn scores_match_manual_calculation() {
        let documents = [
            document("cat dog", 1),
            document("fish", 1),
            document("bird bird bird", 1),
        ];
        let index = Bm25::of(&documents);
        // Once, in one of three documents, of average length (two words): ln(1 + 2.5 / 1.5).
        let worth = index.postings["cat"][0].1;
        assert!((worth - 0.980_83).abs() < 1e-5, "{worth}");
        // Three times, in one document of three words: the same times 3 × 2.2 / (3 + 1.2 × (0.25 + 0.75 × 1.5)).
        let worth = index.postings["bird"][0].1;
        assert!((worth - 1.392_14).abs() < 1e-5, "{worth}");
    }
}
