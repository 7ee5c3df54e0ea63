//! Detects near-duplicate and conflicting learnings: a cheap comparison of words, numbers and negations, not language
//! analysis.

use std::collections::{BTreeSet, HashMap};
use std::fmt;

use ralph_model::{Learning, LearningKind, TextFeatures};
use ralph_search::{TextFacts, features_of};
use serde::Serialize;

use crate::capture::is_path;

/// Fewer shared words are not enough for a conflict.
const LEAST_SHARED: usize = 2;
/// How many learnings that share its rarest words a learning is compared with.
const MOST_COMPARED: usize = 128;

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
            is_warning || features.facts.is_negated()
        };
        if is_against(self) != is_against(other) {
            let by_kind = self.facts.is_negated() == other.facts.is_negated();
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
