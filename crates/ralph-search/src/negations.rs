//! Negations. Two sentences that differ only in one of them contradict each other.

/// Words that negate a clause, besides contractions of "not".
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

/// Whether a lower-case word with plain apostrophes negates a clause.
pub(crate) fn is_negation(word: &str) -> bool {
    NEGATIONS.contains(&word) || word.ends_with("n't")
}

/// Whether it is "not", alone or contracted with a verb; all of these are equivalent.
pub(crate) fn is_not(word: &str) -> bool {
    matches!(word, "not" | "cannot" | "dont") || word.ends_with("n't")
}
