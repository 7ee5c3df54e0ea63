//! Typo correction: if a question finds nothing at all, its unknown words are replaced by the nearest known ones.

use std::cmp::Reverse;
use std::collections::HashSet;

use super::Searcher;
use super::question::Question;
use crate::index::{IndexError, KnownTerm};
use crate::tokenizer::is_name;

/// Shorter words have too many neighbours.
const LEAST_CHARACTERS: usize = 4;
/// Words of this length or more may differ by two edits.
const LONG_WORD: usize = 8;
/// Maximum number of words to correct.
const MAX_CORRECTED: usize = 16;

/// Replaces the unknown terms of a question by near ones, and returns the replacements.
pub(super) fn correct(searcher: &Searcher<'_>, question: &mut Question) -> Result<Vec<(String, String)>, IndexError> {
    let unknown: Vec<String> = question
        .unknown
        .iter()
        .filter(|term| term.chars().count() >= LEAST_CHARACTERS && !is_name(term))
        .take(MAX_CORRECTED)
        .cloned()
        .collect();
    let mut corrected: Vec<(String, KnownTerm)> = Vec::new();
    for term in unknown {
        let nearest = nearest(searcher, &term)?;
        corrected.extend(nearest.map(|known| (term, known)));
    }
    let replaced = corrected
        .iter()
        .map(|(term, known)| (term.clone(), known.term.clone()))
        .collect();
    if !corrected.is_empty() {
        question.replace_unknown(distinct(corrected));
    }
    Ok(replaced)
}

/// The known term with the fewest edits; of several the one in most documents, then the first by name.
fn nearest(searcher: &Searcher<'_>, term: &str) -> Result<Option<KnownTerm>, IndexError> {
    let mut nearest: Option<(usize, KnownTerm)> = None;
    let order = |(edits, known): &(usize, KnownTerm)| (*edits, Reverse(known.docs), known.term.clone());
    searcher
        .index
        .similar_terms(term, allowed_edits(term), searcher.kinds, &mut |known| {
            let Some(edits) = edits(term, &known.term) else {
                return;
            };
            let found = (edits, known);
            if nearest.as_ref().is_none_or(|nearest| order(&found) < order(nearest)) {
                nearest = Some(found);
            }
        })?;
    Ok(nearest.map(|(_, known)| known))
}

fn allowed_edits(term: &str) -> usize {
    if term.chars().count() >= LONG_WORD { 2 } else { 1 }
}

/// The corrected words without duplicates, in the order of the question.
fn distinct(corrected: Vec<(String, KnownTerm)>) -> Vec<KnownTerm> {
    let mut seen = HashSet::new();
    let terms = corrected.into_iter().map(|(_, known)| known);
    terms.filter(|known| seen.insert(known.number)).collect()
}

/// The edit distance between two words, or `None` if it is too large. A prefix of a longer word counts as one edit.
fn edits(asked: &str, known: &str) -> Option<usize> {
    if is_name(known) {
        return None;
    }
    if known.starts_with(asked) {
        return Some(1);
    }
    let allowed = allowed_edits(asked);
    if known.chars().count().abs_diff(asked.chars().count()) > allowed {
        return None;
    }
    Some(strsim::osa_distance(asked, known)).filter(|edits| *edits <= allowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edit_distance_of_near_words() {
        for (asked, known, expected) in [
            ("databs", "databas", Some(1)),
            ("migartion", "migration", Some(1)),
            ("auth", "authent", Some(1)),
            ("confgiuration", "configuration", Some(1)),
            ("dcoker", "docker", Some(1)),
            ("test", "rust", None),
            ("port", "ports_open", None),
        ] {
            assert_eq!(edits(asked, known), expected, "{asked} {known}");
        }
    }
}
