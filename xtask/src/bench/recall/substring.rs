//! A grep-like search: counts query words that occur anywhere in a document, even inside other words.

use std::collections::BTreeSet;

use jiff::Timestamp;
use memchr::memmem::Finder;

use super::set::Document;
use super::systems::{Allowed, System};
use super::words::lowercase_words;

/// The lowercase documents with their times.
struct Substring(Vec<(String, Timestamp)>);

pub(super) fn load(documents: &[Document]) -> Result<Box<dyn System>, String> {
    let lower = |document: &Document| (document.text.to_lowercase(), document.created);
    Ok(Box::new(Substring(documents.iter().map(lower).collect())))
}

impl System for Substring {
    fn search(&self, query: &str, allowed: &Allowed<'_>, limit: usize) -> Result<Vec<usize>, String> {
        let words: BTreeSet<String> = lowercase_words(query).filter(|word| word.chars().count() > 2).collect();
        let finders: Vec<Finder<'_>> = words.iter().map(Finder::new).collect();
        let mut found: Vec<(usize, Timestamp, usize)> = self
            .0
            .iter()
            .enumerate()
            .filter(|(place, _)| allowed.allows(*place))
            .map(|(place, (text, created))| {
                let words = finders.iter().filter(|word| word.find(text.as_bytes()).is_some());
                (words.count(), *created, place)
            })
            .filter(|(words, ..)| *words > 0)
            .collect();
        found.sort_by(|one, other| other.cmp(one));
        Ok(found.into_iter().take(limit).map(|(.., place)| place).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::super::set::testing::document;
    use super::*;

    #[test]
    fn more_words_rank_first_then_newer_documents() {
        let documents = [
            document("Listening on a port", 3),
            document("reporting", 1),
            document("an airport", 2),
        ];
        let system = load(&documents).unwrap();
        assert_eq!(
            system.search("to listen: PORT", &Allowed::all(&documents), 10).unwrap(),
            [0, 2, 1]
        );
        assert_eq!(
            system.search("on an", &Allowed::all(&documents), 10).unwrap(),
            Vec::<usize>::new(),
            "words of two characters do not count"
        );
    }
}
