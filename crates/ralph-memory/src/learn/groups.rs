//! Groups learnings that are similar enough to be merged into one: same subject, enough common tags, and common words.
//!
//! Enough tags are half of those of the learning with fewer, but at least two, or all of both: a single common tool is
//! not enough. Tags alone are not enough either, because all learnings of an iteration have the tags found in its task.
//! Two conflicting learnings are never grouped: a reader of one must know of the other.
//!
//! Learnings are processed once, newest first. Each either joins a group that it shares a tag with, or starts one. Only
//! the latest groups of each of its tags are considered, so that the cost is linear; pairs missed this way are no loss.

use std::cell::OnceCell;
use std::collections::{BTreeSet, HashMap, HashSet};

use ralph_model::{LearningKind, LearningSource, LearningStatus, MAX_EXAMPLES, TaskId};
use ralph_store::{MergeCandidate, MergeGroup};

use crate::similarity::LearningFeatures;
use ralph_search::{is_distinctive, terms_of};

/// How many groups are considered per tag of a learning.
const MOST_LOOKED_AT: usize = 64;
/// Minimum number of common tags, unless all are common.
const LEAST_TAGS: usize = 2;
/// One in this many distinctive words of the learning with fewer must be in the other one.
const WORDS_FOR_EACH_SHARED: usize = 4;

/// The groups of learnings to merge; candidates are ordered newest first. Learnings without tags are never grouped.
#[must_use]
pub fn merge_groups(candidates: &[MergeCandidate]) -> Vec<MergeGroup> {
    let words: Vec<BTreeSet<String>> = candidates.iter().map(words_of).collect();
    let mut holding: HashMap<&str, u64> = HashMap::new();
    for word in words.iter().flatten() {
        *holding.entry(word).or_default() += 1;
    }
    let all = candidates.len() as u64;
    let is_distinctive_word = |word: &&str| holding.get(word).is_some_and(|holding| is_distinctive(*holding, all));
    let mut groups = Groups::default();
    let tagged = candidates
        .iter()
        .zip(&words)
        .filter(|(candidate, _)| !candidate.tags.is_empty());
    for (candidate, words) in tagged {
        groups.add(Learning {
            candidate,
            tags: set(candidate.tags.iter().map(String::as_str)),
            words: words.iter().map(String::as_str).filter(is_distinctive_word).collect(),
            features: OnceCell::new(),
        });
    }
    let whole = groups.groups.into_iter().filter(|group| !group.others.is_empty());
    whole
        .map(|group| MergeGroup {
            newest: group.newest.candidate.id.clone(),
            others: group.others.iter().map(|other| other.candidate.id.clone()).collect(),
        })
        .collect()
}

/// The words of its texts, without those of its tags.
fn words_of(candidate: &MergeCandidate) -> BTreeSet<String> {
    let of_tags: HashSet<String> = candidate.tags.iter().flat_map(|tag| terms_of(tag)).collect();
    let texts = std::iter::once(&candidate.content).chain(&candidate.examples);
    texts
        .flat_map(|text| terms_of(text))
        .filter(|word| !of_tags.contains(word))
        .collect()
}

/// Sorted unique words.
fn set<'w>(words: impl Iterator<Item = &'w str>) -> Vec<&'w str> {
    let mut words: Vec<&str> = words.collect();
    words.sort_unstable();
    words.dedup();
    words
}

/// The compared features of a learning.
struct Learning<'c> {
    candidate: &'c MergeCandidate,
    /// Sorted unique tags, and distinctive words of its text.
    tags: Vec<&'c str>,
    words: Vec<&'c str>,
    features: OnceCell<LearningFeatures>,
}

impl Learning<'_> {
    /// Whether the `shared` common tags are enough.
    fn shares_tags(&self, other: &Self, shared: usize) -> bool {
        let fewer = self.tags.len().min(other.tags.len());
        self.tags == other.tags || shared >= LEAST_TAGS && shared * 2 >= fewer
    }

    fn features(&self) -> &LearningFeatures {
        let MergeCandidate {
            kind,
            category,
            tags,
            content,
            ..
        } = self.candidate;
        self.features
            .get_or_init(|| LearningFeatures::new(*kind, category, tags, content))
    }

    /// Whether enough words are common.
    fn shares_words(&self, other: &Self) -> bool {
        let is_shared = |word: &&&str| other.words.binary_search(word).is_ok();
        let shared = self.words.iter().filter(is_shared).count();
        let fewer = self.words.len().min(other.words.len());
        shared > 0 && shared * WORDS_FOR_EACH_SHARED >= fewer
    }
}

/// What learnings must have in common before tags are compared. A proposed learning is shown only to its own task, so
/// it is not merged with that of another.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Subject<'c> {
    kind: LearningKind,
    category: &'c str,
    status: LearningStatus,
    source: LearningSource,
    task: Option<&'c TaskId>,
}

impl<'c> Subject<'c> {
    fn of(candidate: &'c MergeCandidate) -> Self {
        let waits = candidate.status != LearningStatus::Promoted;
        Self {
            kind: candidate.kind,
            category: &candidate.category,
            status: candidate.status,
            source: candidate.source,
            task: candidate.task.as_ref().filter(|_| waits),
        }
    }
}

struct Group<'c> {
    newest: Learning<'c>,
    others: Vec<Learning<'c>>,
    /// How many more texts fit.
    room: usize,
}

impl Group<'_> {
    fn conflicts_with(&self, learning: &Learning<'_>) -> bool {
        let mut members = std::iter::once(&self.newest).chain(&self.others);
        members.any(|member| member.features().conflict(learning.features()).is_some())
    }
}

#[derive(Default)]
struct Groups<'c> {
    groups: Vec<Group<'c>>,
    subjects: HashMap<Subject<'c>, usize>,
    /// The groups of a subject whose newest learning has a tag, in the order of creation.
    by_tag: HashMap<(usize, &'c str), Vec<usize>>,
}

impl<'c> Groups<'c> {
    /// Adds a learning to the most similar group, or to a new one.
    fn add(&mut self, learning: Learning<'c>) {
        let candidate = learning.candidate;
        let next = self.subjects.len();
        let subject = *self.subjects.entry(Subject::of(candidate)).or_insert(next);
        let needs = 1 + candidate.examples.len();
        if let Some(group) = self
            .most_alike(subject, &learning, needs)
            .and_then(|at| self.groups.get_mut(at))
        {
            group.others.push(learning);
            group.room -= needs;
            return;
        }
        for tag in &learning.tags {
            self.by_tag.entry((subject, *tag)).or_default().push(self.groups.len());
        }
        self.groups.push(Group {
            newest: learning,
            others: Vec::new(),
            room: MAX_EXAMPLES.saturating_sub(candidate.examples.len()),
        });
    }

    /// The similar group with room that shares most tags; of several the newest.
    fn most_alike(&self, subject: usize, learning: &Learning<'c>, needs: usize) -> Option<usize> {
        let mut shared: HashMap<usize, usize> = HashMap::new();
        for tag in &learning.tags {
            let groups = self.by_tag.get(&(subject, *tag)).into_iter().flatten();
            for at in groups.rev().take(MOST_LOOKED_AT) {
                *shared.entry(*at).or_default() += 1;
            }
        }
        let fits = |(at, shared): &(usize, usize)| {
            let group = self.groups.get(*at);
            group.is_some_and(|group| {
                group.room >= needs
                    && learning.shares_tags(&group.newest, *shared)
                    && learning.shares_words(&group.newest)
                    && !group.conflicts_with(learning)
            })
        };
        let found = shared
            .into_iter()
            .filter(fits)
            .max_by_key(|(at, shared)| (*shared, *at));
        found.map(|(at, _)| at)
    }
}

#[cfg(test)]
mod tests;
