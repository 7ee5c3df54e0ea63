//! Typo correction: if a question finds nothing at all, its unknown words are replaced by the nearest known ones.

use std::cmp::Reverse;
use std::collections::HashSet;

use ralph_store::index::{KnownTerm, is_name};

use super::corpus::FuzzyCorpus;
use super::question::Terms;

/// Shorter words have too many neighbours.
const LEAST_CHARACTERS: usize = 4;
/// Words of this length or more may differ by two edits.
const LONG_WORD: usize = 8;
/// Maximum number of words to correct.
const MAX_CORRECTED: usize = 16;

/// Replaces the unknown terms of a question by near ones, and returns the replacements.
pub(super) fn fuzzy_terms<C: FuzzyCorpus>(all: &C, terms: &mut Terms) -> Result<Vec<(String, String)>, C::Error> {
    let unknown: Vec<String> = terms
        .unknown
        .iter()
        .filter(|term| term.chars().count() >= LEAST_CHARACTERS && !is_name(term))
        .take(MAX_CORRECTED)
        .cloned()
        .collect();
    if unknown.is_empty() {
        return Ok(Vec::new());
    }
    let mut nearest: Vec<Option<(usize, u64, String)>> = vec![None; unknown.len()];
    all.all_terms(&mut |known, entries| {
        for (term, nearest) in unknown.iter().zip(&mut nearest) {
            let Some(edits) = edits(term, known) else {
                continue;
            };
            // Terms come in a fixed order, so ties are always broken alike.
            let better = nearest
                .as_ref()
                .is_none_or(|(fewest, most, _)| (edits, Reverse(entries)) < (*fewest, Reverse(*most)));
            if better {
                *nearest = Some((edits, entries, known.to_owned()));
            }
        }
    })?;
    let mut corrected: Vec<(String, KnownTerm)> = Vec::new();
    for (term, nearest) in unknown.into_iter().zip(nearest) {
        let Some((_, _, nearest)) = nearest else { continue };
        corrected.extend(all.term(&nearest)?.map(|known| (term, known)));
    }
    let fuzzy = corrected
        .iter()
        .map(|(term, known)| (term.clone(), known.term.clone()))
        .collect();
    terms.replace_unknown(distinct(corrected));
    Ok(fuzzy)
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
    let length = asked.chars().count();
    let allowed = if length >= LONG_WORD { 2 } else { 1 };
    if known.chars().count().abs_diff(length) > allowed {
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
