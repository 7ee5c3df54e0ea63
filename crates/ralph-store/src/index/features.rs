//! What ranking needs to know of an entry: its terms and its age, but not its text.

use rusqlite::Row;

use super::entries::AGE;
use super::vocabulary::decode;
use super::{Index, IndexError};

/// Ranking features of an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocFeatures {
    pub number: i64,
    /// Number of its file; see [`Index::source_numbers`].
    pub source: i64,
    pub id: String,
    pub age: Age,
    /// Terms of its text, in order.
    pub terms: Vec<u32>,
    pub tag_terms: Vec<u32>,
}

/// Age of an entry; newer entries compare greater.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Age {
    /// Day of creation; empty if unknown.
    pub created: String,
    /// Second encoded in its id.
    pub second: i64,
    /// Position in the file.
    pub place: i64,
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

/// Size of the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Totals {
    pub entries: u64,
    /// Number of terms in all entries together.
    pub terms: u64,
}

impl Index {
    ///
    /// # Errors
    /// When the index cannot be read.
    pub fn totals(&self) -> Result<Totals, IndexError> {
        let totals = self
            .connection
            .query_row("SELECT entries, terms FROM totals", [], |row| {
                Ok(Totals {
                    entries: row.get::<_, i64>(0)?.cast_unsigned(),
                    terms: row.get::<_, i64>(1)?.cast_unsigned(),
                })
            });
        self.sql(totals)
    }

    /// Returns how many entries of a file are superseded.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub fn superseded_in(&self, source: &str) -> Result<usize, IndexError> {
        let Some(source) = self.source_numbers()?.remove(source) else {
            return Ok(0);
        };
        let superseded = self
            .connection
            .prepare_cached("SELECT count(*) FROM entries INDEXED BY entries_by_id WHERE source = ?1 AND id IN (SELECT id FROM superseded)")
            .and_then(|mut statement| statement.query_row([source], |row| row.get::<_, i64>(0)));
        self.sql(superseded)
            .map(|superseded| usize::try_from(superseded).unwrap_or_default())
    }

    /// Returns the features of entries, in the order of `numbers`.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub fn features(&self, numbers: impl IntoIterator<Item = i64>) -> Result<Vec<DocFeatures>, IndexError> {
        let sql = format!("SELECT number, source, id, terms, tag_terms, {AGE} FROM entries WHERE number = ?1");
        let mut statement = self.sql(self.connection.prepare_cached(&sql))?;
        let mut read = |number: i64| {
            statement.query_row([number], |row| {
                Ok(DocFeatures {
                    number: row.get(0)?,
                    source: row.get(1)?,
                    id: row.get(2)?,
                    terms: decode(row.get_ref(3)?.as_blob()?),
                    tag_terms: decode(row.get_ref(4)?.as_blob()?),
                    age: Age::read(row, 5)?,
                })
            })
        };
        let features = numbers.into_iter().map(&mut read).collect();
        self.sql(features)
    }
}
