//! Which lessons are so alike that one can stand for all of them: they are about the same, and share at least half of the
//! tags of the one that has fewer.
//!
//! Lessons are gone through once, the newest first. Each either joins a group that it shares a tag with, or begins one. Only
//! the latest groups of each of its tags are looked at, so that the work grows with the number of lessons and not with its
//! square; a pair that is missed so is no loss.

use std::collections::HashMap;

use ralph_model::{LearningKind, LearningSource, LearningStatus, TaskId};
use ralph_store::{MergeCandidate, MergeGroup};

/// How many texts a lesson may hold beside its own: more than that helps nobody who reads it.
pub const MOST_EXAMPLES: usize = 9;
/// How many groups are looked at for each tag of a lesson.
const MOST_LOOKED_AT: usize = 64;

/// The groups of lessons that can become one; the candidates come with the newest first. Lessons without tags are like no
/// other.
#[must_use]
pub fn alike(candidates: &[MergeCandidate]) -> Vec<MergeGroup> {
    let mut groups = Groups::default();
    for candidate in candidates.iter().filter(|candidate| !candidate.tags.is_empty()) {
        let mut tags: Vec<&str> = candidate.tags.iter().map(String::as_str).collect();
        tags.sort_unstable();
        tags.dedup();
        groups.take(candidate, &tags);
    }
    let whole = groups.groups.into_iter().filter(|group| !group.others.is_empty());
    whole
        .map(|group| MergeGroup {
            newest: group.newest.id.clone(),
            others: group.others.iter().map(|other| other.id.clone()).collect(),
        })
        .collect()
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
    newest: &'c MergeCandidate,
    /// How many tags the newest has, each counted once.
    tags: usize,
    others: Vec<&'c MergeCandidate>,
    /// How many texts fit in yet.
    room: usize,
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
    fn take(&mut self, candidate: &'c MergeCandidate, tags: &[&'c str]) {
        let next = self.subjects.len();
        let subject = *self.subjects.entry(Subject::of(candidate)).or_insert(next);
        let needs = 1 + candidate.examples as usize;
        if let Some(group) = self
            .most_alike(subject, tags, needs)
            .and_then(|at| self.groups.get_mut(at))
        {
            group.others.push(candidate);
            group.room -= needs;
            return;
        }
        for tag in tags {
            self.by_tag.entry((subject, *tag)).or_default().push(self.groups.len());
        }
        self.groups.push(Group {
            newest: candidate,
            tags: tags.len(),
            others: Vec::new(),
            room: MOST_EXAMPLES.saturating_sub(candidate.examples as usize),
        });
    }

    /// The group with room that shares most tags, and at least half; of several the one that began last.
    fn most_alike(&self, subject: usize, tags: &[&'c str], needs: usize) -> Option<usize> {
        let mut shared: HashMap<usize, usize> = HashMap::new();
        for tag in tags {
            let groups = self.by_tag.get(&(subject, *tag)).into_iter().flatten();
            for at in groups.rev().take(MOST_LOOKED_AT) {
                *shared.entry(*at).or_default() += 1;
            }
        }
        let fits = |(at, shared): &(usize, usize)| {
            let group = self.groups.get(*at);
            group.is_some_and(|group| group.room >= needs && shared * 2 >= group.tags.min(tags.len()))
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
