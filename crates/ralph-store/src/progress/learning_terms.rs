//! The searchable terms of learnings: text and tags.

use std::collections::HashSet;

use super::journal_terms;
use crate::index::Phrase;

/// Separates the terms of the text from those of the tags. No term equals it: a hex-encoded term has digits after it.
const TAGS_FOLLOW: &str = "0x";

/// Terms of text and tags as the table stores them; see [`journal_terms()`].
#[must_use]
pub(crate) fn learning_terms(content: &str, tags: &[String]) -> String {
    let of_tags = journal_terms(&tags.join("\n"));
    let of_text = journal_terms(content);
    if of_tags.is_empty() {
        return of_text;
    }
    format!("{of_text} {TAGS_FOLLOW} {of_tags}").trim_start().to_owned()
}

/// Splits the terms into those of the text and those of the tags.
pub(super) fn text_and_tags(terms: &str) -> (&str, &str) {
    if let Some(tags) = terms.strip_prefix("0x ") {
        return ("", tags);
    }
    terms.split_once(" 0x ").unwrap_or((terms, ""))
}

/// The terms of the text that do not occur in the tags, each once, in order.
pub(super) fn words_beside(terms: &str, tags: &[String]) -> String {
    let of_tags = journal_terms(&tags.join("\n"));
    let mut met: HashSet<&str> = of_tags.split_ascii_whitespace().collect();
    met.insert(TAGS_FOLLOW);
    let words: Vec<&str> = terms.split_ascii_whitespace().filter(|word| met.insert(word)).collect();
    words.join(" ")
}

/// Pairs each tag with words of which every text that contains the tag has at least one.
pub(crate) fn tag_terms(tags: &[String]) -> Vec<(String, String)> {
    let mut terms = Vec::new();
    for tag in tags {
        if let Some(phrase) = Phrase::of(tag) {
            terms.extend(phrase.handles().map(|word| (word.to_owned(), tag.clone())));
        }
    }
    terms
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_of_text_and_tags_are_separated() {
        let tags = |tags: &[&str]| -> Vec<String> { tags.iter().map(|tag| (*tag).to_owned()).collect() };
        for (content, tagged, expected) in [
            ("Run the tests", tags(&["cargo", "test"]), ("run test", "cargo test")),
            ("Run the tests", tags(&[]), ("run test", "")),
            ("Run the tests", tags(&["the"]), ("run test", "")),
            ("", tags(&["größe", "0x"]), ("", "gröss 0 x")),
            ("0x 0x 0x", tags(&["0x"]), ("0 x 0 x 0 x", "0 x")),
        ] {
            let terms = learning_terms(content, &tagged);
            let plain = |terms: &str| journal_terms(terms);
            let (text, of_tags) = text_and_tags(&terms);
            assert_eq!(
                (text, of_tags),
                (
                    journal_terms(content).as_str(),
                    journal_terms(&tagged.join("\n")).as_str()
                )
            );
            assert_eq!(
                (plain(expected.0).is_empty(), plain(expected.1).is_empty()),
                (text.is_empty(), of_tags.is_empty())
            );
        }
    }
}
