//! Notes and learnings as one corpus: term rarity is computed over both, so their scores are comparable.

use ralph_store::index::{DocFeatures, IndexError, KnownTerm, Totals};
use ralph_store::{Store, StoreError};

use super::corpus::{Corpus, FuzzyCorpus};
use super::learnings::{LEARNINGS_SOURCE, Learnings};
use super::notes::Notes;
use super::{Found, Question};

/// The first number of a learning; lower numbers belong to notes.
const FIRST_LEARNING: i64 = 1 << 62;

/// Which of the two cannot be read.
#[derive(Debug)]
pub(super) enum CorpusError {
    Notes(IndexError),
    Learnings(StoreError),
}

impl From<IndexError> for CorpusError {
    fn from(error: IndexError) -> Self {
        Self::Notes(error)
    }
}

impl From<StoreError> for CorpusError {
    fn from(error: StoreError) -> Self {
        Self::Learnings(error)
    }
}

/// Notes and, if there are any, learnings.
pub(super) struct Everything<'q> {
    notes: Notes<'q>,
    learnings: Option<Learnings<'q>>,
    question: &'q Question<'q>,
    /// The searched sources, in the order of the question.
    pub(super) sources: Vec<i64>,
}

impl<'q> Everything<'q> {
    pub(super) fn of(
        notes: Notes<'q>,
        store: Option<&'q Store>,
        question: &'q Question<'q>,
    ) -> Result<Self, CorpusError> {
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

    pub(super) fn has_any(&self) -> bool {
        self.notes.has_any || self.learnings.is_some()
    }

    /// The entry behind an outline; `None` if it was deleted meanwhile.
    pub(super) fn found(&self, outline: &DocFeatures) -> Result<Option<Found>, CorpusError> {
        match self.learning_at(outline.number) {
            Some((learnings, number)) => {
                let learning = learnings.learning(number)?;
                Ok(learning.map(|learning| Found::Learning(Box::new(learning))))
            }
            None => Ok(Some(self.notes.found(outline)?)),
        }
    }

    /// The learnings and the number of one among them; `None` for a note's number.
    fn learning_at(&self, number: i64) -> Option<(&Learnings<'q>, i64)> {
        let learnings = self.learnings.as_ref().filter(|_| number >= FIRST_LEARNING)?;
        Some((learnings, number - FIRST_LEARNING))
    }

    fn learning_docs(&self, learnings: &Learnings<'_>, numbers: &[i64]) -> Result<Vec<DocFeatures>, CorpusError> {
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

impl FuzzyCorpus for Everything<'_> {
    /// Those of notes first, then those of learnings.
    fn all_terms(&self, visit: &mut dyn FnMut(&str, u64)) -> Result<(), CorpusError> {
        self.notes.all_terms(&mut |known| visit(&known.term, known.entries))?;
        if let Some(learnings) = &self.learnings {
            learnings.all_terms(visit)?;
        }
        Ok(())
    }
}

impl Corpus for Everything<'_> {
    type Error = CorpusError;

    const TIE_BATCH: usize = usize::MAX;

    fn totals(&self) -> Result<Totals, CorpusError> {
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

    fn term(&self, term: &str) -> Result<Option<KnownTerm>, CorpusError> {
        let of_notes = self.notes.term(term)?;
        let Some(learnings) = &self.learnings else {
            return Ok(of_notes);
        };
        let Some(mut known) = of_notes else {
            return Ok(learnings.term(term)?);
        };
        // A word has the same number in both.
        learnings.rows.set_number(term, known.number);
        known.entries += learnings.rows.holding(term)?;
        Ok(Some(known))
    }

    fn entries_with(&self, term: &KnownTerm, visit: &mut dyn FnMut(i64)) -> Result<(), CorpusError> {
        self.notes.entries_with(term, visit)?;
        if let Some(learnings) = &self.learnings {
            learnings.entries_with(term, &mut |number| visit(FIRST_LEARNING + number))?;
        }
        Ok(())
    }

    fn outlines(&self, numbers: &[i64]) -> Result<Vec<DocFeatures>, CorpusError> {
        let Some(learnings) = &self.learnings else {
            return Ok(self.notes.outlines(numbers)?);
        };
        let (of_learnings, of_notes): (Vec<i64>, Vec<i64>) =
            numbers.iter().partition(|number| **number >= FIRST_LEARNING);
        let mut found = self.notes.outlines(&of_notes)?;
        let of_learnings: Vec<i64> = of_learnings.iter().map(|number| number - FIRST_LEARNING).collect();
        found.extend(self.learning_docs(learnings, &of_learnings)?);
        Ok(found)
    }

    /// A note and a learning that say the same are both shown.
    fn may_collapse(&self, one: i64, other: i64) -> Result<bool, CorpusError> {
        Ok(self.learning_at(one).is_some() == self.learning_at(other).is_some())
    }

    fn text(&self, number: i64) -> Result<String, CorpusError> {
        match self.learning_at(number) {
            Some((learnings, number)) => Ok(learnings.text(number)?),
            None => Ok(self.notes.text(number)?),
        }
    }
}
