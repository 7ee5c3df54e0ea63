//! Search data of learnings: columns and tables that are derived from their texts.

use std::collections::{BTreeSet, HashMap, HashSet};

use ralph_model::Learning;
use rusqlite::{Connection, ErrorCode, Row, Transaction, params};

use super::super::columns::{lossy_at, to_json};
use super::super::learning_changes::words_of;
use super::super::learning_reading::AllowedTypes;
use super::super::{learning_of, tag_terms};
use super::{LearningFault, LearningFaultKind, fault_of};

/// Expected content of the derived tables.
pub(super) struct Derived<'c> {
    connection: &'c Connection,
    /// Number of learnings with each term.
    holders: HashMap<String, u64>,
    learnings: u64,
    words: u64,
}

impl<'c> Derived<'c> {
    pub(super) fn new(connection: &'c Connection) -> Self {
        Self {
            connection,
            holders: HashMap::new(),
            learnings: 0,
            words: 0,
        }
    }

    pub(super) fn fault(&self, row: &Row<'_>, learning: &Learning) -> rusqlite::Result<Option<LearningFault>> {
        let columns = Columns::of(learning)?;
        // Bytes, since damaged data may not be text.
        let differs = |column: &str, expected: &str| -> rusqlite::Result<bool> {
            Ok(row.get_ref(column)?.as_bytes_or_null()? != Some(expected.as_bytes()))
        };
        let what = if differs("lesson", &columns.learning)? {
            "its normalized words do not match its text"
        } else if differs("terms", &columns.terms)? {
            "its search terms do not match its text"
        } else if differs("tag_terms", &columns.tag_terms)? || !self.has_its_tags(row)? {
            "its search tags do not match its tags"
        } else {
            return Ok(None);
        };
        Ok(Some(fault_of(LearningFaultKind::Derived, learning, what.to_owned())))
    }

    fn has_its_tags(&self, row: &Row<'_>) -> rusqlite::Result<bool> {
        let pairs: Vec<(String, String)> =
            serde_json::from_slice(row.get_ref("tag_terms")?.as_bytes()?).unwrap_or_default();
        let expected: BTreeSet<(String, String)> = pairs.into_iter().collect();
        let mut statement = self.connection.prepare_cached(
            "SELECT word, tag, holds = (status = 'promoted' AND superseded_by IS NULL AND source IN ('sigil', 'human'))
             FROM learning_tags JOIN learnings ON seq = learning WHERE learning = ?1",
        )?;
        let mut rows = statement.query([row.get::<_, i64>("seq")?])?;
        let mut found = BTreeSet::new();
        while let Some(row) = rows.next()? {
            if !row.get::<_, bool>(2)? {
                return Ok(false);
            }
            found.insert((lossy_at(row, 0)?, lossy_at(row, 1)?));
        }
        Ok(found == expected)
    }

    /// Counts the terms of a row, whatever else is wrong with it.
    pub(super) fn count(&mut self, row: &Row<'_>) -> rusqlite::Result<()> {
        let terms = lossy_at(row, "terms")?;
        let words: Vec<&str> = terms.split(' ').filter(|word| !word.is_empty()).collect();
        self.learnings += 1;
        self.words += words.len() as u64;
        let each_once: HashSet<&str> = words.into_iter().collect();
        for word in each_once {
            *self.holders.entry(word.to_owned()).or_default() += 1;
        }
        Ok(())
    }

    /// Checks the tables with term counts.
    pub(super) fn finish(mut self) -> rusqlite::Result<Vec<LearningFault>> {
        let mut wrong = 0_usize;
        let mut statement = self
            .connection
            .prepare_cached("SELECT term, entries FROM learning_terms WHERE entries <> 0")?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let holders = self.holders.remove(&lossy_at(row, 0)?);
            wrong += usize::from(holders != Some(row.get::<_, i64>(1)?.cast_unsigned()));
        }
        wrong += self.holders.len();
        let mut faults = Vec::new();
        if wrong > 0 {
            faults.push(of_all(format!(
                "{wrong} words have wrong counts in the index of learnings"
            )));
        }
        let totals: Vec<(i64, i64)> = self
            .connection
            .prepare_cached("SELECT entries, terms FROM learning_totals")?
            .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
            .collect::<rusqlite::Result<_>>()?;
        if totals != [(self.learnings.cast_signed(), self.words.cast_signed())] {
            faults.push(of_all("the index of learnings has wrong totals".to_owned()));
        }
        Ok(faults)
    }
}

/// Checks the full-text index itself, which requires the write lock.
pub(super) fn word_index(connection: &Connection) -> rusqlite::Result<Option<LearningFault>> {
    let asked = connection.execute(
        "INSERT INTO learnings_fts (learnings_fts, rank) VALUES ('integrity-check', 1)",
        [],
    );
    match asked {
        Ok(_) => Ok(None),
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseCorrupt) => {
            let what = "the full-text index of learnings does not match their texts";
            Ok(Some(of_all(what.to_owned())))
        }
        Err(error) => Err(error),
    }
}

fn of_all(what: String) -> LearningFault {
    LearningFault {
        kind: LearningFaultKind::Derived,
        id: None,
        what,
    }
}

struct Columns {
    learning: String,
    terms: String,
    tag_terms: String,
}

impl Columns {
    fn of(learning: &Learning) -> rusqlite::Result<Self> {
        Ok(Self {
            learning: learning_of(&learning.content),
            terms: words_of(learning, &learning.tags),
            tag_terms: to_json(&tag_terms(&learning.tags))?,
        })
    }
}

pub(super) fn repair(transaction: &Transaction<'_>) -> rusqlite::Result<()> {
    let mut rows = transaction.prepare_cached("SELECT * FROM learnings ORDER BY seq")?;
    let allowed = AllowedTypes::of(transaction)?;
    let learnings: Vec<Learning> = rows
        .query_map([], |row| Ok(allowed.read(row).ok()))?
        .filter_map(Result::transpose)
        .collect::<rusqlite::Result<_>>()?;
    let mut write = transaction.prepare_cached(
        "UPDATE learnings SET lesson = ?2, terms = ?3, tag_terms = ?4
         WHERE id = ?1 AND (lesson <> ?2 OR terms <> ?3 OR tag_terms <> ?4)",
    )?;
    for learning in &learnings {
        let columns = Columns::of(learning)?;
        write.execute(params![
            learning.id.as_str(),
            columns.learning,
            columns.terms,
            columns.tag_terms
        ])?;
    }
    transaction.execute_batch(
        "INSERT INTO learnings_fts (learnings_fts) VALUES ('rebuild');
         DELETE FROM learning_terms;
         INSERT INTO learning_terms (term, entries)
             SELECT value, count(*) FROM (
                 WITH words AS (SELECT seq, '[\"' || replace(terms, ' ', '\",\"') || '\"]' AS list FROM learnings)
                 SELECT DISTINCT seq, value FROM words, json_each(iif(json_valid(list), list, '[]')) WHERE value <> '')
             GROUP BY value;
         DELETE FROM learning_totals;
         INSERT INTO learning_totals (entries, terms)
             SELECT count(*), coalesce(sum(length(terms) - length(replace(terms, ' ', '')) + (terms <> '')), 0)
             FROM learnings;
         DELETE FROM learning_tags;
         INSERT OR IGNORE INTO learning_tags (word, holds, tag, learning)
             SELECT value ->> 0, status = 'promoted' AND superseded_by IS NULL AND learnings.source IN ('sigil', 'human'),
                    value ->> 1, seq
             FROM learnings, json_each(iif(json_valid(tag_terms), tag_terms, '[]'));",
    )
}
