//! Earlier iterations that are relevant to a text.

use std::collections::HashMap;

use ralph_model::{JournalRow, RunId};
use ralph_search::{CommonWords, Doc, DocKind, Duplicates, Index, IndexError, Limits, Reach, Searcher};
use ralph_store::Store;

const KINDS: [DocKind; 1] = [DocKind::Journal];

/// Journal entries of other runs that are relevant to a text, best first, with scores. Entries that share only common
/// words are left out, and of a task's entries with the same outcome and text only the newest is kept.
///
/// # Errors
/// When the index or the store cannot be read.
pub fn related_rows(
    (index, store): (&Index, &Store),
    text: &str,
    except: Option<&RunId>,
    most: usize,
) -> Result<Vec<(JournalRow, f64)>, IndexError> {
    let mut accept = |doc: &Doc| -> Result<bool, IndexError> {
        let row = store.journal_row(doc.age.place)?;
        Ok(row.is_some_and(|row| except.is_none_or(|run| row.row.run != *run)))
    };
    let wanted = (CommonWords::Ignore, Duplicates::Drop, most);
    rows((index, store), text, wanted, &mut accept)
}

/// Search results for a user, best first, with scores. Duplicates are kept: how often something was tried is part of
/// the answer.
///
/// # Errors
/// When the index or the store cannot be read.
pub fn search_rows(
    (index, store): (&Index, &Store),
    text: &str,
    most: usize,
) -> Result<Vec<(JournalRow, f64)>, IndexError> {
    let wanted = (CommonWords::Search, Duplicates::Keep, most);
    rows((index, store), text, wanted, &mut |_| Ok(true))
}

fn rows(
    (index, store): (&Index, &Store),
    text: &str,
    (common, duplicates, most): (CommonWords, Duplicates, usize),
    accept: &mut dyn FnMut(&Doc) -> Result<bool, IndexError>,
) -> Result<Vec<(JournalRow, f64)>, IndexError> {
    let _snapshot = store.snapshot()?;
    let searcher = Searcher::new(index, &KINDS, Limits::FACTS)?;
    let question = searcher.question(text, common)?;
    let found = searcher.best(&question, (Reach::Best(most), duplicates), accept)?;
    let numbers: Vec<i64> = found.iter().map(|(_, doc)| doc.age.place).collect();
    let scores: HashMap<i64, f64> = found
        .iter()
        .map(|(score, doc)| (doc.age.place, score.total()))
        .collect();
    let rows = store.journal_rows(&numbers)?.into_iter();
    Ok(rows
        .filter_map(|row| scores.get(&row.id).map(|score| (row, *score)))
        .collect())
}
