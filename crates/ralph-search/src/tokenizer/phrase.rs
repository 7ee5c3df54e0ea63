//! Phrase matching: whether a text contains the words of a tag in sequence, regardless of inflection and spelling.

use std::collections::{HashMap, HashSet};

use super::{Word, joined_words, terms_of, words_of};

/// A word, or several consecutive words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Phrase {
    words: Vec<Word>,
    /// The phrase as one word if it has no white space: "front-end" and "frontend" are equal.
    whole: Option<String>,
}

impl Phrase {
    /// Returns `None` if the text consists of stop words only.
    #[must_use]
    pub fn of(text: &str) -> Option<Self> {
        let words = words_of(text);
        let has_content = words.iter().any(|word| matches!(word, Word::Content(_)));
        let mut whole = joined_words(text);
        has_content.then(|| Self {
            words,
            whole: whole.pop().filter(|_| whole.is_empty()),
        })
    }

    /// Every text that contains the phrase has at least one of these words; see [`Phrases::words`].
    pub fn handles(&self) -> impl Iterator<Item = &str> {
        let first = self.words.iter().find_map(|word| match word {
            Word::Content(word) => Some(word.as_str()),
            Word::StopWord(_) => None,
        });
        let whole = self.whole.as_deref().filter(|whole| Some(*whole) != first);
        first.into_iter().chain(whole)
    }
}

/// Texts to search for phrases.
#[derive(Debug, Clone, Default)]
pub struct Phrases {
    words: Vec<Word>,
    places: HashMap<Word, Vec<usize>>,
    /// Every stretch that may be one word.
    wholes: HashSet<String>,
}

impl Phrases {
    /// Phrases do not match across two texts.
    #[must_use]
    pub fn of<'t>(texts: impl IntoIterator<Item = &'t str>) -> Self {
        let mut phrases = Self::default();
        for text in texts {
            for word in words_of(text) {
                let place = phrases.words.len();
                phrases.places.entry(word.clone()).or_default().push(place);
                phrases.words.push(word);
            }
            // No word is empty, so nothing matches this separator.
            phrases.words.push(Word::StopWord(String::new()));
            phrases.wholes.extend(terms_of(text));
            phrases.wholes.extend(joined_words(text));
        }
        phrases
    }

    pub fn append(&mut self, others: Self) {
        let before = self.words.len();
        self.words.extend(others.words);
        for (word, places) in others.places {
            let places = places.into_iter().map(|place| before + place);
            self.places.entry(word).or_default().extend(places);
        }
        self.wholes.extend(others.wholes);
    }

    /// Whether one of the texts contains a word; see [`words`](Self::words).
    #[must_use]
    pub fn have(&self, word: &str) -> bool {
        self.wholes.contains(word) || self.places.contains_key(&Word::Content(word.to_owned()))
    }

    /// Whether one of the texts contains a phrase.
    #[must_use]
    pub fn hold(&self, phrase: &Phrase) -> bool {
        if phrase.whole.as_ref().is_some_and(|whole| self.wholes.contains(whole)) {
            return true;
        }
        let places = phrase.words.first().and_then(|first| self.places.get(first));
        places.is_some_and(|places| {
            places.iter().any(|place| {
                let there = self.words.get(*place..place.saturating_add(phrase.words.len()));
                there == Some(phrase.words.as_slice())
            })
        })
    }

    /// Returns all words except stop words, and every stretch that may be one word, in no order.
    pub fn words(&self) -> impl Iterator<Item = &str> {
        let content_words = self.places.keys().filter_map(|word| match word {
            Word::Content(word) => Some(word.as_str()),
            Word::StopWord(_) => None,
        });
        content_words.chain(self.wholes.iter().map(String::as_str))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(tag: &str, text: &str, expected: bool) {
        let phrase = Phrase::of(tag);
        let text_phrases = Phrases::of([text]);
        let contains = phrase.as_ref().is_some_and(|phrase| text_phrases.hold(phrase));
        assert_eq!(contains, expected, "{tag:?} in {text:?}");
        if let Some(phrase) = phrase.filter(|_| contains) {
            let words: HashSet<&str> = text_phrases.words().collect();
            assert!(phrase.handles().any(|word| words.contains(word)), "{tag:?} in {text:?}");
        }
    }

    #[test]
    fn fault_8_punctuation_and_endings_do_not_matter() {
        for text in [
            "database,",
            "(databases)",
            "the \"Database\": slow",
            "database/schema.sql",
        ] {
            check("database", text, true);
        }
        check("database", "data base", false);
        check("test", "latest", false);
        check("error handling", "Improve the error-handling.", true);
        check("error-handling", "Errors: handle them", true);
    }

    #[test]
    fn several_words_match_in_sequence() {
        check("error handling", "handling an error", false);
        check("error handling", "error in the handling", false);
        check("state of the art", "a state of the art parser", true);
        check("state of the art", "the state and the art", false);
        let phrase = Phrase::of("error handling").unwrap();
        assert!(!Phrases::of(["an error", "handling it"]).hold(&phrase));
        let mut texts = Phrases::of(["an error"]);
        texts.append(Phrases::of(["handling it"]));
        assert!(!texts.hold(&phrase));
        texts.append(Phrases::of(["for the error handling", "more"]));
        assert!(texts.hold(&phrase) && texts.have("error") && !texts.have("others"));
    }

    #[test]
    fn names_match_in_all_spellings() {
        for (tag, text) in [
            ("github", "GitHub"),
            ("github", "src/GitHub.rs"),
            ("front-end", "the frontend"),
            ("frontend", "a front-end"),
            ("front-end", "front end"),
            ("ipv6", "IPv6 only"),
            ("utf-8", "utf8"),
            ("node.js", "nodejs"),
            ("ci/cd", "CI/CD pipeline"),
            ("parse_config", "parseConfig()"),
            ("größe", "GRÖSSE"),
            ("数据库", "连接数据库。"),
        ] {
            check(tag, text, true);
        }
    }

    #[test]
    fn stop_words_and_punctuation_match_nothing() {
        for tag in ["the", "how to do it", "", "!!!", "---", "🚀"] {
            assert_eq!(Phrase::of(tag), None, "{tag:?}");
        }
        check("do it now", "do it later", false);
    }

    proptest! {
        #[test]
        fn fault_3_any_text_contains_itself(text in "\\PC{0,40}") {
            if let Some(phrase) = Phrase::of(&text) {
                prop_assert!(Phrases::of([text.as_str()]).hold(&phrase));
            }
        }
    }
}
