//! Keeps conflicting learnings out of the same prompt.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use ralph_model::{Learning, LearningId};

use crate::similarity::LearningFeatures;

/// The learnings already in a prompt.
#[derive(Debug, Clone)]
pub(super) struct Claims<'a> {
    active: Vec<(&'a LearningId, Rc<LearningFeatures>)>,
    /// Parsed learnings; the same ones are compared repeatedly.
    read: Rc<RefCell<HashMap<&'a LearningId, Rc<LearningFeatures>>>>,
    /// Pairs that are known not to conflict although they seem to, each with the lower id first.
    settled_pairs: &'a [(LearningId, LearningId)],
}

impl<'a> Claims<'a> {
    /// No learnings yet, with the pairs that are known not to conflict.
    pub(super) fn new(settled_pairs: &'a [(LearningId, LearningId)]) -> Self {
        Self {
            active: Vec::new(),
            read: Rc::default(),
            settled_pairs,
        }
    }

    /// Adds a learning to the prompt.
    pub(super) fn add(&mut self, learning: &'a Learning) {
        self.active.push((&learning.id, self.features_of(learning)));
    }

    /// Whether a learning conflicts with one in the prompt.
    pub(super) fn conflict_with(&self, learning: &'a Learning) -> bool {
        if self.active.is_empty() {
            return false;
        }
        let features = self.features_of(learning);
        let conflicts = |(id, active): &(&LearningId, Rc<LearningFeatures>)| {
            active.conflict(&features).is_some() && !self.is_settled(id, &learning.id)
        };
        self.active.iter().any(conflicts)
    }

    fn features_of(&self, learning: &'a Learning) -> Rc<LearningFeatures> {
        let mut read = self.read.borrow_mut();
        let features = read
            .entry(&learning.id)
            .or_insert_with(|| Rc::new(LearningFeatures::of(learning)));
        Rc::clone(features)
    }

    fn is_settled(&self, one: &LearningId, other: &LearningId) -> bool {
        let (lower, higher) = if one < other { (one, other) } else { (other, one) };
        self.settled_pairs
            .iter()
            .any(|(one, other)| (one, other) == (lower, higher))
    }
}
