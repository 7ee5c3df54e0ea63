//! Phrases in texts: whether a text holds the words of a tag, one after the other, whatever their endings and spelling.

use std::collections::{HashMap, HashSet};

use super::words::{Word, joined_words, terms_of, words_of};

/// A word or several that are looked for as they follow one another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Phrase {
    words: Vec<Word>,
    /// All of it as one word, where no white space stands in it: some write "front-end" and some "frontend".
    whole: Option<String>,
}

impl Phrase {
    /// The phrase that a text is; none where it holds nothing but words that every text holds.
    #[must_use]
    pub fn of(text: &str) -> Option<Self> {
        let words = words_of(text);
        let tells = words.iter().any(|word| matches!(word, Word::Telling(_)));
        let mut whole = joined_words(text);
        tells.then(|| Self {
            words,
            whole: whole.pop().filter(|_| whole.is_empty()),
        })
    }

    /// Words of which a text that holds the phrase has at least one among its own; see [`Phrases::words`].
    pub fn handles(&self) -> impl Iterator<Item = &str> {
        let first = self.words.iter().find_map(|word| match word {
            Word::Telling(word) => Some(word.as_str()),
            Word::Common(_) => None,
        });
        let whole = self.whole.as_deref().filter(|whole| Some(*whole) != first);
        first.into_iter().chain(whole)
    }
}

/// Texts in which phrases are looked for.
#[derive(Debug, Clone, Default)]
pub struct Phrases {
    words: Vec<Word>,
    /// Where each word stands.
    places: HashMap<Word, Vec<usize>>,
    /// Everything that may be one word.
    wholes: HashSet<String>,
}

impl Phrases {
    /// Reads texts. No phrase goes from one of them into the next.
    #[must_use]
    pub fn of<'t>(texts: impl IntoIterator<Item = &'t str>) -> Self {
        let mut phrases = Self::default();
        for text in texts {
            for word in words_of(text) {
                let place = phrases.words.len();
                phrases.places.entry(word.clone()).or_default().push(place);
                phrases.words.push(word);
            }
            // No word is empty, so nothing matches here.
            phrases.words.push(Word::Common(String::new()));
            phrases.wholes.extend(terms_of(text));
            phrases.wholes.extend(joined_words(text));
        }
        phrases
    }

    /// Adds other texts behind these.
    pub fn append(&mut self, others: Self) {
        let before = self.words.len();
        self.words.extend(others.words);
        for (word, places) in others.places {
            let places = places.into_iter().map(|place| before + place);
            self.places.entry(word).or_default().extend(places);
        }
        self.wholes.extend(others.wholes);
    }

    /// Whether a word is among those of the texts; see [`words`](Self::words).
    #[must_use]
    pub fn have(&self, word: &str) -> bool {
        self.wholes.contains(word) || self.places.contains_key(&Word::Telling(word.to_owned()))
    }

    /// Whether one of the texts holds a phrase.
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

    /// The words that tell something, and everything else that may be one word, in no order.
    pub fn words(&self) -> impl Iterator<Item = &str> {
        let telling = self.places.keys().filter_map(|word| match word {
            Word::Telling(word) => Some(word.as_str()),
            Word::Common(_) => None,
        });
        telling.chain(self.wholes.iter().map(String::as_str))
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
        let holds = phrase.as_ref().is_some_and(|phrase| text_phrases.hold(phrase));
        assert_eq!(holds, expected, "{tag:?} in {text:?}");
        if let Some(phrase) = phrase.filter(|_| holds) {
            let words: HashSet<&str> = text_phrases.words().collect();
            assert!(phrase.handles().any(|word| words.contains(word)), "{tag:?} in {text:?}");
        }
    }

    #[test]
    fn fault_8_punctuation_and_endings_make_no_other_word() {
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
    fn several_words_match_as_a_phrase() {
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
    fn one_name_in_all_its_spellings() {
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
    fn common_words_and_signs_match_nothing() {
        for tag in ["the", "how to do it", "", "!!!", "---", "🚀"] {
            assert_eq!(Phrase::of(tag), None, "{tag:?}");
        }
        check("do it now", "do it later", false);
    }

    proptest! {
        #[test]
        fn fault_3_any_text_holds_itself(text in "\\PC{0,40}") {
            if let Some(phrase) = Phrase::of(&text) {
                prop_assert!(Phrases::of([text.as_str()]).hold(&phrase));
            }
        }
    }
}
