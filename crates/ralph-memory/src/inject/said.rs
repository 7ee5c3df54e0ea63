//! What is said in a prompt already, so that a fact stands there once.

use std::collections::HashSet;

use xxhash_rust::xxh3::xxh3_64;

/// What a text says: the same for the same words, however they are broken into lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Fact(u64);

impl Fact {
    /// What this text says. It is worked out once and kept: long notes have many words.
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

/// Facts that stand in a prompt.
#[derive(Debug, Default)]
pub(super) struct Said(HashSet<Fact>);

impl Said {
    /// Notes that a fact stands there.
    pub(super) fn add(&mut self, fact: Fact) {
        self.0.insert(fact);
    }

    /// Whether it does.
    pub(super) fn holds(&self, fact: Fact) -> bool {
        self.0.contains(&fact)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_and_white_space_make_no_other_fact() {
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
    fn other_words_are_another_fact() {
        let mut said = Said::default();
        said.add(Fact::of("Run the tests"));
        assert!(said.holds(Fact::of("run the TESTS")));
        for other in ["run no tests", "run thetests", "run the tests twice", "run the", ""] {
            assert!(!said.holds(Fact::of(other)), "{other}");
        }
    }
}
