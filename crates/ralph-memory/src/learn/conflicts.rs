//! Which lessons contradict each other, among all that hold or wait.
//!
//! Two that do have at least two thirds of their words in common, as they stand or without their reasons. So they also share one
//! of the few that are rarest in each, and only lessons that share such a word and so many others are compared, or that are about
//! the same by their form.

use std::collections::{BTreeSet, HashMap};

use ralph_model::{Learning, LearningId, LearningStatus};
use ralph_store::{LearningFilter, Store, StoreError};
use serde::Serialize;

use crate::contradiction::{Contradiction, Reading};

/// With how many lessons of each of its rare words one is compared, the nearest in age. More that are so alike are not a
/// matter of two lessons any more.
const MOST_COMPARED: usize = 128;

/// Two lessons that contradict each other, and nobody has said that both hold.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Conflict {
    /// The older one.
    pub one: Learning,
    /// The newer one.
    pub other: Learning,
    /// In what they contradict each other.
    pub why: Contradiction,
}

/// The lessons that contradict each other, those with the newest first: of those that hold or wait, and that nothing has
/// taken the place of.
///
/// # Errors
/// When the database cannot be read.
pub fn conflicts(store: &Store) -> Result<Vec<Conflict>, StoreError> {
    let filter = LearningFilter {
        statuses: vec![
            LearningStatus::Promoted,
            LearningStatus::Validated,
            LearningStatus::Pending,
        ],
        ..LearningFilter::default()
    };
    let mut learnings = store.learning_list(&filter, None)?;
    learnings.retain(|learning| learning.superseded_by.is_none());
    let settled: BTreeSet<(LearningId, LearningId)> = store.settled_conflicts()?.into_iter().collect();
    let is_settled = |one: &Learning, other: &Learning| {
        let (first, second) = (one.id.clone(), other.id.clone());
        settled.contains(&if first < second {
            (first, second)
        } else {
            (second, first)
        })
    };
    let found = contradicting(&learnings).into_iter().filter_map(|(newer, older, why)| {
        let (other, one) = (learnings.get(newer)?, learnings.get(older)?);
        (!is_settled(one, other)).then(|| Conflict {
            one: one.clone(),
            other: other.clone(),
            why,
        })
    });
    Ok(found.collect())
}

/// The places of lessons that contradict each other, in the order of the first of each two.
fn contradicting(learnings: &[Learning]) -> Vec<(usize, usize, Contradiction)> {
    let readings: Vec<Reading> = learnings.iter().map(Reading::of).collect();
    let mut holding: HashMap<&str, usize> = HashMap::new();
    for stem in readings.iter().flat_map(Reading::stems) {
        *holding.entry(stem).or_default() += 1;
    }
    let numbers: HashMap<&str, usize> = holding
        .keys()
        .enumerate()
        .map(|(number, stem)| (*stem, number))
        .collect();
    let words: Vec<Words> = readings.iter().map(|reading| Words::of(reading, &numbers)).collect();
    let mut by_stem: HashMap<&str, Vec<usize>> = HashMap::new();
    let mut by_subject: HashMap<&str, Vec<usize>> = HashMap::new();
    let mut found = Vec::new();
    for (place, reading) in readings.iter().enumerate() {
        let mut near: BTreeSet<usize> = BTreeSet::new();
        let compared = reading.compared();
        let stems: BTreeSet<&str> = compared.flat_map(|reading| rarest(reading, &holding)).collect();
        for stem in stems {
            let known = by_stem.entry(stem).or_default();
            near.extend(known.iter().rev().take(MOST_COMPARED));
            known.push(place);
        }
        near.retain(|newer| may_contradict(words.get(*newer), words.get(place)));
        if let Some(subject) = reading.subject() {
            let known = by_subject.entry(subject).or_default();
            near.extend(known.iter().rev().take(MOST_COMPARED));
            known.push(place);
        }
        for newer in near {
            let why = readings.get(newer).and_then(|newer| reading.contradicts(newer));
            found.extend(why.map(|why| (newer, place, why)));
        }
    }
    found.sort_by_key(|(newer, older, _)| (*newer, *older));
    found
}

/// The words of a lesson by numbers, in order: by them it is seen quickly that two have little in common.
struct Words {
    as_it_stands: Vec<usize>,
    without_reasons: Vec<usize>,
    /// Those among them that are files which it is tagged with: another one need not name them.
    own_files: Vec<usize>,
}

impl Words {
    fn of(reading: &Reading, numbers: &HashMap<&str, usize>) -> Self {
        let mut all = reading.compared().map(|compared| {
            let mut words: Vec<usize> = compared.stems().filter_map(|stem| numbers.get(stem).copied()).collect();
            words.sort_unstable();
            words
        });
        let as_it_stands = all.next().unwrap_or_default();
        let without_reasons = all.next().unwrap_or_else(|| as_it_stands.clone());
        let own_files = reading.own_files().filter_map(|file| numbers.get(file).copied());
        Self {
            as_it_stands,
            without_reasons,
            own_files: own_files.collect(),
        }
    }
}

fn may_contradict(one: Option<&Words>, other: Option<&Words>) -> bool {
    one.zip(other).is_some_and(|(one, other)| {
        let files = (one.own_files.as_slice(), other.own_files.as_slice());
        share_two_thirds(&one.as_it_stands, &other.as_it_stands, files)
            || share_two_thirds(&one.without_reasons, &other.without_reasons, files)
    })
}

/// Whether two share so many words, without the files that only one of them names and is tagged with.
fn share_two_thirds(one: &[usize], other: &[usize], (files, others_files): (&[usize], &[usize])) -> bool {
    let only = |files: &[usize], own: &[usize], others: &[usize]| {
        let has = |words: &[usize], file: &usize| words.binary_search(file).is_ok();
        files.iter().filter(|file| has(own, file) && !has(others, file)).count()
    };
    let sizes = [
        one.len() - only(files, one, other),
        other.len() - only(others_files, other, one),
    ];
    let (least, most) = (sizes[0].min(sizes[1]), sizes[0].max(sizes[1]));
    if least * 3 < most * 2 {
        return false;
    }
    let mut shared = 0;
    let mut others = other.iter().peekable();
    for word in one {
        while others.next_if(|other| *other < word).is_some() {}
        shared += usize::from(others.next_if_eq(&word).is_some());
    }
    shared * 3 >= most * 2
}

/// So many of the words of a lesson that every other one that has two thirds of them has one of these, too. The files that it
/// is tagged with need not be among those two thirds.
fn rarest<'r>(reading: &'r Reading, holding: &HashMap<&str, usize>) -> Vec<&'r str> {
    let mut stems: Vec<&str> = reading.stems().collect();
    stems.sort_by_key(|stem| (holding.get(stem).copied().unwrap_or_default(), *stem));
    let shared = ((stems.len() - reading.own_files().count()) * 2).div_ceil(3);
    stems.truncate(stems.len() + 1 - shared.max(1));
    stems
}

#[cfg(test)]
#[path = "conflicts_tests.rs"]
mod tests;
