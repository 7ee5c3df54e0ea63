//! The features by which texts are compared for near-duplicates: stems, numbers and negations. A cheap comparison, not
//! language analysis.

use ralph_model::TextFeatures;
use xxhash_rust::xxh3::xxh3_64;

use crate::negations::{is_negation, is_not};
use crate::tokenizer::terms_of;

/// Words that change the meaning of a sentence without being negations.
const MODIFIERS: [&str; 15] = [
    "above", "after", "against", "all", "any", "before", "below", "down", "few", "more", "most", "off", "only", "out",
    "over",
];

/// What must be equal in near-duplicates: numbers, names with digits, negations and words such as "before". Sorted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextFacts {
    numbers: Vec<String>,
    modifiers: Vec<String>,
    is_negated: bool,
}

impl TextFacts {
    #[must_use]
    pub fn of(text: &str) -> Self {
        let text = text.to_lowercase().replace('’', "'");
        let words = text.split(|c: char| !c.is_alphanumeric() && c != '\'');
        let mut is_negated = false;
        let mut modifiers = Vec::new();
        for word in words {
            let is_no = is_negation(word);
            is_negated |= is_no;
            if is_not(word) {
                modifiers.push("not".to_owned());
            } else if is_no || MODIFIERS.contains(&word) {
                modifiers.push(word.to_owned());
            }
        }
        modifiers.sort_unstable();
        let tokens = text.split(|c: char| !c.is_alphanumeric());
        let has_digit = |token: &&str| token.bytes().any(|byte| byte.is_ascii_digit());
        let mut numbers: Vec<String> = tokens.filter(has_digit).map(str::to_owned).collect();
        numbers.sort_unstable();
        Self {
            numbers,
            modifiers,
            is_negated,
        }
    }

    /// Equal for equal facts. Words have no line breaks.
    pub(crate) fn digest(&self) -> u64 {
        let parts = [self.numbers.join("\n"), self.modifiers.join("\n")];
        xxh3_64(parts.join("\n\n").as_bytes())
    }

    #[must_use]
    pub fn is_negated(&self) -> bool {
        self.is_negated
    }

    /// A number that is only in the first, and one that is only in the second.
    #[must_use]
    pub fn differing_numbers<'f>(&'f self, other: &'f Self) -> Option<(&'f str, &'f str)> {
        let only_in = |one: &'f Self, other: &'f Self| {
            let is_number = |token: &&String| token.starts_with(|c: char| c.is_ascii_digit());
            let mut numbers = one.numbers.iter().filter(is_number);
            numbers.find(|number| !other.numbers.contains(number))
        };
        Some((only_in(self, other)?, only_in(other, self)?))
    }
}

/// The features by which texts are compared for near-duplicates. Numbers and negations are no stems.
#[must_use]
pub fn text_features(text: &str) -> TextFeatures {
    features_of(text, &TextFacts::of(text))
}

/// The same with facts that are known.
#[must_use]
pub fn features_of(text: &str, facts: &TextFacts) -> TextFeatures {
    let is_word = |term: &String| !is_negation(term) && !term.bytes().all(|byte| byte.is_ascii_digit());
    let stems = terms_of(text).into_iter().filter(is_word);
    TextFeatures::new(stems.map(|stem| hash_of(&stem)), facts.digest())
}

/// The hash of a stem. Those of long stems are lower: they are rarer, and near-duplicates are found by the lowest.
fn hash_of(stem: &str) -> u64 {
    let length = u8::try_from(stem.len()).unwrap_or(u8::MAX);
    u64::from(u8::MAX - length) << 56 | xxh3_64(stem.as_bytes()) >> 8
}
