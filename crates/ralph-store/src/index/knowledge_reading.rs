//! Asking the index about long notes: what they are called, what they say, which tags and links lead to them.

use rusqlite::Row;

use super::knowledge::text_of;
use super::vocabulary::decode;
use super::{Age, Index, IndexError, Outline, Totals};

/// The columns that [`KnowledgeOutline::read`] reads, in its order …
const OUTLINE: &str = "name, title, tags, feature, created_at, links";
/// … and where they stand.
const NOTES: &str = "knowledge CROSS JOIN knowledge_files USING (number)";

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

    /// What the long note under a number says.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub fn knowledge_body_of(&self, number: i64) -> Result<String, IndexError> {
        let body = self
            .connection
            .prepare_cached("SELECT body FROM knowledge_texts WHERE note = ?1")
            .and_then(|mut statement| statement.query_row([number], |row| row.get(0)));
        self.sql(body)
    }

    /// The title and the text of the long note under a number, as they are searched.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub fn knowledge_text(&self, number: i64) -> Result<String, IndexError> {
        let outline = self.knowledge_outline(number)?;
        Ok(text_of(&outline.title, &self.knowledge_body_of(number)?))
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

    /// The long notes that a link leads to from this one, or from which one leads here, ascending. A link leads to every
    /// note that has its title.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub fn knowledge_neighbours(&self, number: i64) -> Result<Vec<i64>, IndexError> {
        let sql = "SELECT there.number FROM knowledge_links JOIN knowledge AS there ON there.title_key = target
                   WHERE note = ?1
                   UNION ALL
                   SELECT note FROM knowledge AS here JOIN knowledge_links ON target = here.title_key
                   WHERE here.number = ?1";
        let found = self.connection.prepare_cached(sql).and_then(|mut statement| {
            let rows = statement.query_map([number], |row| row.get(0))?;
            rows.collect::<rusqlite::Result<Vec<i64>>>()
        });
        let mut neighbours = self.sql(found)?;
        neighbours.retain(|neighbour| *neighbour != number);
        neighbours.sort_unstable();
        neighbours.dedup();
        Ok(neighbours)
    }

    /// What a long note is put in order by.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub fn knowledge_age(&self, number: i64) -> Result<KnowledgeAge, IndexError> {
        let sql = format!("SELECT name, second FROM {NOTES} WHERE knowledge.number = ?1");
        let age = self.connection.prepare_cached(&sql).and_then(|mut statement| {
            statement.query_row([number], |row| {
                Ok(KnowledgeAge {
                    number,
                    file: row.get(0)?,
                    second: row.get(1)?,
                })
            })
        });
        self.sql(age)
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
        let walked = self
            .connection
            .prepare_cached("SELECT rowid FROM knowledge_words WHERE knowledge_words MATCH ?1")
            .and_then(|mut statement| {
                let mut rows = statement.query([format!("\"{term}\"")])?;
                while let Some(row) = rows.next()? {
                    visit(row.get(0)?);
                }
                Ok(())
            });
        self.sql(walked)
    }

    /// What ranking needs to know of a long note. Its id is the name of its file.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub fn knowledge_ranking(&self, number: i64) -> Result<Outline, IndexError> {
        let sql = format!(
            "SELECT name, terms, tag_terms, created, second FROM {NOTES} CROSS JOIN knowledge_texts ON note = knowledge.number
             WHERE knowledge.number = ?1"
        );
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

fn list(row: &Row<'_>, column: usize) -> rusqlite::Result<Vec<String>> {
    let text = row.get_ref(column)?.as_str()?;
    serde_json::from_str(text).map_err(|error| {
        rusqlite::Error::FromSqlConversionFailure(column, rusqlite::types::Type::Text, Box::new(error))
    })
}
