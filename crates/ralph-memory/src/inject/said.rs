//! What is said in a prompt already, so that a fact stands there once.

use std::collections::HashSet;

use xxhash_rust::xxh3::xxh3_64;

/// Texts that stand in a prompt.
#[derive(Debug, Default)]
pub(super) struct Said(HashSet<u64>);

impl Said {
    /// Notes that a text stands there.
    pub(super) fn add(&mut self, text: &str) {
        self.0.insert(key(text));
    }

    /// Whether the same words stand there, however they are broken into lines.
    pub(super) fn holds(&self, text: &str) -> bool {
        !self.0.is_empty() && self.0.contains(&key(text))
    }
}

fn key(text: &str) -> u64 {
    let words: Vec<String> = text.split_whitespace().map(str::to_lowercase).collect();
    xxh3_64(words.join(" ").as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_and_white_space_make_no_other_fact() {
        let mut said = Said::default();
        assert!(!said.holds(""));
        said.add("Run the\n tests");
        assert!(said.holds("run the tests ") && !said.holds("run no tests"));
    }
}
