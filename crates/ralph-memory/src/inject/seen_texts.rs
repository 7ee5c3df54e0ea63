//! Deduplicates texts within a prompt.

use std::collections::HashSet;

use xxhash_rust::xxh3::xxh3_64;

/// The identity of a text, ignoring case and white space.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Fact(u64);

impl Fact {
    /// Computed once and kept, because entries may be long.
    pub(super) fn of(text: &str) -> Self {
        let text = text.to_lowercase();
        let mut words = String::with_capacity(text.len() + 1);
        for word in text.split_whitespace() {
            words.push_str(word);
            words.push(' ');
        }
        Self(xxh3_64(words.as_bytes()))
    }
}

/// The texts in a prompt.
#[derive(Debug, Default)]
pub(super) struct SeenTexts(HashSet<Fact>);

impl SeenTexts {
    pub(super) fn add(&mut self, fact: Fact) {
        self.0.insert(fact);
    }

    pub(super) fn contains(&self, fact: Fact) -> bool {
        self.0.contains(&fact)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_and_white_space_do_not_matter() {
        for (one, other) in [
            ("Run the\n tests", "run the tests "),
            ("ΟΔΟΣ ΜΟΥ", "οδος\u{a0}μου"),
            ("ÄRGER\u{2028}im Ü", "ärger im ü"),
            ("", " \n"),
        ] {
            assert_eq!(Fact::of(one), Fact::of(other), "{one}");
        }
    }

    #[test]
    fn other_words_do_matter() {
        let mut seen = SeenTexts::default();
        seen.add(Fact::of("Run the tests"));
        assert!(seen.contains(Fact::of("run the TESTS")));
        for other in ["run no tests", "run thetests", "run the tests twice", "run the", ""] {
            assert!(!seen.contains(Fact::of(other)), "{other}");
        }
    }
}
