//! Ranks notes by the words they share with a text; rare words tell more than common ones.

use std::collections::{HashMap, HashSet};

/// Orders the texts that share a word with the query, best first; equals keep their order. A text is its position in the
/// slice. A query without any word finds nothing.
pub(super) fn rank(query: &str, texts: &[String]) -> Vec<usize> {
    let wanted: HashSet<String> = words(query).collect();
    let documents: Vec<HashSet<String>> = texts
        .iter()
        .map(|text| words(text).filter(|word| wanted.contains(word)).collect())
        .collect();
    let mut frequency: HashMap<&str, usize> = HashMap::new();
    for word in documents.iter().flatten() {
        *frequency.entry(word).or_default() += 1;
    }
    let mut scored: Vec<(f64, usize)> = documents
        .iter()
        .enumerate()
        .filter(|(_, shared)| !shared.is_empty())
        .map(|(position, shared)| {
            let mut weights: Vec<f64> = shared
                .iter()
                .filter_map(|word| frequency.get(word.as_str()))
                .map(|count| weight(*count, texts.len()))
                .collect();
            // Sums of floats depend on their order, and that of a hash set is arbitrary.
            weights.sort_by(f64::total_cmp);
            (weights.iter().sum(), position)
        })
        .collect();
    scored.sort_by(|(one, at), (other, there)| other.total_cmp(one).then(at.cmp(there)));
    scored.into_iter().map(|(_, position)| position).collect()
}

fn words(text: &str) -> impl Iterator<Item = String> {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
}

#[expect(clippy::cast_precision_loss, reason = "counts of notes are far below 2^52")]
fn weight(count: usize, all: usize) -> f64 {
    (1.0 + (all as f64 + 1.0) / (count as f64 + 0.5)).ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rare_words_count_more_and_equals_keep_their_order() {
        let texts: Vec<String> = [
            "run the tests",
            "the Docker daemon",
            "the end",
            "nothing",
            "docker: the tests",
        ]
        .map(str::to_owned)
        .to_vec();
        assert_eq!(rank("the docker tests", &texts), [4, 0, 1, 2]);
        assert_eq!(rank("", &texts), Vec::<usize>::new());
        assert_eq!(rank("\"' OR NEAR( -", &texts), Vec::<usize>::new());
    }
}
