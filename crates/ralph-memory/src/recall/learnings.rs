//! Lessons as a body of texts that can be asked: those that may be found.

use ralph_model::{Learning, LearningStatus};
use ralph_store::index::{Age, KnownTerm, Outline, Totals};
use ralph_store::{LearningOutline, Searched, Store, StoreError};

use super::corpus::Corpus;
use super::rows::Rows;

/// Lessons have no files; all of them count as one.
pub(super) const LEARNINGS_SOURCE: i64 = i64::MIN;

/// Whether somebody may find a lesson: what holds, and what waits.
fn may_be_found(outline: &LearningOutline) -> bool {
    let status = match outline.status {
        LearningStatus::Promoted | LearningStatus::Validated | LearningStatus::Pending => true,
        LearningStatus::Rejected | LearningStatus::Pruned => false,
    };
    status && !outline.is_superseded
}

/// The lessons that a question is about.
pub(super) struct Learnings<'s> {
    pub(super) rows: Rows<'s>,
}

impl<'s> Learnings<'s> {
    pub(super) fn of(store: &'s Store) -> Self {
        Self {
            rows: Rows::of(store, Searched::Learnings),
        }
    }

    /// A lesson by its number.
    pub(super) fn learning(&self, number: i64) -> Result<Option<Learning>, StoreError> {
        Ok(self.rows.store.learnings_numbered(&[number])?.pop())
    }
}

impl Corpus for Learnings<'_> {
    type Error = StoreError;

    const ALIKE: usize = 32;

    fn totals(&self) -> Result<Totals, StoreError> {
        self.rows.totals()
    }

    fn term(&self, term: &str) -> Result<Option<KnownTerm>, StoreError> {
        self.rows.term(term)
    }

    fn entries_with(&self, term: &KnownTerm, visit: &mut dyn FnMut(i64)) -> Result<(), StoreError> {
        self.rows.with(term, visit)
    }

    fn outlines(&self, numbers: &[i64]) -> Result<Vec<Outline>, StoreError> {
        let outlines = self.rows.store.learning_outlines(numbers)?;
        let day = |outline: &LearningOutline| outline.created_at.strftime("%Y-%m-%d").to_string();
        let found = outlines.into_iter().filter(may_be_found);
        Ok(found
            .map(|outline| Outline {
                number: outline.number,
                source: LEARNINGS_SOURCE,
                id: outline.id.to_string(),
                age: Age {
                    created: day(&outline),
                    second: outline.created_at.as_second(),
                    place: outline.number,
                },
                terms: self.rows.numbers_of(&outline.terms),
                tag_terms: self.rows.numbers_of(&outline.tag_terms),
            })
            .collect())
    }

    fn text(&self, number: i64) -> Result<String, StoreError> {
        let learning = self.learning(number)?;
        Ok(learning.map(|learning| learning.content).unwrap_or_default())
    }
}
