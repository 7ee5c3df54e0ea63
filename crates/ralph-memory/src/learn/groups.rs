//! Which lessons are so alike that one can stand for all of them: they are about the same, share enough tags, and say
//! something of the same.
//!
//! Enough tags are half of those of the lesson that has fewer, but at least two, or all of both: a single tool in common
//! says little. And tags alone are not enough, because all lessons of an iteration have those that were found in its task.
//! Two that contradict each other are never alike: whoever reads the one has to know of the other.
//!
//! Lessons are gone through once, the newest first. Each either joins a group that it shares a tag with, or begins one. Only
//! the latest groups of each of its tags are looked at, so that the work grows with the number of lessons and not with its
//! square; a pair that is missed so is no loss.

use std::cell::OnceCell;
use std::collections::HashMap;

use ralph_model::{LearningKind, LearningSource, LearningStatus, MOST_EXAMPLES, TaskId};
use ralph_store::{MergeCandidate, MergeGroup};

use crate::contradiction::Reading;
use crate::telling::tells;

/// How many groups are looked at for each tag of a lesson.
const MOST_LOOKED_AT: usize = 64;
/// So many tags two lessons have in common, unless they have the same ones.
const LEAST_TAGS: usize = 2;
/// One in so many telling words of the lesson that has fewer stands in the other one, too.
const WORDS_FOR_EACH_SHARED: usize = 4;

/// The groups of lessons that can become one; the candidates come with the newest first. Lessons without tags are like no
/// other.
#[must_use]
pub fn alike(candidates: &[MergeCandidate]) -> Vec<MergeGroup> {
    let mut holding: HashMap<&str, u64> = HashMap::new();
    for word in candidates.iter().flat_map(words_of) {
        *holding.entry(word).or_default() += 1;
    }
    let all = candidates.len() as u64;
    let is_telling = |word: &&str| holding.get(word).is_some_and(|holding| tells(*holding, all));
    let mut groups = Groups::default();
    for candidate in candidates.iter().filter(|candidate| !candidate.tags.is_empty()) {
        groups.take(Lesson {
            candidate,
            tags: set(candidate.tags.iter().map(String::as_str)),
            words: set(words_of(candidate).filter(is_telling)),
            reading: OnceCell::new(),
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

fn words_of(candidate: &MergeCandidate) -> impl Iterator<Item = &str> {
    candidate.words.split_ascii_whitespace()
}

/// Words in their order, each once.
fn set<'w>(words: impl Iterator<Item = &'w str>) -> Vec<&'w str> {
    let mut words: Vec<&str> = words.collect();
    words.sort_unstable();
    words.dedup();
    words
}

/// What is compared of a lesson.
struct Lesson<'c> {
    candidate: &'c MergeCandidate,
    /// Its tags and the telling words of its text, each once, in order.
    tags: Vec<&'c str>,
    words: Vec<&'c str>,
    /// What it says, where somebody has asked for it.
    reading: OnceCell<Reading>,
}

impl Lesson<'_> {
    /// Whether another one has enough of its tags, of which it shares so many.
    fn shares_tags(&self, other: &Self, shared: usize) -> bool {
        let fewer = self.tags.len().min(other.tags.len());
        self.tags == other.tags || shared >= LEAST_TAGS && shared * 2 >= fewer
    }

    fn reading(&self) -> &Reading {
        let MergeCandidate {
            kind, tags, content, ..
        } = self.candidate;
        self.reading.get_or_init(|| Reading::new(*kind, tags, content))
    }

    /// Whether another one says something of the same.
    fn shares_words(&self, other: &Self) -> bool {
        let is_shared = |word: &&&str| other.words.binary_search(word).is_ok();
        let shared = self.words.iter().filter(is_shared).count();
        let fewer = self.words.len().min(other.words.len());
        shared > 0 && shared * WORDS_FOR_EACH_SHARED >= fewer
    }
}

/// What lessons must have in common before their tags are looked at. What waits is shown only to its own task, so it is not
/// merged with that of another.
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

/// A group while it grows.
struct Group<'c> {
    newest: Lesson<'c>,
    others: Vec<Lesson<'c>>,
    /// How many texts fit in yet.
    room: usize,
}

impl Group<'_> {
    /// Whether one of its lessons contradicts another one.
    fn contradicts(&self, lesson: &Lesson<'_>) -> bool {
        let mut members = std::iter::once(&self.newest).chain(&self.others);
        members.any(|member| member.reading().contradicts(lesson.reading()).is_some())
    }
}

#[derive(Default)]
struct Groups<'c> {
    groups: Vec<Group<'c>>,
    subjects: HashMap<Subject<'c>, usize>,
    /// The groups of a subject whose newest lesson has a tag, in the order in which they began.
    by_tag: HashMap<(usize, &'c str), Vec<usize>>,
}

impl<'c> Groups<'c> {
    /// Puts a lesson into the group that it is most like, or into one of its own.
    fn take(&mut self, lesson: Lesson<'c>) {
        let candidate = lesson.candidate;
        let next = self.subjects.len();
        let subject = *self.subjects.entry(Subject::of(candidate)).or_insert(next);
        let needs = 1 + candidate.examples as usize;
        if let Some(group) = self
            .most_alike(subject, &lesson, needs)
            .and_then(|at| self.groups.get_mut(at))
        {
            group.others.push(lesson);
            group.room -= needs;
            return;
        }
        for tag in &lesson.tags {
            self.by_tag.entry((subject, *tag)).or_default().push(self.groups.len());
        }
        self.groups.push(Group {
            newest: lesson,
            others: Vec::new(),
            room: MOST_EXAMPLES.saturating_sub(candidate.examples as usize),
        });
    }

    /// The group with room that shares most tags, and enough to be alike; of several the one that began last.
    fn most_alike(&self, subject: usize, lesson: &Lesson<'c>, needs: usize) -> Option<usize> {
        let mut shared: HashMap<usize, usize> = HashMap::new();
        for tag in &lesson.tags {
            let groups = self.by_tag.get(&(subject, *tag)).into_iter().flatten();
            for at in groups.rev().take(MOST_LOOKED_AT) {
                *shared.entry(*at).or_default() += 1;
            }
        }
        let fits = |(at, shared): &(usize, usize)| {
            let group = self.groups.get(*at);
            group.is_some_and(|group| {
                group.room >= needs
                    && lesson.shares_tags(&group.newest, *shared)
                    && lesson.shares_words(&group.newest)
                    && !group.contradicts(lesson)
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
