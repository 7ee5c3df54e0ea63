//! Lessons that stand in a prompt, so that none stands there that contradicts one of them.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use ralph_model::{Learning, LearningId};

use crate::contradiction::Reading;

/// Lessons that stand in a prompt.
#[derive(Debug, Clone)]
pub(super) struct Claims<'a> {
    standing: Vec<(&'a LearningId, Rc<Reading>)>,
    /// What was read so far. The same lessons are looked at again and again while a prompt is put together.
    read: Rc<RefCell<HashMap<&'a LearningId, Rc<Reading>>>>,
    /// Pairs that seem to contradict each other, and both hold, each with the lower id first.
    settled: &'a [(LearningId, LearningId)],
}

impl<'a> Claims<'a> {
    /// None yet. Of the pairs that seem to contradict each other these are known to hold both.
    pub(super) fn none(settled: &'a [(LearningId, LearningId)]) -> Self {
        Self {
            standing: Vec::new(),
            read: Rc::default(),
            settled,
        }
    }

    /// Notes that a lesson stands there.
    pub(super) fn add(&mut self, learning: &'a Learning) {
        self.standing.push((&learning.id, self.reading_of(learning)));
    }

    /// Whether a lesson contradicts one that stands there.
    pub(super) fn refute(&self, learning: &'a Learning) -> bool {
        if self.standing.is_empty() {
            return false;
        }
        let reading = self.reading_of(learning);
        let refutes = |(id, standing): &(&LearningId, Rc<Reading>)| {
            standing.contradicts(&reading).is_some() && !self.is_settled(id, &learning.id)
        };
        self.standing.iter().any(refutes)
    }

    fn reading_of(&self, learning: &'a Learning) -> Rc<Reading> {
        let mut read = self.read.borrow_mut();
        let reading = read
            .entry(&learning.id)
            .or_insert_with(|| Rc::new(Reading::of(learning)));
        Rc::clone(reading)
    }

    fn is_settled(&self, one: &LearningId, other: &LearningId) -> bool {
        let (lower, higher) = if one < other { (one, other) } else { (other, one) };
        self.settled.iter().any(|(one, other)| (one, other) == (lower, higher))
    }
}
