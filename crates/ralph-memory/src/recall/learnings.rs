//! Lessons as a body of texts that can be asked: those that may be found.

use std::collections::HashSet;

use ralph_model::{Learning, LearningId, LearningStatus};
use ralph_store::index::{Age, KnownTerm, Outline, Totals};
use ralph_store::{LearningOutline, Searched, Store, StoreError};

use super::corpus::{Corpus, Forgiving};
use super::question::Terms;
use super::rows::Rows;
use super::{Answer, Found, Hit, Reach, fitting};

/// Lessons have no files; all of them count as one.
pub(super) const LEARNINGS_SOURCE: i64 = i64::MIN;

/// One is a match that has so many in a hundred of the words that the best match has of a question.
const MATCHING_PERCENT: usize = 70;

/// Finds lessons that fit a question, of those that hold or wait and are among these. They are found as among all notes, but
/// for what matches far less of the question than the best does: so they can be put in any other order.
///
/// # Errors
/// When the database cannot be read.
pub fn recall_learnings(store: &Store, text: &str, among: &HashSet<LearningId>) -> Result<Answer, StoreError> {
    let learnings = Learnings {
        among: Some(among),
        ..Learnings::of(store)
    };
    let fitting = fitting(&learnings, &[LEARNINGS_SOURCE], Reach::All, text)?;
    let words = |outline: &Outline| words_in(outline, &fitting.terms);
    let most = fitting.found.iter().map(|(_, outline)| words(outline)).max();
    let mut hits = Vec::new();
    for (score, outline) in &fitting.found {
        if words(outline) * 100 < most.unwrap_or_default() * MATCHING_PERCENT {
            continue;
        }
        let learning = learnings.learning(outline.number)?;
        hits.extend(learning.map(|learning| Hit {
            item: Found::Learning(Box::new(learning)),
            age: outline.age.clone(),
            score: *score,
        }));
    }
    Ok(Answer {
        hits,
        forgiven: fitting.forgiven,
        terms: fitting.terms.all(),
        ..Answer::default()
    })
}

/// How many of the words of a question an entry holds, common ones too.
fn words_in(outline: &Outline, terms: &Terms) -> usize {
    let holds = |number: &u32| outline.terms.contains(number) || outline.tag_terms.contains(number);
    terms.known.iter().filter(|asked| holds(&asked.known.number)).count()
}

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
    /// Only these, where they are named.
    among: Option<&'s HashSet<LearningId>>,
}

impl<'s> Learnings<'s> {
    pub(super) fn of(store: &'s Store) -> Self {
        Self {
            rows: Rows::of(store, Searched::Learnings),
            among: None,
        }
    }

    fn lets_in(&self, outline: &LearningOutline) -> bool {
        may_be_found(outline) && self.among.is_none_or(|among| among.contains(&outline.id))
    }

    /// A lesson by its number.
    pub(super) fn learning(&self, number: i64) -> Result<Option<Learning>, StoreError> {
        Ok(self.rows.store.learnings_numbered(&[number])?.pop())
    }
}

impl Forgiving for Learnings<'_> {
    fn all_terms(&self, visit: &mut dyn FnMut(&str, u64)) -> Result<(), StoreError> {
        self.rows.plain_terms(visit)
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
        let found = outlines.into_iter().filter(|outline| self.lets_in(outline));
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
