//! What ranking needs to know of a document: its terms, its age and its facts, but not its text.

use rusqlite::Row;

use super::update::decode;
use super::{Index, IndexError};
use crate::{DocId, DocKind};

/// Columns of [`Age::read`], in order.
pub(super) const AGE: &str = "created, second, place";

/// Ranking features of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Doc {
    pub number: i64,
    pub id: DocId,
    pub age: Age,
    /// Whether a note supersedes it.
    pub is_superseded: bool,
    /// The kind of a note. Two facts are near-duplicates only if they have the same topic.
    pub(crate) topic: String,
    /// A digest of its numbers and negations.
    pub(crate) facts: i64,
    /// Terms of its text, in order.
    pub(crate) terms: Vec<u32>,
    pub(crate) tag_terms: Vec<u32>,
}

/// Age of a document; newer ones compare greater.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Age {
    /// Day of creation; empty if unknown.
    pub created: String,
    /// Second of creation; that of a note is in its id.
    pub second: i64,
    /// Position in its file, or row number in the fact store.
    pub place: i64,
}

impl Doc {
    /// Leaves only its text.
    pub fn ignore_tags(&mut self) {
        self.tag_terms.clear();
    }
}

impl Age {
    /// Reads three columns, starting at `first`.
    pub(super) fn read(row: &Row<'_>, first: usize) -> rusqlite::Result<Self> {
        Ok(Self {
            created: row.get(first)?,
            second: row.get(first + 1)?,
            place: row.get(first + 2)?,
        })
    }
}

/// Size of a part of the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Totals {
    pub docs: u64,
    /// Number of terms in all documents together.
    pub terms: u64,
}

impl Index {
    /// Returns the totals of some kinds together.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub fn totals(&self, kinds: &[DocKind]) -> Result<Totals, IndexError> {
        let mut totals = Totals::default();
        let mut statement = self.sql(
            self.connection
                .prepare_cached("SELECT docs, terms FROM kinds WHERE kind = ?1"),
        )?;
        for kind in kinds {
            let read = statement.query_row([kind.number()], |row| {
                Ok((
                    row.get::<_, i64>(0)?.cast_unsigned(),
                    row.get::<_, i64>(1)?.cast_unsigned(),
                ))
            });
            let (docs, terms) = self.sql(read)?;
            totals.docs += docs;
            totals.terms += terms;
        }
        Ok(totals)
    }

    /// Returns the features of documents, in the order of `numbers`.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub fn docs(&self, numbers: impl IntoIterator<Item = i64>) -> Result<Vec<Doc>, IndexError> {
        let sql = format!(
            "SELECT number, kind, id, facts, terms, tag_terms, {AGE},
                    EXISTS (SELECT 1 FROM superseded WHERE superseded.id = docs.id), topic
             FROM docs WHERE number = ?1"
        );
        let mut statement = self.sql(self.connection.prepare_cached(&sql))?;
        let docs = numbers
            .into_iter()
            .map(|number| statement.query_row([number], read_doc))
            .collect();
        self.sql(docs)
    }
}

fn read_doc(row: &Row<'_>) -> rusqlite::Result<Doc> {
    let number: i64 = row.get(1)?;
    let kind = DocKind::numbered(number).ok_or(rusqlite::Error::IntegralValueOutOfRange(1, number))?;
    Ok(Doc {
        number: row.get(0)?,
        id: DocId { kind, id: row.get(2)? },
        facts: row.get(3)?,
        terms: decode(row.get_ref(4)?.as_blob()?),
        tag_terms: decode(row.get_ref(5)?.as_blob()?),
        age: Age::read(row, 6)?,
        is_superseded: row.get(9)?,
        topic: row.get(10)?,
    })
}
