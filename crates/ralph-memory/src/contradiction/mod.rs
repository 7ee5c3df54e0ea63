//! Whether two lessons contradict each other: they are about the same thing in nearly the same words, and one says yes where
//! the other says no, or they name different values.
//!
//! It is told from words alone, and rather missed than imagined: whoever reads a list of contradictions that are none stops
//! reading it. So all that is not the difference itself has to be nearly the same.

mod nearness;
mod reading;
mod reasons;
mod tokens;
mod words;

use std::collections::BTreeSet;
use std::fmt;

use ralph_model::{Learning, LearningKind};
use serde::Serialize;

pub(crate) use nearness::Nearby;
pub use reading::Reading;
use reading::{Sign, Value};
use words::WORKS_OR_FAILS;

/// So many words two lessons have to share before they are about the same in some others.
const LEAST_SHARED: usize = 2;

/// In what two lessons contradict each other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "by", rename_all = "lowercase")]
pub enum Contradiction {
    /// One warns of what the other recommends.
    Kind,
    /// One denies what the other says.
    Negation,
    /// They say opposite things.
    Opposite {
        /// What the first says.
        one: String,
        /// What the second says.
        other: String,
    },
    /// They name different values.
    Value {
        /// That of the first.
        one: String,
        /// That of the second.
        other: String,
    },
}

impl fmt::Display for Contradiction {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kind => formatter.write_str("one warns of what the other recommends"),
            Self::Negation => formatter.write_str("one denies what the other says"),
            Self::Opposite { one, other } => write!(formatter, "one says \"{one}\", the other \"{other}\""),
            Self::Value { one, other } => write!(formatter, "one says {one}, the other {other}"),
        }
    }
}

/// In what two lessons contradict each other, if they do.
#[must_use]
pub fn contradiction(one: &Learning, other: &Learning) -> Option<Contradiction> {
    Reading::of(one).contradicts(&Reading::of(other))
}

impl Reading {
    /// In what it contradicts another one, if it does: as both stand, or without the reasons that they give. A reason is no
    /// part of what is contradicted, and nobody gives the same one for the contrary.
    #[must_use]
    pub fn contradicts(&self, other: &Self) -> Option<Contradiction> {
        let as_they_stand = self.contradicts_as_it_stands(other);
        let has_reasons = self.has_reasons() || other.has_reasons();
        if as_they_stand.is_some() || !has_reasons || self.says_nearly(other) {
            return as_they_stand;
        }
        self.bare().contradicts_as_it_stands(other.bare())
    }

    fn contradicts_as_it_stands(&self, other: &Self) -> Option<Contradiction> {
        if let Some(otherwise) = self.answers_otherwise(other) {
            return Some(otherwise);
        }
        let is_estimate = |reading: &Self| reading.kind == LearningKind::Estimate;
        if is_estimate(self) || is_estimate(other) || !self.is_about_the_same(other) {
            return None;
        }
        let denied = self.denies(other) && !self.agrees_on_failing(other);
        let opposites: Vec<Contradiction> = self.opposites(other);
        let values = different_values(&self.values, &other.values);
        match (denied != (opposites.len() % 2 == 1), values) {
            // What is denied of one number says nothing about another one.
            (true, Some(_)) | (false, None) => None,
            (true, None) if denied && self.is_warning() != other.is_warning() && !self.both_plain(other) => {
                Some(Contradiction::Kind)
            }
            (true, None) if denied => Some(Contradiction::Negation),
            (true, None) => opposites.into_iter().next(),
            (false, Some((one, another))) => {
                (one.sign == Sign::Yes && another.sign == Sign::Yes).then(|| Contradiction::Value {
                    one: one.text.clone(),
                    other: another.text.clone(),
                })
            }
        }
    }

    /// Two conventions that were found from paths and say different things about the same, whatever words they share.
    fn answers_otherwise(&self, other: &Self) -> Option<Contradiction> {
        let ((subject, one), (others, another)) = self.answer.as_ref().zip(other.answer.as_ref())?;
        (subject == others && one != another).then(|| Contradiction::Value {
            one: format!("\"{one}\""),
            other: format!("\"{another}\""),
        })
    }

    fn is_warning(&self) -> bool {
        self.kind == LearningKind::Antipattern
    }

    fn both_plain(&self, other: &Self) -> bool {
        self.is_plain && other.is_plain
    }

    /// Whether two are about the same thing, in nearly the same words.
    fn is_about_the_same(&self, other: &Self) -> bool {
        let files_differ = differ(&self.files, &other.files);
        let is_tagged_otherwise = self.is_tagged_otherwise(other)
            && self.files.is_disjoint(&other.files)
            && !self.denies_word_for_word(other);
        !files_differ && !is_tagged_otherwise && self.has_nearly_the_words_of(other)
    }

    /// Whether their tags say that they are about different things. Paths among them never do: they are the files that changed
    /// when a lesson was told, which other files do each time. But two that have one in common are about the same.
    fn is_tagged_otherwise(&self, other: &Self) -> bool {
        differ(&self.own_tags, &other.own_tags) && self.tags.is_disjoint(&other.tags)
    }

    /// Whether one says no in the very words in which the other says yes: nobody does that about something else.
    fn denies_word_for_word(&self, other: &Self) -> bool {
        let is_same_words = self.stems.len() >= LEAST_SHARED && self.stems.keys().eq(other.stems.keys());
        is_same_words && self.denies(other)
    }

    /// Where one has words that the other lacks, and not the other way round, two thirds in common are enough; else it takes
    /// three quarters, and what is not in common must not be names on both sides.
    fn has_nearly_the_words_of(&self, other: &Self) -> bool {
        let (mut own, mut others) = (self.words_beside(other), other.words_beside(self));
        let shared = self.stems.len() - own.len();
        // Both are about a file that both are tagged with, whoever names it.
        let is_of_both = |file: &&str| self.tags.contains(*file) && other.tags.contains(*file);
        own.retain(|stem| !(self.files.contains(*stem) && is_of_both(stem)));
        others.retain(|stem| !(other.files.contains(*stem) && is_of_both(stem)));
        let most = shared + own.len().max(others.len());
        if own.is_empty() && others.is_empty() {
            return shared > 0;
        }
        let is_one_sided = own.is_empty() || others.is_empty();
        let enough = if is_one_sided {
            shared * 3 >= most * 2 && !self.names_any(&own, other) && !other.names_any(&others, self)
        } else {
            let all = shared + own.len() + others.len();
            shared * 4 >= all * 3 && !(self.refers_to_any(&own) && other.refers_to_any(&others))
        };
        shared >= LEAST_SHARED && enough
    }

    fn words_beside(&self, other: &Self) -> Vec<&str> {
        self.stems().filter(|stem| !other.stems.contains_key(*stem)).collect()
    }

    /// Whether one of its words is the name of something that the other is not about: then it says less, not the contrary.
    fn names_any(&self, stems: &[&str], other: &Self) -> bool {
        stems
            .iter()
            .any(|stem| self.names.contains(*stem) && !other.tag_stems.contains(*stem))
    }

    fn refers_to_any(&self, stems: &[&str]) -> bool {
        stems
            .iter()
            .any(|stem| self.names.contains(*stem) || self.code.contains(*stem))
    }

    /// Whether one says yes to a word that the other says no to. In one part of a long text a part may be cut where it is not
    /// in the other; so where the words are not the same, more must speak for it.
    fn denies(&self, other: &Self) -> bool {
        let (mut agree, mut disagree) = (0, 0);
        for (stem, sign) in &self.stems {
            match (sign, other.stems.get(stem)) {
                (Sign::Yes, Some(Sign::No)) | (Sign::No, Some(Sign::Yes)) => disagree += 1,
                (Sign::Yes, Some(Sign::Yes)) | (Sign::No, Some(Sign::No)) => agree += 1,
                _ => {}
            }
        }
        let is_same_words = self.stems.len() == other.stems.len() && agree + disagree == self.stems.len();
        disagree > 0 && (is_same_words || disagree * 2 >= agree)
    }

    /// Whether what seems a denial is none because one says that something fails: that warns of it as much as a warning or a
    /// "not" does.
    fn agrees_on_failing(&self, other: &Self) -> bool {
        let (one, another) = (self.says_it_fails(), other.says_it_fails());
        match (self.is_turned(), other.is_turned()) {
            (true, false) => another == Some(true),
            (false, true) => one == Some(true),
            _ => matches!((one, another), (Some(true), None) | (None, Some(true))),
        }
    }

    fn opposites(&self, other: &Self) -> Vec<Contradiction> {
        // That something fails is what a warning says in any case.
        let is_said_by_kind = |pair: usize| pair == WORKS_OR_FAILS && self.is_turned() != other.is_turned();
        let both = self
            .sides
            .iter()
            .filter(|(pair, _)| !is_said_by_kind(**pair))
            .filter_map(|(pair, own)| Some((own, other.sides.get(pair)?)));
        both.filter(|((side, _), (another, _))| side != another)
            .map(|((_, one), (_, other))| Contradiction::Opposite {
                one: one.clone(),
                other: other.clone(),
            })
            .collect()
    }
}

/// Whether both have some, and none in common.
fn differ(one: &BTreeSet<String>, other: &BTreeSet<String>) -> bool {
    !one.is_empty() && !other.is_empty() && one.is_disjoint(other)
}

/// Two values that stand at the same place: only one has the first, only the other the second, and they have a word beside
/// them in common, or there are no others.
fn different_values<'v>(one: &'v [Value], other: &'v [Value]) -> Option<(&'v Value, &'v Value)> {
    let own = missing_in(one, other);
    let others = missing_in(other, one);
    if let ([value], [another]) = (own.as_slice(), others.as_slice()) {
        return Some((value, another));
    }
    own.iter().find_map(|value| {
        let is_beside = |another: &&&Value| value.beside.iter().any(|word| another.beside.contains(word));
        Some((*value, *others.iter().find(is_beside)?))
    })
}

fn missing_in<'v>(values: &'v [Value], others: &[Value]) -> Vec<&'v Value> {
    let is_missing = |value: &&Value| others.iter().all(|other| other.text != value.text);
    values.iter().filter(is_missing).collect()
}

#[cfg(test)]
mod tests;
