//! Knowledge entries in the index: one row per file with its content or its problem, and the terms that find it.
//!
//! They are separate from memories and guardrails, so that searching those does not require them to be up to date.

use jiff::Timestamp;
use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use ralph_model::FileStamp;
use rusqlite::{OptionalExtension, params};

use super::phrase::Phrase;
use super::sources::MANY_ENTRIES;
use super::vocabulary::{Counted, EntryTerms, Vocabulary, decode, encode};
use super::{Index, IndexError};

/// State of a file in the knowledge folder when it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnowledgeFile<Name = String> {
    /// File name within the folder.
    pub name: Name,
    pub stamp: FileStamp,
    pub digest: u128,
    /// When it was read, in nanoseconds since 1970.
    pub indexed_ns: i64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KnowledgeContent {
    Note(Box<KnowledgeEntry>),
    /// Not a valid knowledge entry, for this reason.
    Problem(String),
}

/// A knowledge entry to index.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct KnowledgeEntry {
    pub title: String,
    /// Title in its normalized form.
    pub title_key: String,
    pub tags: Vec<String>,
    pub feature: Option<String>,
    /// Creation time as written in the file.
    pub created_at: Option<String>,
    /// Titles that it links to …
    pub links: Vec<String>,
    /// … and the same titles, normalized.
    pub link_keys: Vec<String>,
    pub body: String,
}

impl Index {
    /// Visits every file of the knowledge folder that was read.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub fn knowledge_files(&self, visit: &mut dyn FnMut(KnowledgeFile<&str>)) -> Result<(), IndexError> {
        let files = self
            .connection
            .prepare_cached("SELECT name, inode, size, mtime_ns, ctime_ns, indexed_ns, digest FROM knowledge_files");
        let walked = files.and_then(|mut statement| {
            let mut rows = statement.query([])?;
            while let Some(row) = rows.next()? {
                visit(KnowledgeFile {
                    name: row.get_ref(0)?.as_str()?,
                    stamp: FileStamp {
                        inode: row.get::<_, i64>(1)?.cast_unsigned(),
                        size: row.get::<_, i64>(2)?.cast_unsigned(),
                        mtime_ns: row.get(3)?,
                        ctime_ns: row.get(4)?,
                    },
                    indexed_ns: row.get(5)?,
                    digest: u128::from_le_bytes(row.get(6)?),
                });
            }
            Ok(())
        });
        self.sql(walked)
    }

    /// Returns the combined checksum of all file stamps. `None` if it is unknown or would not reveal every change.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub fn knowledge_sum(&self) -> Result<Option<u128>, IndexError> {
        let sum = self
            .connection
            .prepare_cached("SELECT knowledge_sum FROM totals")
            .and_then(|mut statement| statement.query_row([], |row| row.get::<_, Option<[u8; 16]>>(0)));
        Ok(self.sql(sum)?.map(u128::from_le_bytes))
    }

    /// Records the combined checksum of all file stamps. It is valid until one of the files changes.
    ///
    /// # Errors
    /// When the index cannot be written.
    pub fn put_knowledge_sum(&self, sum: Option<u128>) -> Result<(), IndexError> {
        let put = self
            .connection
            .prepare_cached("UPDATE totals SET knowledge_sum = ?1")
            .and_then(|mut statement| statement.execute([sum.map(u128::to_le_bytes)]));
        self.sql(put).map(drop)
    }

    /// Updates the stamp of a file whose content is unchanged.
    ///
    /// # Errors
    /// When the index cannot be written.
    pub fn touch_knowledge(&self, file: &KnowledgeFile) -> Result<(), IndexError> {
        self.put_knowledge_sum(None)?;
        let stamp = &file.stamp;
        let touched = self.connection.prepare_cached(
            "UPDATE knowledge_files SET inode = ?2, size = ?3, mtime_ns = ?4, ctime_ns = ?5, indexed_ns = ?6 WHERE name = ?1",
        );
        let touched = touched.and_then(|mut statement| {
            statement.execute(params![
                file.name,
                stamp.inode.cast_signed(),
                stamp.size.cast_signed(),
                stamp.mtime_ns,
                stamp.ctime_ns,
                file.indexed_ns,
            ])
        });
        self.sql(touched).map(drop)
    }

    /// Removes deleted files and replaces changed ones.
    ///
    /// # Errors
    /// When the index cannot be written.
    pub fn change_knowledge(
        &self,
        deleted: &[String],
        changed: impl Iterator<Item = (KnowledgeFile, KnowledgeContent)>,
    ) -> Result<(), IndexError> {
        self.put_knowledge_sum(None)?;
        let mut vocabulary = self.sql(Vocabulary::of(&self.connection, Counted::Knowledge))?;
        for name in deleted {
            self.sql(self.remove_knowledge(&mut vocabulary, name))?;
        }
        let mut inserted = 0;
        for (file, content) in changed {
            let put = self
                .remove_knowledge(&mut vocabulary, &file.name)
                .and_then(|()| self.insert_knowledge(&mut vocabulary, &file, &content));
            self.sql(put)?;
            inserted += 1;
        }
        self.sql(vocabulary.write())?;
        if inserted >= MANY_ENTRIES {
            let merge = "INSERT INTO knowledge_words (knowledge_words) VALUES ('optimize')";
            self.sql(self.connection.execute(merge, []))?;
        }
        Ok(())
    }

    fn insert_knowledge(
        &self,
        vocabulary: &mut Vocabulary<'_>,
        file: &KnowledgeFile,
        content: &KnowledgeContent,
    ) -> rusqlite::Result<()> {
        let stamp = &file.stamp;
        let (note, problem) = match content {
            KnowledgeContent::Note(note) => (Some(note), ""),
            KnowledgeContent::Problem(problem) => (None, problem.as_str()),
        };
        let number = self
            .connection
            .prepare_cached(
                "INSERT INTO knowledge_files (name, inode, size, mtime_ns, ctime_ns, indexed_ns, digest, problem)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
            )?
            .insert(params![
                file.name,
                stamp.inode.cast_signed(),
                stamp.size.cast_signed(),
                stamp.mtime_ns,
                stamp.ctime_ns,
                file.indexed_ns,
                file.digest.to_le_bytes(),
                problem,
            ])?;
        match note {
            Some(note) => self.insert_knowledge_entry(vocabulary, number, note),
            None => Ok(()),
        }
    }

    fn insert_knowledge_entry(
        &self,
        vocabulary: &mut Vocabulary<'_>,
        number: i64,
        note: &KnowledgeEntry,
    ) -> rusqlite::Result<()> {
        let (created, second) = created_day_and_second(note.created_at.as_deref());
        self.connection
            .prepare_cached(
                "INSERT INTO knowledge (number, title, title_key, tags, feature, created_at, created, second, links)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
            )?
            .execute(params![
                number,
                note.title,
                note.title_key,
                json(&note.tags),
                note.feature,
                note.created_at,
                created,
                second,
                json(&note.links),
            ])?;
        let terms = vocabulary.add(&text_of(&note.title, &note.body), &note.tags.join(", "))?;
        self.connection
            .prepare_cached("INSERT INTO knowledge_texts (note, terms, tag_terms, body) VALUES (?1, ?2, ?3, ?4)")?
            .execute(params![number, encode(&terms.text), encode(&terms.tags), note.body])?;
        self.connection
            .prepare_cached("INSERT INTO knowledge_words (rowid, terms) VALUES (?1, ?2)")?
            .execute((number, terms.as_words()))?;
        let mut insert = self
            .connection
            .prepare_cached("INSERT OR IGNORE INTO knowledge_links (target, note) VALUES (?1, ?2)")?;
        for key in &note.link_keys {
            insert.execute((key, number))?;
        }
        let mut insert = self
            .connection
            .prepare_cached("INSERT OR IGNORE INTO knowledge_tags (word, tag, note) VALUES (?1, ?2, ?3)")?;
        for tag in &note.tags {
            for word in Phrase::of(tag).iter().flat_map(Phrase::handles) {
                insert.execute((word, tag, number))?;
            }
        }
        self.count_knowledge(1, terms.len())
    }

    fn remove_knowledge(&self, vocabulary: &mut Vocabulary<'_>, name: &str) -> rusqlite::Result<()> {
        let number: Option<i64> = self
            .connection
            .prepare_cached("DELETE FROM knowledge_files WHERE name = ?1 RETURNING number")?
            .query_row([name], |row| row.get(0))
            .optional()?;
        let Some(number) = number else { return Ok(()) };
        let terms = self
            .connection
            .prepare_cached("DELETE FROM knowledge_texts WHERE note = ?1 RETURNING terms, tag_terms")?
            .query_row([number], |row| {
                Ok(EntryTerms {
                    text: decode(row.get_ref(0)?.as_blob()?),
                    tags: decode(row.get_ref(1)?.as_blob()?),
                })
            })
            .optional()?;
        let Some(terms) = terms else { return Ok(()) };
        for around in [
            "DELETE FROM knowledge WHERE number = ?1",
            "DELETE FROM knowledge_words WHERE rowid = ?1",
            "DELETE FROM knowledge_tags WHERE note = ?1",
            "DELETE FROM knowledge_links WHERE note = ?1",
        ] {
            self.connection.prepare_cached(around)?.execute([number])?;
        }
        vocabulary.remove(&terms);
        self.count_knowledge(-1, terms.len())
    }

    fn count_knowledge(&self, notes: i64, terms: usize) -> rusqlite::Result<()> {
        let terms = i64::try_from(terms).unwrap_or(i64::MAX).saturating_mul(notes);
        self.connection
            .prepare_cached("UPDATE totals SET knowledge = knowledge + ?1, knowledge_terms = knowledge_terms + ?2")?
            .execute((notes, terms))
            .map(drop)
    }
}

/// The searchable text of a knowledge entry.
pub(super) fn text_of(title: &str, body: &str) -> String {
    format!("{title}\n{body}")
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
