//! The journal as a searchable corpus: earlier iterations that are relevant to a task.

use std::collections::HashMap;

use ralph_model::{JournalRow, RunId};
use ralph_store::index::{Age, DocFeatures, KnownTerm, Totals};
use ralph_store::{Searched, Store, StoreError};

use super::corpus::Corpus;
use super::question::{CommonWords, Terms};
use super::rows::Rows;
use super::{Reach, best};

/// Journal entries of other runs that are relevant to a text, best first, with scores. Entries that share only common
/// words are left out, and of a task's entries with the same outcome and text only the newest is kept.
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
        duplicates: Duplicates::KeepNewest,
        ..Journal::of(store)
    };
    ask(&journal, text, most, CommonWords::Ignore)
}

/// Search results for a user, best first, with scores. Duplicates are kept: how often something was tried is part of
/// the answer.
///
/// # Errors
/// When the database cannot be read.
pub fn search_rows(store: &Store, text: &str, most: usize) -> Result<Vec<(JournalRow, f64)>, StoreError> {
    ask(&Journal::of(store), text, most, CommonWords::Search)
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

/// The journal has no files; all of it counts as one source.
const JOURNAL: i64 = 0;

/// How entries with the same text are treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Duplicates {
    KeepAll,
    /// Keep one of those of the same task with the same outcome.
    KeepNewest,
}

struct Journal<'s> {
    rows: Rows<'s>,
    except: Option<&'s RunId>,
    duplicates: Duplicates,
}

impl<'s> Journal<'s> {
    fn of(store: &'s Store) -> Self {
        Self {
            rows: Rows::of(store, Searched::Journal),
            except: None,
            duplicates: Duplicates::KeepAll,
        }
    }
}

impl Corpus for Journal<'_> {
    type Error = StoreError;

    const TIE_BATCH: usize = 64;

    fn totals(&self) -> Result<Totals, StoreError> {
        self.rows.totals()
    }

    fn term(&self, term: &str) -> Result<Option<KnownTerm>, StoreError> {
        self.rows.term(term)
    }

    fn entries_with(&self, term: &KnownTerm, visit: &mut dyn FnMut(i64)) -> Result<(), StoreError> {
        self.rows.with(term, visit)
    }

    fn outlines(&self, numbers: &[i64]) -> Result<Vec<DocFeatures>, StoreError> {
        let outlines = self.rows.store.journal_docs(numbers)?;
        Ok(outlines
            .into_iter()
            .filter(|outline| self.except.is_none_or(|run| outline.run != *run))
            .map(|outline| DocFeatures {
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

    fn may_collapse(&self, one: i64, other: i64) -> Result<bool, StoreError> {
        if self.duplicates == Duplicates::KeepAll {
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
