//! Queries for terms: which documents contain a term, and how many.

use rusqlite::{OptionalExtension, params};

use super::{Index, IndexError};
use crate::DocKind;

/// At most this many terms that start with a word are considered as its corrections.
const MAX_COMPLETIONS: u32 = 256;

/// A term that at least one of the searched documents contains.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownTerm {
    pub term: String,
    pub number: u32,
    /// Number of searched documents that contain it.
    pub docs: u64,
}

/// The SQL expression for the number of documents of these kinds with a term.
fn counted(kinds: &[DocKind]) -> String {
    let columns: Vec<&str> = kinds.iter().map(|kind| kind.column()).collect();
    if columns.is_empty() {
        "0".to_owned()
    } else {
        columns.join(" + ")
    }
}

impl Index {
    /// Returns a term if any document of these kinds contains it.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub fn term(&self, term: &str, kinds: &[DocKind]) -> Result<Option<KnownTerm>, IndexError> {
        let counted = counted(kinds);
        let sql = format!("SELECT number, {counted} FROM terms WHERE term = ?1 AND {counted} > 0");
        let found = self.connection.prepare_cached(&sql).and_then(|mut statement| {
            let read = |row: &rusqlite::Row<'_>| {
                Ok(KnownTerm {
                    term: term.to_owned(),
                    number: row.get(0)?,
                    docs: row.get::<_, i64>(1)?.cast_unsigned(),
                })
            };
            statement.query_row([term], read).optional()
        });
        self.sql(found)
    }

    /// Visits the terms that may be what a mistyped word means: they begin with it; or they have its first letter (or,
    /// if the first two are swapped, its second) and a length within `edits` of its.
    pub(crate) fn similar_terms(
        &self,
        word: &str,
        edits: usize,
        kinds: &[DocKind],
        visit: &mut dyn FnMut(KnownTerm),
    ) -> Result<(), IndexError> {
        let counted = counted(kinds);
        let mut letters = word.chars();
        let (first, second) = (letters.next(), letters.next());
        let letter = |letter: Option<char>| letter.map(String::from).unwrap_or_default();
        let length = i64::try_from(word.chars().count()).unwrap_or(i64::MAX);
        let edits = i64::try_from(edits).unwrap_or_default();
        let by_shape = format!(
            "SELECT term, number, {counted} FROM terms
             WHERE substr(term, 1, 1) IN (?1, ?2) AND length(term) BETWEEN ?3 AND ?4 AND {counted} > 0"
        );
        let by_start = format!(
            "SELECT term, number, {counted} FROM terms
             WHERE term > ?1 AND term < ?1 || char(0x10ffff) AND {counted} > 0 ORDER BY term LIMIT {MAX_COMPLETIONS}"
        );
        let walked = (|| {
            let mut statement = self.connection.prepare_cached(&by_shape)?;
            let shape = params![letter(first), letter(second), length - edits, length + edits];
            visit_terms(&mut statement.query(shape)?, visit)?;
            let mut statement = self.connection.prepare_cached(&by_start)?;
            visit_terms(&mut statement.query([word])?, visit)
        })();
        self.sql(walked)
    }

    /// Visits the numbers of the documents of these kinds that contain a term.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub fn docs_with(&self, term: &KnownTerm, kinds: &[DocKind], visit: &mut dyn FnMut(i64)) -> Result<(), IndexError> {
        let words = format!("\"{}\"", term.number);
        for kind in kinds {
            let table = format!("words_{}", kind.column());
            let sql = format!("SELECT rowid FROM {table} WHERE {table} MATCH ?1");
            let walked = self.connection.prepare_cached(&sql).and_then(|mut statement| {
                let mut rows = statement.query([&words])?;
                while let Some(row) = rows.next()? {
                    visit(row.get(0)?);
                }
                Ok(())
            });
            self.sql(walked)?;
        }
        Ok(())
    }

    /// Visits the documents of a kind with a tag that a text with this word may contain, newest first, up to a limit;
    /// superseded ones are left out. Returns how many there were.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub fn tagged(
        &self,
        kind: DocKind,
        word: &str,
        most: usize,
        visit: &mut dyn FnMut(&str, i64),
    ) -> Result<usize, IndexError> {
        let walked = self
            .connection
            .prepare_cached(
                "SELECT tag, doc FROM tags WHERE kind = ?1 AND word = ?2
                     AND NOT EXISTS (SELECT 1 FROM superseded WHERE id = (SELECT id FROM docs WHERE number = tags.doc))
                 ORDER BY doc DESC LIMIT ?3",
            )
            .and_then(|mut statement| {
                let most = i64::try_from(most).unwrap_or(i64::MAX);
                let mut rows = statement.query(params![kind.number(), word, most])?;
                let mut met = 0;
                while let Some(row) = rows.next()? {
                    visit(row.get_ref(0)?.as_str()?, row.get(1)?);
                    met += 1;
                }
                Ok(met)
            });
        self.sql(walked)
    }
}

fn visit_terms(rows: &mut rusqlite::Rows<'_>, visit: &mut dyn FnMut(KnownTerm)) -> rusqlite::Result<()> {
    while let Some(row) = rows.next()? {
        visit(KnownTerm {
            term: row.get(0)?,
            number: row.get(1)?,
            docs: row.get::<_, i64>(2)?.cast_unsigned(),
        });
    }
    Ok(())
}
