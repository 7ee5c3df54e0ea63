//! Knowledge entries: their frontmatter and links.

use jiff::Timestamp;
use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use rusqlite::{Connection, Row, params};

use super::{Age, Index, IndexError};

/// Columns of [`KnowledgeMetadata::read`], in order.
const METADATA: &str = "id, title, knowledge.tags, feature, created_at, links";
const ENTRIES: &str = "knowledge CROSS JOIN docs ON docs.number = doc";

/// A knowledge entry to index.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct KnowledgeEntry {
    pub(crate) title: String,
    /// Title in the form in which titles are compared.
    pub(crate) title_key: String,
    pub(crate) tags: Vec<String>,
    pub(crate) feature: Option<String>,
    /// Creation time as written in the file.
    pub(crate) created_at: Option<String>,
    /// Titles that it links to …
    pub(crate) links: Vec<String>,
    /// … and the same titles, in the form in which they are compared.
    pub(crate) link_keys: Vec<String>,
    pub(crate) body: String,
}

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

impl KnowledgeEntry {
    /// Creation day and second, if the file has a readable time. The folder has no order except by name, which says
    /// nothing about age.
    pub(super) fn age(&self) -> Age {
        let (created, second) = created_day_and_second(self.created_at.as_deref());
        Age {
            created,
            second,
            place: 0,
        }
    }

    pub(super) fn write(&self, connection: &Connection, number: i64) -> rusqlite::Result<()> {
        connection
            .prepare_cached(
                "INSERT INTO knowledge (doc, title, title_key, tags, feature, created_at, links)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            )?
            .execute(params![
                number,
                self.title,
                self.title_key,
                json(&self.tags),
                self.feature,
                self.created_at,
                json(&self.links),
            ])?;
        let mut insert = connection.prepare_cached("INSERT OR IGNORE INTO links (target, doc) VALUES (?1, ?2)")?;
        for key in &self.link_keys {
            insert.execute((key, number))?;
        }
        Ok(())
    }
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
    pub fn all_knowledge(&self) -> Result<Vec<KnowledgeMetadata>, IndexError> {
        let sql = format!("SELECT {METADATA} FROM {ENTRIES}");
        let found = self.connection.prepare_cached(&sql).and_then(|mut statement| {
            let rows = statement.query_map([], KnowledgeMetadata::read)?;
            rows.collect::<rusqlite::Result<Vec<_>>>()
        });
        let mut found = self.sql(found)?;
        found.sort_unstable_by(|one, other| one.file.cmp(&other.file));
        Ok(found)
    }

    /// Returns the knowledge entry with this number.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub fn knowledge_metadata(&self, number: i64) -> Result<KnowledgeMetadata, IndexError> {
        let sql = format!("SELECT {METADATA} FROM {ENTRIES} WHERE doc = ?1");
        let found = self
            .connection
            .prepare_cached(&sql)
            .and_then(|mut statement| statement.query_row([number], KnowledgeMetadata::read));
        self.sql(found)
    }

    /// Returns the knowledge entry with this number and its text.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub fn knowledge_entry(&self, number: i64) -> Result<(KnowledgeMetadata, String), IndexError> {
        let body = self
            .connection
            .prepare_cached("SELECT content FROM texts WHERE doc = ?1")
            .and_then(|mut statement| statement.query_row([number], |row| row.get(0)));
        Ok((self.knowledge_metadata(number)?, self.sql(body)?))
    }

    /// Returns pairs of linked entries, in either direction, whose first member is one of `numbers`; ascending. A link
    /// leads to every entry with that title. Superseded entries are left out.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub fn linked_knowledge(&self, numbers: impl Iterator<Item = i64>) -> Result<Vec<(i64, i64)>, IndexError> {
        let sql = "SELECT here, there FROM (
                       SELECT links.doc AS here, target.doc AS there FROM json_each(?1) AS these
                       CROSS JOIN links ON links.doc = these.value
                       CROSS JOIN knowledge AS target ON target.title_key = links.target
                       UNION
                       SELECT source.doc, links.doc FROM json_each(?1) AS these
                       CROSS JOIN knowledge AS source ON source.doc = these.value
                       CROSS JOIN links ON links.target = source.title_key)
                   WHERE here <> there
                         AND NOT EXISTS (SELECT 1 FROM superseded WHERE id = (SELECT id FROM docs WHERE number = there))";
        let found = self.connection.prepare_cached(sql).and_then(|mut statement| {
            let rows = statement.query_map([list_of(numbers)], |row| Ok((row.get(0)?, row.get(1)?)))?;
            rows.collect::<rusqlite::Result<Vec<(i64, i64)>>>()
        });
        let mut pairs = self.sql(found)?;
        pairs.sort_unstable();
        Ok(pairs)
    }

    /// Returns those of the knowledge entries that are not superseded, with their ages.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub fn knowledge_ages(&self, numbers: impl Iterator<Item = i64>) -> Result<Vec<KnowledgeAge>, IndexError> {
        let sql = "SELECT docs.number, docs.id, docs.second FROM json_each(?1) AS these CROSS JOIN docs ON number = these.value
                   WHERE NOT EXISTS (SELECT 1 FROM superseded WHERE superseded.id = docs.id)";
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
}

/// Creation day and second, if the file has a readable time.
fn created_day_and_second(created_at: Option<&str>) -> (String, i64) {
    let Some(text) = created_at.map(str::trim) else {
        return (String::new(), 0);
    };
    let of_day = || text.parse::<Date>().ok().map(DateTime::from);
    let local = || text.parse::<DateTime>().ok().or_else(of_day);
    let in_utc = || local()?.to_zoned(TimeZone::UTC).ok().map(|zoned| zoned.timestamp());
    let at: Option<Timestamp> = text.parse().ok().or_else(in_utc);
    at.map_or((String::new(), 0), |at| {
        let day = at.to_zoned(TimeZone::UTC).date().to_string();
        (day, at.as_second())
    })
}

fn json(list: &[String]) -> String {
    // A list of strings always serializes.
    serde_json::to_string(list).unwrap_or_default()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn created_time_is_parsed_in_every_format() {
        for (text, day, second) in [
            ("2026-02-17T12:00:00Z", "2026-02-17", 1_771_329_600),
            ("2026-02-17T23:00:00-05:00", "2026-02-18", 1_771_387_200),
            ("2026-02-17 12:00:00", "2026-02-17", 1_771_329_600),
            ("2026-02-17", "2026-02-17", 1_771_286_400),
            ("yesterday", "", 0),
            ("", "", 0),
        ] {
            assert_eq!(created_day_and_second(Some(text)), (day.to_owned(), second), "{text}");
        }
        assert_eq!(created_day_and_second(None), (String::new(), 0));
    }
}
