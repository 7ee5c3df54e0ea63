//! Detects near-duplicate and conflicting texts: a cheap comparison of words, numbers and negations, not language
//! analysis.

use std::collections::{BTreeSet, HashMap};
use std::fmt;

use ralph_model::{Learning, LearningKind, TextFeatures};
use ralph_store::index::terms_of;
use serde::Serialize;
use xxhash_rust::xxh3::xxh3_64;

use crate::capture::is_path;
use crate::negations::{is_negation, is_not};

/// Fewer shared words are not enough for a conflict.
const LEAST_SHARED: usize = 2;
/// How many learnings that share its rarest words a learning is compared with.
const MOST_COMPARED: usize = 128;
/// Words that change the meaning of a sentence without being negations.
const MODIFIERS: [&str; 15] = [
    "above", "after", "against", "all", "any", "before", "below", "down", "few", "more", "most", "off", "only", "out",
    "over",
];

/// What must be equal in near-duplicates: numbers, names with digits, negations and words such as "before". Sorted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TextFacts {
    numbers: Vec<String>,
    modifiers: Vec<String>,
    is_negated: bool,
}

impl TextFacts {
    pub(crate) fn of(text: &str) -> Self {
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
    fn digest(&self) -> u64 {
        let parts = [self.numbers.join("\n"), self.modifiers.join("\n")];
        xxh3_64(parts.join("\n\n").as_bytes())
    }

    /// A number that is only in the first, and one that is only in the second.
    fn differing_numbers<'f>(&'f self, other: &'f Self) -> Option<(&'f str, &'f str)> {
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

fn features_of(text: &str, facts: &TextFacts) -> TextFeatures {
    let is_word = |term: &String| !is_negation(term) && !term.bytes().all(|byte| byte.is_ascii_digit());
    let stems = terms_of(text).into_iter().filter(is_word);
    TextFeatures::new(stems.map(|stem| hash_of(&stem)), facts.digest())
}

/// The hash of a stem. Those of long stems are lower: they are rarer, and near-duplicates are found by the lowest.
fn hash_of(stem: &str) -> u64 {
    let length = u8::try_from(stem.len()).unwrap_or(u8::MAX);
    u64::from(u8::MAX - length) << 56 | xxh3_64(stem.as_bytes()) >> 8
}

/// The number of common elements of two sorted lists.
pub(crate) fn common<T: Ord>(one: &[T], other: &[T]) -> usize {
    one.iter()
        .filter(|element| other.binary_search(element).is_ok())
        .count()
}

/// How two learnings conflict.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "by", rename_all = "lowercase")]
pub enum Difference {
    /// One warns of what the other recommends.
    Kind,
    Negation,
    Value {
        one: String,
        other: String,
    },
}

impl fmt::Display for Difference {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kind => formatter.write_str("one warns of what the other recommends"),
            Self::Negation => formatter.write_str("one negates the other"),
            Self::Value { one, other } => write!(formatter, "one says {one}, the other {other}"),
        }
    }
}

/// The compared features of a learning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LearningFeatures {
    kind: LearningKind,
    category: String,
    /// Its tags and the files that it names, in lower case.
    subjects: BTreeSet<String>,
    /// Whether one of its tags is not a file: iterations tag each learning with the files that they changed.
    has_topic: bool,
    facts: TextFacts,
    text: TextFeatures,
}

impl LearningFeatures {
    #[must_use]
    pub fn of(learning: &Learning) -> Self {
        Self::new(learning.kind, &learning.category, &learning.tags, &learning.content)
    }

    pub(crate) fn new(kind: LearningKind, category: &str, tags: &[String], content: &str) -> Self {
        let words = content.split(|c: char| c.is_whitespace() || "`\"'(),;".contains(c));
        let files = words
            .map(|word| word.trim_end_matches(['.', ':']))
            .filter(|word| is_path(word));
        let subjects = tags.iter().map(String::as_str).chain(files);
        let facts = TextFacts::of(content);
        Self {
            kind,
            category: category.to_owned(),
            subjects: subjects.map(str::to_lowercase).collect(),
            has_topic: tags.iter().any(|tag| !is_path(tag)),
            text: features_of(content, &facts),
            facts,
        }
    }

    /// Whether they are near-duplicates: of the same kind and category, and nearly in the same words.
    #[must_use]
    pub fn is_near(&self, other: &Self) -> bool {
        self.kind == other.kind && self.category == other.category && self.text.is_near(&other.text)
    }

    /// How they conflict, if they do: nearly the same words, no different tags, and one negates the other or they have
    /// different numbers.
    #[must_use]
    pub fn conflict(&self, other: &Self) -> Option<Difference> {
        if !self.may_conflict(other) {
            return None;
        }
        // A warning is against what it describes, with or without a negation.
        let is_against = |features: &Self| {
            let is_warning = features.kind == LearningKind::Antipattern && self.kind != other.kind;
            is_warning || features.facts.is_negated
        };
        if is_against(self) != is_against(other) {
            let by_kind = self.facts.is_negated == other.facts.is_negated;
            return Some(if by_kind {
                Difference::Kind
            } else {
                Difference::Negation
            });
        }
        let (one, other) = self.facts.differing_numbers(&other.facts)?;
        Some(Difference::Value {
            one: one.to_owned(),
            other: other.to_owned(),
        })
    }

    fn may_conflict(&self, other: &Self) -> bool {
        let advises = |kind: LearningKind| matches!(kind, LearningKind::Strategy | LearningKind::Antipattern);
        let are_comparable = self.kind == other.kind || advises(self.kind) && advises(other.kind);
        are_comparable
            && self.kind != LearningKind::Estimate
            && (!self.has_topic || !other.has_topic || !self.subjects.is_disjoint(&other.subjects))
            && self.text.shares_most_stems(&other.text, LEAST_SHARED)
    }
}

/// How two learnings conflict, if they do.
#[must_use]
pub fn conflict(one: &Learning, other: &Learning) -> Option<Difference> {
    LearningFeatures::of(one).conflict(&LearningFeatures::of(other))
}

/// An index of learnings by word, to find similar ones without comparing all.
#[derive(Debug)]
pub(crate) struct Neighbours<K> {
    known: Vec<(K, LearningFeatures)>,
    /// For each word, positions in `known`.
    by_word: HashMap<u64, Vec<usize>>,
}

impl<K> Default for Neighbours<K> {
    fn default() -> Self {
        Self {
            known: Vec::new(),
            by_word: HashMap::new(),
        }
    }
}

impl<K> Neighbours<K> {
    /// The learnings that share one of the rarest words with another, in insertion order: at most [`MOST_COMPARED`].
    pub(crate) fn of(&self, features: &LearningFeatures) -> impl Iterator<Item = &(K, LearningFeatures)> {
        let stems = features.text.stems();
        let mut lists: Vec<&Vec<usize>> = stems.iter().filter_map(|word| self.by_word.get(word)).collect();
        lists.sort_by_key(|places| places.len());
        // Unknown words are the rarest of all.
        let unknown = stems.len() - lists.len();
        lists.truncate(features.text.prefix_len().saturating_sub(unknown));
        let mut places = BTreeSet::new();
        for place in lists.into_iter().flat_map(|places| places.iter().rev()) {
            if places.len() >= MOST_COMPARED {
                break;
            }
            places.insert(*place);
        }
        places.into_iter().filter_map(|place| self.known.get(place))
    }

    /// The first near-duplicate of a learning that passes.
    pub(crate) fn near_duplicate(&self, features: &LearningFeatures, passes: impl Fn(&K) -> bool) -> Option<&K> {
        let found = self
            .of(features)
            .find(|(key, known)| passes(key) && known.is_near(features));
        found.map(|(key, _)| key)
    }

    pub(crate) fn add(&mut self, key: K, features: LearningFeatures) {
        for word in features.text.stems() {
            self.by_word.entry(*word).or_default().push(self.known.len());
        }
        self.known.push((key, features));
    }
}

#[cfg(test)]
#[path = "similarity_tests.rs"]
mod tests;
