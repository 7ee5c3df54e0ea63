//! The journal as a body of texts that can be asked: what happened before that fits a task.

use std::collections::HashMap;

use ralph_model::{JournalRow, RunId};
use ralph_store::index::{Age, KnownTerm, Outline, Totals};
use ralph_store::{Searched, Store, StoreError};

use super::corpus::Corpus;
use super::question::{CommonWords, Terms};
use super::rows::Rows;
use super::{Reach, best};

/// The rows of other runs that fit a text, the best first, each with how well it fits. A row that shares only common words
/// with it is not among them, and of a task's rows that ended alike and say the same the newest stands for all.
///
/// # Errors
/// When the database cannot be read.
pub fn related_rows(
    store: &Store,
    text: &str,
    except: Option<&RunId>,
    most: usize,
) -> Result<Vec<(JournalRow, f64)>, StoreError> {
    let journal = Journal {
        except,
        repetitions: Repetitions::StandOnce,
        ..Journal::of(store)
    };
    ask(&journal, text, most, CommonWords::TellNothing)
}

/// The rows that a person looks for, the best first, each with how well it fits. All of them: how often something was
/// tried is a part of the answer.
///
/// # Errors
/// When the database cannot be read.
pub fn search_rows(store: &Store, text: &str, most: usize) -> Result<Vec<(JournalRow, f64)>, StoreError> {
    ask(&Journal::of(store), text, most, CommonWords::AreMeant)
}

fn ask(
    journal: &Journal<'_>,
    text: &str,
    most: usize,
    common: CommonWords,
) -> Result<Vec<(JournalRow, f64)>, StoreError> {
    let terms = Terms::of(journal, text, common)?;
    let best = best(journal, &[JOURNAL], Reach::Best(most), &terms)?;
    let numbers: Vec<i64> = best.iter().map(|(_, outline)| outline.number).collect();
    let scores: HashMap<i64, f64> = best
        .iter()
        .map(|(score, outline)| (outline.number, score.total()))
        .collect();
    let rows = journal.rows.store.journal_rows(&numbers)?.into_iter();
    Ok(rows
        .filter_map(|row| scores.get(&row.id).map(|score| (row, *score)))
        .collect())
}

/// The journal has no files; all of it counts as one.
const JOURNAL: i64 = 0;

/// What becomes of rows that say the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Repetitions {
    /// All are found.
    AllStand,
    /// One stands for those of the same task that ended alike.
    StandOnce,
}

/// The rows that a question is about.
struct Journal<'s> {
    rows: Rows<'s>,
    except: Option<&'s RunId>,
    repetitions: Repetitions,
}

impl<'s> Journal<'s> {
    fn of(store: &'s Store) -> Self {
        Self {
            rows: Rows::of(store, Searched::Journal),
            except: None,
            repetitions: Repetitions::AllStand,
        }
    }
}

impl Corpus for Journal<'_> {
    type Error = StoreError;

    const ALIKE: usize = 64;

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
        let outlines = self.rows.store.journal_outlines(numbers)?;
        Ok(outlines
            .into_iter()
            .filter(|outline| self.except.is_none_or(|run| outline.run != *run))
            .map(|outline| Outline {
                number: outline.id,
                source: JOURNAL,
                id: outline.id.to_string(),
                age: Age {
                    place: outline.id,
                    ..Age::default()
                },
                terms: self.rows.numbers_of(&outline.terms),
                tag_terms: Vec::new(),
            })
            .collect())
    }

    fn may_stand_for_both(&self, one: i64, other: i64) -> Result<bool, StoreError> {
        if self.repetitions == Repetitions::AllStand {
            return Ok(false);
        }
        let kind = |number| -> Result<_, StoreError> {
            let row = self.rows.store.journal_row(number)?;
            Ok(row.map(|JournalRow { row, .. }| (row.task, row.task_title, row.outcome)))
        };
        Ok(kind(one)? == kind(other)?)
    }

    fn text(&self, number: i64) -> Result<String, StoreError> {
        let row = self.rows.store.journal_row(number)?;
        Ok(row.map_or_else(String::new, |JournalRow { row, .. }| {
            format!("{}\n{}\n{}", row.task_title, row.notes.unwrap_or_default(), row.reason)
        }))
    }
}
