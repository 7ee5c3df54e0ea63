//! Lessons as a body of texts that can be asked: those that may be found.

use ralph_model::{Learning, LearningSource, LearningStatus, TaskId};
use ralph_store::index::{Age, KnownTerm, Outline, Totals};
use ralph_store::{LearningOutline, Searched, Store, StoreError};

use super::corpus::Corpus;
use super::rows::Rows;

/// Lessons have no files; all of them count as one.
pub(super) const LEARNINGS_SOURCE: i64 = i64::MIN;

/// Which lessons may be found.
#[derive(Debug, Clone, Copy)]
pub(super) enum Whose<'a> {
    /// Those for the prompt of a task: what agents and people said, if it holds or was learned at this very task.
    ForTask(&'a TaskId),
    /// Everything that somebody may look for: what holds, and what waits.
    Anybodys,
}

impl Whose<'_> {
    fn lets_in(self, outline: &LearningOutline) -> bool {
        if outline.is_superseded {
            return false;
        }
        match self {
            Self::ForTask(task) => {
                let is_said = matches!(outline.source, LearningSource::Sigil | LearningSource::Human);
                let may_stand = match outline.status {
                    LearningStatus::Promoted => true,
                    LearningStatus::Validated => outline.task.as_ref() == Some(task),
                    LearningStatus::Pending | LearningStatus::Rejected | LearningStatus::Pruned => false,
                };
                is_said && may_stand
            }
            Self::Anybodys => matches!(outline.status, LearningStatus::Promoted | LearningStatus::Validated),
        }
    }
}

/// The lessons that a question is about.
pub(super) struct Learnings<'s> {
    pub(super) rows: Rows<'s>,
    whose: Whose<'s>,
}

impl<'s> Learnings<'s> {
    pub(super) fn of(store: &'s Store, whose: Whose<'s>) -> Self {
        Self {
            rows: Rows::of(store, Searched::Learnings),
            whose,
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
    /// Every iteration asks, before its agent can begin.
    const MOST_PLACES: u64 = 2_000;
    const MOST_CANDIDATES: usize = 40;

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
        let found = outlines.into_iter().filter(|outline| self.whose.lets_in(outline));
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
