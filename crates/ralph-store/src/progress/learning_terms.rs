//! What lessons are found by: their words, their tags, and what is the same in every telling of one.

use std::collections::HashSet;

use super::journal_terms;
use crate::index::Phrase;

/// The words of a lesson without case and punctuation: two that have the same are one lesson.
#[must_use]
pub fn lesson_of(content: &str) -> String {
    let words = content
        .split(|sign: char| !sign.is_alphanumeric())
        .filter(|word| !word.is_empty());
    let words: Vec<String> = words.map(str::to_lowercase).collect();
    words.join(" ")
}

/// The words of a lesson and of its tags, as its table holds them; see [`journal_terms`].
#[must_use]
pub(crate) fn learning_terms(content: &str, tags: &[String]) -> String {
    journal_terms(&format!("{content}\n{}", tags.join("\n")))
}

/// Those of a lesson's words that are not words of its tags, each once, in their order.
pub(super) fn words_beside(terms: &str, tags: &[String]) -> String {
    let of_tags = journal_terms(&tags.join("\n"));
    let mut met: HashSet<&str> = of_tags.split_ascii_whitespace().collect();
    let words: Vec<&str> = terms.split_ascii_whitespace().filter(|word| met.insert(word)).collect();
    words.join(" ")
}

/// Each tag with each of the words of which a text that holds the tag has at least one.
pub(crate) fn tag_terms(tags: &[String]) -> Vec<(String, String)> {
    let mut terms = Vec::new();
    for tag in tags {
        if let Some(phrase) = Phrase::of(tag) {
            terms.extend(phrase.handles().map(|word| (word.to_owned(), tag.clone())));
        }
    }
    terms
}
