//! Queries for knowledge entries: titles, texts, tags and links.

use std::collections::HashSet;

use rusqlite::{OptionalExtension, Row};

use super::knowledge::text_of;
use super::vocabulary::decode;
use super::{Age, DocFeatures, Index, IndexError, Totals};

/// Columns of [`KnowledgeMetadata::read`], in order.
const METADATA: &str = "name, title, tags, feature, created_at, links";
const NOTES: &str = "knowledge CROSS JOIN knowledge_files USING (number)";
const TEXTS: &str = "CROSS JOIN knowledge_texts ON note = knowledge.number";

/// Source number of knowledge entries, in place of the number of a file.
pub const KNOWLEDGE_SOURCE: i64 = -1;

/// A knowledge entry without its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnowledgeMetadata {
    pub file: String,
    pub title: String,
    /// Lowercase tags, at least one.
    pub tags: Vec<String>,
    pub feature: Option<String>,
    /// Creation time as written in the file.
    pub created_at: Option<String>,
    /// Titles that it links to, in text order.
    pub links: Vec<String>,
}

/// Tie breaker when knowledge entries have the same score.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnowledgeAge {
    pub number: i64,
    pub file: String,
    /// Second of creation; 0 if unknown.
    pub second: i64,
}

impl KnowledgeMetadata {
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            file: row.get(0)?,
            title: row.get(1)?,
            tags: list(row, 2)?,
            feature: row.get(3)?,
            created_at: row.get(4)?,
            links: list(row, 5)?,
        })
    }
}

impl Index {
    /// Returns all knowledge entries, ordered by file name.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub fn all_knowledge_metadata(&self) -> Result<Vec<KnowledgeMetadata>, IndexError> {
        let sql = format!("SELECT {METADATA} FROM {NOTES}");
        let outlines = self.connection.prepare_cached(&sql).and_then(|mut statement| {
            let rows = statement.query_map([], KnowledgeMetadata::read)?;
            rows.collect::<rusqlite::Result<Vec<_>>>()
        });
        let mut outlines = self.sql(outlines)?;
        outlines.sort_unstable_by(|one, other| one.file.cmp(&other.file));
        Ok(outlines)
    }

    /// Returns the knowledge entry with this number.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub fn knowledge_metadata(&self, number: i64) -> Result<KnowledgeMetadata, IndexError> {
        let sql = format!("SELECT {METADATA} FROM {NOTES} WHERE knowledge.number = ?1");
        let outline = self
            .connection
            .prepare_cached(&sql)
            .and_then(|mut statement| statement.query_row([number], KnowledgeMetadata::read));
        self.sql(outline)
    }

    /// Returns the files that are not valid knowledge entries with the reasons, ordered by name.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub fn knowledge_problems(&self) -> Result<Vec<(String, String)>, IndexError> {
        let problems = self
            .connection
            .prepare_cached("SELECT name, problem FROM knowledge_files WHERE problem <> '' ORDER BY name")
            .and_then(|mut statement| statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect());
        self.sql(problems)
    }

    /// Returns the knowledge entry with this number and its text.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub fn knowledge_note(&self, number: i64) -> Result<(KnowledgeMetadata, String), IndexError> {
        let sql = format!("SELECT {METADATA}, body FROM {NOTES} {TEXTS} WHERE knowledge.number = ?1");
        let note = self.connection.prepare_cached(&sql).and_then(|mut statement| {
            statement.query_row([number], |row| Ok((KnowledgeMetadata::read(row)?, row.get("body")?)))
        });
        self.sql(note)
    }

    /// Returns title and text as they are searched.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub fn knowledge_text(&self, number: i64) -> Result<String, IndexError> {
        let (outline, body) = self.knowledge_note(number)?;
        Ok(text_of(&outline.title, &body))
    }

    /// Visits the tags that a word may match, with the number of every entry that has the tag.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub fn knowledge_tags(&self, word: &str, visit: &mut dyn FnMut(&str, i64)) -> Result<(), IndexError> {
        let walked = self
            .connection
            .prepare_cached("SELECT tag, note FROM knowledge_tags WHERE word = ?1")
            .and_then(|mut statement| {
                let mut rows = statement.query([word])?;
                while let Some(row) = rows.next()? {
                    visit(row.get_ref(0)?.as_str()?, row.get(1)?);
                }
                Ok(())
            });
        self.sql(walked)
    }

    /// Returns pairs of linked entries, in either direction, whose first member is one of `numbers`; ascending. A link
    /// leads to every entry with that title.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub fn knowledge_pairs(&self, numbers: impl Iterator<Item = i64>) -> Result<Vec<(i64, i64)>, IndexError> {
        let sql = "SELECT note, there.number FROM json_each(?1) AS these
                   CROSS JOIN knowledge_links ON note = these.value
                   CROSS JOIN knowledge AS there ON there.title_key = target
                   UNION ALL
                   SELECT here.number, note FROM json_each(?1) AS these
                   CROSS JOIN knowledge AS here ON here.number = these.value
                   CROSS JOIN knowledge_links ON target = here.title_key";
        let found = self.connection.prepare_cached(sql).and_then(|mut statement| {
            let rows = statement.query_map([list_of(numbers)], |row| Ok((row.get(0)?, row.get(1)?)))?;
            rows.collect::<rusqlite::Result<Vec<(i64, i64)>>>()
        });
        let mut pairs = self.sql(found)?;
        pairs.retain(|(from, to)| from != to);
        pairs.sort_unstable();
        pairs.dedup();
        Ok(pairs)
    }

    /// Returns the numbers of the knowledge entries in these files.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub fn knowledge_numbers<'n>(&self, files: impl Iterator<Item = &'n str>) -> Result<HashSet<i64>, IndexError> {
        let mut numbers = HashSet::new();
        let walked = self
            .connection
            .prepare_cached("SELECT number FROM knowledge_files WHERE name = ?1")
            .and_then(|mut statement| {
                for file in files {
                    numbers.extend(statement.query_row([file], |row| row.get::<_, i64>(0)).optional()?);
                }
                Ok(numbers)
            });
        self.sql(walked)
    }

    ///
    /// # Errors
    /// When the index cannot be read.
    pub fn knowledge_ages(&self, numbers: impl Iterator<Item = i64>) -> Result<Vec<KnowledgeAge>, IndexError> {
        let sql = "SELECT number, name, second FROM json_each(?1) AS these
                   CROSS JOIN knowledge ON knowledge.number = these.value
                   CROSS JOIN knowledge_files USING (number)";
        let ages = self.connection.prepare_cached(sql).and_then(|mut statement| {
            let rows = statement.query_map([list_of(numbers)], |row| {
                Ok(KnowledgeAge {
                    number: row.get(0)?,
                    file: row.get(1)?,
                    second: row.get(2)?,
                })
            })?;
            rows.collect::<rusqlite::Result<Vec<_>>>()
        });
        self.sql(ages)
    }

    /// Returns the number of knowledge entries and of their terms.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub fn knowledge_totals(&self) -> Result<Totals, IndexError> {
        let totals = self
            .connection
            .query_row("SELECT knowledge, knowledge_terms FROM totals", [], |row| {
                Ok(Totals {
                    entries: row.get::<_, i64>(0)?.cast_unsigned(),
                    terms: row.get::<_, i64>(1)?.cast_unsigned(),
                })
            });
        self.sql(totals)
    }

    /// Visits the numbers of the knowledge entries that contain a term.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub fn knowledge_with(&self, term: u32, visit: &mut dyn FnMut(i64)) -> Result<(), IndexError> {
        let sql = "SELECT rowid FROM knowledge_words WHERE knowledge_words MATCH ?1";
        self.walk_holders(sql, term, visit)
    }

    /// Returns the features used for ranking a knowledge entry. Its id is its file name.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub fn knowledge_ranking(&self, number: i64) -> Result<DocFeatures, IndexError> {
        let sql =
            format!("SELECT name, terms, tag_terms, created, second FROM {NOTES} {TEXTS} WHERE knowledge.number = ?1");
        let outline = self.connection.prepare_cached(&sql).and_then(|mut statement| {
            statement.query_row([number], |row| {
                Ok(DocFeatures {
                    number,
                    source: KNOWLEDGE_SOURCE,
                    id: row.get(0)?,
                    terms: decode(row.get_ref(1)?.as_blob()?),
                    tag_terms: decode(row.get_ref(2)?.as_blob()?),
                    age: Age {
                        created: row.get(3)?,
                        second: row.get(4)?,
                        // The folder has no order except by name, which says nothing about age.
                        place: 0,
                    },
                })
            })
        });
        self.sql(outline)
    }
}

/// A list for SQLite; one query for all numbers is many times faster than one per number.
fn list_of(numbers: impl Iterator<Item = i64>) -> String {
    let numbers: Vec<String> = numbers.map(|number| number.to_string()).collect();
    format!("[{}]", numbers.join(","))
}

fn list(row: &Row<'_>, column: usize) -> rusqlite::Result<Vec<String>> {
    let text = row.get_ref(column)?.as_str()?;
    serde_json::from_str(text).map_err(|error| {
        rusqlite::Error::FromSqlConversionFailure(column, rusqlite::types::Type::Text, Box::new(error))
    })
}
