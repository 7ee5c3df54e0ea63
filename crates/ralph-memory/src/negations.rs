//! The words that say no. Two sentences that differ in one of them share every other word, and say the contrary.

/// Words that turn a clause round, beside "not" with its verb in one.
const NEGATIONS: &[&str] = &[
    "avoid",
    "avoided",
    "avoiding",
    "avoids",
    "cannot",
    "dont",
    "forbid",
    "forbidden",
    "neither",
    "never",
    "no",
    "nobody",
    "none",
    "nor",
    "not",
    "nothing",
    "prohibited",
    "refrain",
    "without",
];

/// Whether a word in small letters, with plain apostrophes, turns a clause round.
pub(crate) fn is_negation(word: &str) -> bool {
    NEGATIONS.contains(&word) || word.ends_with("n't")
}

/// Whether it is "not", alone or with its verb in one: all of these say the same.
pub(crate) fn is_not(word: &str) -> bool {
    matches!(word, "not" | "cannot" | "dont") || word.ends_with("n't")
}
