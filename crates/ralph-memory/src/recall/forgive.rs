//! Forgiving a typo: where a question finds nothing at all, its words are taken for the nearest ones that the notes hold.

use std::cmp::Reverse;
use std::collections::HashSet;

use ralph_store::index::{KnownTerm, is_name};

use super::corpus::Forgiving;
use super::question::Terms;

/// Shorter words have too many neighbours.
const LEAST_CHARACTERS: usize = 4;
/// From so many characters on two slips are forgiven.
const LONG_WORD: usize = 8;
/// So many words at most are mended.
const MAX_MENDED: usize = 16;

/// Replaces the unknown terms of a question by near ones, and says which by which.
pub(super) fn forgive<C: Forgiving>(all: &C, terms: &mut Terms) -> Result<Vec<(String, String)>, C::Error> {
    let unknown: Vec<String> = terms
        .unknown
        .iter()
        .filter(|term| term.chars().count() >= LEAST_CHARACTERS && !is_name(term))
        .take(MAX_MENDED)
        .cloned()
        .collect();
    if unknown.is_empty() {
        return Ok(Vec::new());
    }
    let mut nearest: Vec<Option<(usize, u64, String)>> = vec![None; unknown.len()];
    all.all_terms(&mut |known, entries| {
        for (term, nearest) in unknown.iter().zip(&mut nearest) {
            let Some(slips) = slips(term, known) else {
                continue;
            };
            // The terms come in the same order each time, so equals are always decided alike.
            let better = nearest
                .as_ref()
                .is_none_or(|(fewest, most, _)| (slips, Reverse(entries)) < (*fewest, Reverse(*most)));
            if better {
                *nearest = Some((slips, entries, known.to_owned()));
            }
        }
    })?;
    let mut mended: Vec<(String, KnownTerm)> = Vec::new();
    for (term, nearest) in unknown.into_iter().zip(nearest) {
        let Some((_, _, nearest)) = nearest else { continue };
        mended.extend(all.term(&nearest)?.map(|known| (term, known)));
    }
    let forgiven = mended
        .iter()
        .map(|(term, known)| (term.clone(), known.term.clone()))
        .collect();
    terms.replace_unknown(distinct(mended));
    Ok(forgiven)
}

/// The words that were found, once each, in the order of the question.
fn distinct(mended: Vec<(String, KnownTerm)>) -> Vec<KnownTerm> {
    let mut met = HashSet::new();
    let terms = mended.into_iter().map(|(_, known)| known);
    terms.filter(|known| met.insert(known.number)).collect()
}

/// How many slips of the pen turn one word into the other; `None` when they are too many. The beginning of a longer word
/// counts as one.
fn slips(asked: &str, known: &str) -> Option<usize> {
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
    Some(strsim::osa_distance(asked, known)).filter(|slips| *slips <= allowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_words_are_near() {
        for (asked, known, expected) in [
            ("databs", "databas", Some(1)),
            ("migartion", "migration", Some(1)),
            ("auth", "authent", Some(1)),
            ("confgiuration", "configuration", Some(1)),
            ("dcoker", "docker", Some(1)),
            ("test", "rust", None),
            ("port", "ports_open", None),
        ] {
            assert_eq!(slips(asked, known), expected, "{asked} {known}");
        }
    }
}
