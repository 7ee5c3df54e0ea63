//! Asking the index about long notes: what they are called, what they say, which tags and links lead to them.

use std::collections::HashSet;

use rusqlite::{OptionalExtension, Row};

use super::knowledge::text_of;
use super::vocabulary::decode;
use super::{Age, Index, IndexError, Outline, Totals};

/// The columns that [`KnowledgeOutline::read`] reads, in its order …
const OUTLINE: &str = "name, title, tags, feature, created_at, links";
/// … and where they stand.
const NOTES: &str = "knowledge CROSS JOIN knowledge_files USING (number)";
/// Where what they say stands beside them.
const TEXTS: &str = "CROSS JOIN knowledge_texts ON note = knowledge.number";

/// The number of the folder of long notes where entries have that of their file.
pub const KNOWLEDGE_SOURCE: i64 = -1;

/// A long note without what it says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnowledgeOutline {
    /// The name of its file in the folder.
    pub file: String,
    /// Its title.
    pub title: String,
    /// Its tags, lower case, at least one.
    pub tags: Vec<String>,
    /// The feature that it is about.
    pub feature: Option<String>,
    /// When it was made, as it stands in the file.
    pub created_at: Option<String>,
    /// The titles that it links to, in the order of its text.
    pub links: Vec<String>,
}

/// What two long notes are put in order by, beside how well they fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnowledgeAge {
    /// The number of the note.
    pub number: i64,
    /// The name of its file.
    pub file: String,
    /// The second when it was made, 0 where nobody knows.
    pub second: i64,
}

impl KnowledgeOutline {
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
    /// All long notes, in the order of their files' names.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub fn knowledge_outlines(&self) -> Result<Vec<KnowledgeOutline>, IndexError> {
        let sql = format!("SELECT {OUTLINE} FROM {NOTES}");
        let outlines = self.connection.prepare_cached(&sql).and_then(|mut statement| {
            let rows = statement.query_map([], KnowledgeOutline::read)?;
            rows.collect::<rusqlite::Result<Vec<_>>>()
        });
        let mut outlines = self.sql(outlines)?;
        outlines.sort_unstable_by(|one, other| one.file.cmp(&other.file));
        Ok(outlines)
    }

    /// The long note under a number.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub fn knowledge_outline(&self, number: i64) -> Result<KnowledgeOutline, IndexError> {
        let sql = format!("SELECT {OUTLINE} FROM {NOTES} WHERE knowledge.number = ?1");
        let outline = self
            .connection
            .prepare_cached(&sql)
            .and_then(|mut statement| statement.query_row([number], KnowledgeOutline::read));
        self.sql(outline)
    }

    /// The files that are no long notes, in the order of their names, and why not.
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

    /// The long note under a number, and what it says.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub fn knowledge_note(&self, number: i64) -> Result<(KnowledgeOutline, String), IndexError> {
        let sql = format!("SELECT {OUTLINE}, body FROM {NOTES} {TEXTS} WHERE knowledge.number = ?1");
        let note = self.connection.prepare_cached(&sql).and_then(|mut statement| {
            statement.query_row([number], |row| Ok((KnowledgeOutline::read(row)?, row.get("body")?)))
        });
        self.sql(note)
    }

    /// The title and the text of the long note under a number, as they are searched.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub fn knowledge_text(&self, number: i64) -> Result<String, IndexError> {
        let (outline, body) = self.knowledge_note(number)?;
        Ok(text_of(&outline.title, &body))
    }

    /// The tags that may be found by a word, each with every long note that has it.
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

    /// The pairs of long notes that a link joins, in either direction, whose first is one of these; ascending. A link leads
    /// to every note that has its title.
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

    /// The numbers of the long notes in these files.
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

    /// What these long notes are put in order by.
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

    /// How many long notes there are, and how many terms they have together.
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

    /// The numbers of the long notes that hold a term.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub fn knowledge_with(&self, term: u32, visit: &mut dyn FnMut(i64)) -> Result<(), IndexError> {
        let sql = "SELECT rowid FROM knowledge_words WHERE knowledge_words MATCH ?1";
        self.walk_holders(sql, term, visit)
    }

    /// What ranking needs to know of a long note. Its id is the name of its file.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub fn knowledge_ranking(&self, number: i64) -> Result<Outline, IndexError> {
        let sql =
            format!("SELECT name, terms, tag_terms, created, second FROM {NOTES} {TEXTS} WHERE knowledge.number = ?1");
        let outline = self.connection.prepare_cached(&sql).and_then(|mut statement| {
            statement.query_row([number], |row| {
                Ok(Outline {
                    number,
                    source: KNOWLEDGE_SOURCE,
                    id: row.get(0)?,
                    terms: decode(row.get_ref(1)?.as_blob()?),
                    tag_terms: decode(row.get_ref(2)?.as_blob()?),
                    age: Age {
                        created: row.get(3)?,
                        second: row.get(4)?,
                        // A folder has no order but that of the names, and it says nothing of age.
                        place: 0,
                    },
                })
            })
        });
        self.sql(outline)
    }
}

/// Numbers as SQLite takes a list of them: one question for all is many times as quick as one for each.
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
