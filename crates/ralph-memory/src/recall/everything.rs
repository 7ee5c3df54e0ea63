//! Notes and lessons together as one body of texts: a word is as rare as it is among all of them, so that what fits best
//! stands first, wherever it is kept.

use ralph_store::index::{IndexError, KnownTerm, Outline, Totals};
use ralph_store::{Store, StoreError};

use super::corpus::{Corpus, Forgiving};
use super::learnings::{LEARNINGS_SOURCE, Learnings};
use super::notes::Notes;
use super::{Found, Question};

/// The first number of a lesson; those below are notes'.
const FIRST_LEARNING: i64 = 1 << 62;

/// Which of the two bodies cannot be read.
#[derive(Debug)]
pub(super) enum Unreadable {
    /// The notes.
    Notes(IndexError),
    /// The lessons.
    Learnings(StoreError),
}

impl From<IndexError> for Unreadable {
    fn from(error: IndexError) -> Self {
        Self::Notes(error)
    }
}

impl From<StoreError> for Unreadable {
    fn from(error: StoreError) -> Self {
        Self::Learnings(error)
    }
}

/// Notes and, where there are any, lessons.
pub(super) struct Everything<'q> {
    notes: Notes<'q>,
    learnings: Option<Learnings<'q>>,
    question: &'q Question<'q>,
    /// Where entries may stand, in the order of the question.
    pub(super) sources: Vec<i64>,
}

impl<'q> Everything<'q> {
    pub(super) fn of(
        notes: Notes<'q>,
        store: Option<&'q Store>,
        question: &'q Question<'q>,
    ) -> Result<Self, Unreadable> {
        let learnings = store.map(Learnings::of);
        let learnings = match learnings {
            Some(learnings) if learnings.totals()?.entries > 0 => Some(learnings),
            _ => None,
        };
        let mut sources = notes.sources.clone();
        sources.extend(learnings.as_ref().map(|_| LEARNINGS_SOURCE));
        Ok(Self {
            notes,
            learnings,
            question,
            sources,
        })
    }

    /// Whether there is anything to be found.
    pub(super) fn has_any(&self) -> bool {
        self.notes.has_any || self.learnings.is_some()
    }

    /// What an outline is of; nothing where it is gone by now.
    pub(super) fn found(&self, outline: &Outline) -> Result<Option<Found>, Unreadable> {
        match self.learning_at(outline.number) {
            Some((learnings, number)) => {
                let learning = learnings.learning(number)?;
                Ok(learning.map(|learning| Found::Learning(Box::new(learning))))
            }
            None => Ok(Some(self.notes.found(outline)?)),
        }
    }

    /// The lessons, and which of them a number is of; none where it is a note's.
    fn learning_at(&self, number: i64) -> Option<(&Learnings<'q>, i64)> {
        let learnings = self.learnings.as_ref().filter(|_| number >= FIRST_LEARNING)?;
        Some((learnings, number - FIRST_LEARNING))
    }

    fn outlines_of_learnings(&self, learnings: &Learnings<'_>, numbers: &[i64]) -> Result<Vec<Outline>, Unreadable> {
        let mut found = learnings.outlines(numbers)?;
        let wanted = self.question.wanted;
        if !wanted.is_everything() {
            let mut matching = Vec::new();
            for outline in found {
                let learning = learnings.learning(outline.number)?;
                if learning.is_some_and(|learning| wanted.matches_learning(&learning)) {
                    matching.push(outline);
                }
            }
            found = matching;
        }
        for outline in &mut found {
            outline.number += FIRST_LEARNING;
        }
        Ok(found)
    }
}

impl Forgiving for Everything<'_> {
    /// First those of notes, then those of lessons.
    fn all_terms(&self, visit: &mut dyn FnMut(&str, u64)) -> Result<(), Unreadable> {
        self.notes.all_terms(&mut |known| visit(&known.term, known.entries))?;
        if let Some(learnings) = &self.learnings {
            learnings.all_terms(visit)?;
        }
        Ok(())
    }
}

impl Corpus for Everything<'_> {
    type Error = Unreadable;

    const ALIKE: usize = usize::MAX;

    fn totals(&self) -> Result<Totals, Unreadable> {
        let notes = self.notes.totals()?;
        let Some(learnings) = &self.learnings else {
            return Ok(notes);
        };
        let learnings = learnings.totals()?;
        Ok(Totals {
            entries: notes.entries + learnings.entries,
            terms: notes.terms + learnings.terms,
        })
    }

    fn term(&self, term: &str) -> Result<Option<KnownTerm>, Unreadable> {
        let of_notes = self.notes.term(term)?;
        let Some(learnings) = &self.learnings else {
            return Ok(of_notes);
        };
        let Some(mut known) = of_notes else {
            return Ok(learnings.term(term)?);
        };
        // A word has one number, whoever holds it.
        learnings.rows.set_number(term, known.number);
        known.entries += learnings.rows.holding(term)?;
        Ok(Some(known))
    }

    fn entries_with(&self, term: &KnownTerm, visit: &mut dyn FnMut(i64)) -> Result<(), Unreadable> {
        self.notes.entries_with(term, visit)?;
        if let Some(learnings) = &self.learnings {
            learnings.entries_with(term, &mut |number| visit(FIRST_LEARNING + number))?;
        }
        Ok(())
    }

    fn outlines(&self, numbers: &[i64]) -> Result<Vec<Outline>, Unreadable> {
        let Some(learnings) = &self.learnings else {
            return Ok(self.notes.outlines(numbers)?);
        };
        let (of_learnings, of_notes): (Vec<i64>, Vec<i64>) =
            numbers.iter().partition(|number| **number >= FIRST_LEARNING);
        let mut found = self.notes.outlines(&of_notes)?;
        let of_learnings: Vec<i64> = of_learnings.iter().map(|number| number - FIRST_LEARNING).collect();
        found.extend(self.outlines_of_learnings(learnings, &of_learnings)?);
        Ok(found)
    }

    /// What is kept in two places is kept there for a reason: neither stands for the other.
    fn may_stand_for_both(&self, one: i64, other: i64) -> Result<bool, Unreadable> {
        Ok(self.learning_at(one).is_some() == self.learning_at(other).is_some())
    }

    fn text(&self, number: i64) -> Result<String, Unreadable> {
        match self.learning_at(number) {
            Some((learnings, number)) => Ok(learnings.text(number)?),
            None => Ok(self.notes.text(number)?),
        }
    }
}
