//! Changing the documents of an index.

use std::collections::{BTreeSet, HashMap};

use rusqlite::{OptionalExtension, params};

use super::docs::AGE;
use super::knowledge::KnowledgeEntry;
use super::{Age, Index, IndexError};
use crate::similarity::TextFacts;
use crate::tokenizer::{Phrase, terms_of};
use crate::{DocId, DocKind};

/// Number of new documents from which the list of documents per word is merged, which makes it faster to read.
const MANY: usize = 1_000;
/// The part of a fact's number that is its row number in the store.
const ROW_BITS: u32 = 48;

/// A document to index.
#[derive(Debug)]
pub(super) struct NewDoc<'d> {
    pub(super) id: DocId,
    pub(super) topic: &'d str,
    pub(super) age: Age,
    pub(super) fingerprint: i64,
    /// The text by which it is found …
    pub(super) text: &'d str,
    /// … and its tags.
    pub(super) tags: &'d str,
    pub(super) content: Content<'d>,
}

/// What is stored of a document besides its features.
#[derive(Debug)]
pub(super) enum Content<'d> {
    Note {
        tags: &'d str,
        extra: &'d str,
        content: &'d str,
        supersedes: Option<&'d str>,
    },
    Knowledge(&'d KnowledgeEntry),
    /// The fact store has it. A text that contains one of these tags may get it into a prompt.
    Fact {
        tags: &'d [String],
    },
}

/// A fact to index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NewFact {
    pub(crate) id: DocId,
    pub(crate) age: Age,
    pub(crate) topic: String,
    pub(crate) text: String,
    pub(crate) tags: Vec<String>,
    /// Whether a text that contains one of its tags may get it into a prompt.
    pub(crate) is_matched_by_tags: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct DocTerms {
    /// Terms of its text, in order.
    text: Vec<u32>,
    tags: Vec<u32>,
}

impl DocTerms {
    fn len(&self) -> usize {
        self.text.len() + self.tags.len()
    }

    fn distinct(&self) -> BTreeSet<u32> {
        self.text.iter().chain(&self.tags).copied().collect()
    }

    /// As text for FTS5.
    fn as_words(&self) -> String {
        let numbers: Vec<String> = self.distinct().iter().map(u32::to_string).collect();
        numbers.join(" ")
    }
}

/// Changes of totals.
#[derive(Debug, Clone, Copy, Default)]
struct Delta {
    docs: i64,
    terms: i64,
    inserted: usize,
}

/// A change of many documents. Counts are written at its end, once.
pub(crate) struct Update<'i> {
    index: &'i Index,
    numbers: HashMap<String, u32>,
    new_terms: Vec<(u32, String)>,
    next_term: u32,
    /// The number of the next document that is not a fact; those of facts are above all others.
    next_doc: i64,
    /// Change in the number of documents of a kind that contain a term.
    counts: HashMap<(DocKind, u32), i64>,
    totals: HashMap<DocKind, Delta>,
}

impl<'i> Update<'i> {
    pub(crate) fn of(index: &'i Index) -> Result<Self, IndexError> {
        let last = index.connection.query_row(
            "SELECT (SELECT max(number) FROM terms), (SELECT max(number) FROM docs WHERE number < ?1)",
            [1_i64 << ROW_BITS],
            |row| Ok((row.get::<_, Option<u32>>(0)?, row.get::<_, Option<i64>>(1)?)),
        );
        let (last_term, last_doc) = index.sql(last)?;
        Ok(Self {
            numbers: HashMap::new(),
            new_terms: Vec::new(),
            next_term: last_term.unwrap_or_default() + 1,
            next_doc: last_doc.unwrap_or_default() + 1,
            counts: HashMap::new(),
            totals: HashMap::new(),
            index,
        })
    }

    pub(crate) fn index(&self) -> &'i Index {
        self.index
    }

    /// Inserts or replaces the document of a fact.
    pub(crate) fn put_fact(&mut self, fact: &NewFact) -> Result<(), IndexError> {
        self.remove_fact(fact.id.kind, fact.age.place)?;
        let doc = NewDoc {
            id: fact.id.clone(),
            topic: &fact.topic,
            age: fact.age.clone(),
            fingerprint: 0,
            text: &fact.text,
            tags: &fact.tags.join(", "),
            content: Content::Fact {
                tags: if fact.is_matched_by_tags { &fact.tags } else { &[] },
            },
        };
        self.insert_as(fact_number(fact.id.kind, fact.age.place), &doc)
    }

    /// Removes the document of a fact, if there is one.
    pub(crate) fn remove_fact(&mut self, kind: DocKind, row: i64) -> Result<(), IndexError> {
        self.remove(fact_number(kind, row))
    }

    /// Inserts or replaces a knowledge entry.
    pub(crate) fn put_knowledge(&mut self, file: &str, entry: &KnowledgeEntry) -> Result<(), IndexError> {
        self.remove_knowledge(file)?;
        let doc = NewDoc {
            id: DocId {
                kind: DocKind::Knowledge,
                id: file.to_owned(),
            },
            topic: "",
            age: entry.age(),
            fingerprint: 0,
            text: &format!("{}\n{}", entry.title, entry.body),
            tags: &entry.tags.join(", "),
            content: Content::Knowledge(entry),
        };
        self.insert(&doc)
    }

    /// Removes the knowledge entry of a file, if there is one.
    pub(crate) fn remove_knowledge(&mut self, file: &str) -> Result<(), IndexError> {
        let found = self
            .index
            .connection
            .prepare_cached("SELECT number FROM docs WHERE kind = ?1 AND id = ?2")
            .and_then(|mut statement| {
                statement
                    .query_row(params![DocKind::Knowledge.number(), file], |row| row.get(0))
                    .optional()
            });
        match self.index.sql(found)? {
            Some(number) => self.remove(number),
            None => Ok(()),
        }
    }

    pub(super) fn insert(&mut self, doc: &NewDoc<'_>) -> Result<(), IndexError> {
        let number = self.next_doc;
        self.next_doc += 1;
        self.insert_as(number, doc)
    }

    fn insert_as(&mut self, number: i64, doc: &NewDoc<'_>) -> Result<(), IndexError> {
        let terms = DocTerms {
            text: self.numbers_of(doc.text)?,
            tags: self.numbers_of(doc.tags)?,
        };
        self.count(doc.id.kind, &terms, 1);
        let inserted = self.write(number, doc, &terms);
        self.index.sql(inserted)
    }

    /// Removes a document, if it exists.
    pub(super) fn remove(&mut self, number: i64) -> Result<(), IndexError> {
        let removed = self.delete(number);
        if let Some((kind, terms)) = self.index.sql(removed)? {
            self.count(kind, &terms, -1);
        }
        Ok(())
    }

    /// Removes all documents of a kind.
    pub(crate) fn remove_all(&mut self, kind: DocKind) -> Result<(), IndexError> {
        let numbers: rusqlite::Result<Vec<i64>> = self
            .index
            .connection
            .prepare_cached("SELECT number FROM docs WHERE kind = ?1")
            .and_then(|mut statement| statement.query_map([kind.number()], |row| row.get(0))?.collect());
        for number in self.index.sql(numbers)? {
            self.remove(number)?;
        }
        Ok(())
    }

    /// Writes the counts.
    pub(crate) fn finish(self) -> Result<(), IndexError> {
        self.index.sql(self.write_counts())
    }

    fn write(&self, number: i64, doc: &NewDoc<'_>, terms: &DocTerms) -> rusqlite::Result<()> {
        let connection = &self.index.connection;
        let kind = doc.id.kind;
        connection
            .prepare_cached(&format!(
                "INSERT INTO docs (number, kind, id, topic, {AGE}, fingerprint, facts, terms, tag_terms)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)"
            ))?
            .execute(params![
                number,
                kind.number(),
                doc.id.id,
                doc.topic,
                doc.age.created,
                doc.age.second,
                doc.age.place,
                doc.fingerprint,
                TextFacts::of(doc.text).digest().cast_signed(),
                encode(&terms.text),
                encode(&terms.tags),
            ])?;
        connection
            .prepare_cached(insert_words(kind))?
            .execute((number, terms.as_words()))?;
        match &doc.content {
            Content::Note {
                tags,
                extra,
                content,
                supersedes,
            } => {
                self.write_text(number, tags, extra, content)?;
                if let Some(old) = supersedes {
                    connection
                        .prepare_cached("INSERT OR IGNORE INTO superseded (id, doc) VALUES (?1, ?2)")?
                        .execute((old, number))?;
                }
            }
            Content::Knowledge(entry) => {
                self.write_text(number, "", "", &entry.body)?;
                entry.write(connection, number)?;
                self.write_tags(kind, number, &entry.tags)?;
            }
            Content::Fact { tags } => self.write_tags(kind, number, tags)?,
        }
        Ok(())
    }

    fn write_text(&self, number: i64, tags: &str, extra: &str, content: &str) -> rusqlite::Result<()> {
        self.index
            .connection
            .prepare_cached("INSERT INTO texts (doc, tags, extra, content) VALUES (?1, ?2, ?3, ?4)")?
            .execute(params![number, tags, extra, content])
            .map(drop)
    }

    fn write_tags(&self, kind: DocKind, number: i64, tags: &[String]) -> rusqlite::Result<()> {
        let mut insert = self
            .index
            .connection
            .prepare_cached("INSERT OR IGNORE INTO tags (kind, word, doc, tag) VALUES (?1, ?2, ?3, ?4)")?;
        for tag in tags {
            for word in Phrase::of(tag).iter().flat_map(Phrase::handles) {
                insert.execute(params![kind.number(), word, number, tag])?;
            }
        }
        Ok(())
    }

    fn delete(&self, number: i64) -> rusqlite::Result<Option<(DocKind, DocTerms)>> {
        let connection = &self.index.connection;
        let deleted = connection
            .prepare_cached("DELETE FROM docs WHERE number = ?1 RETURNING kind, terms, tag_terms")?
            .query_row([number], |row| {
                let kind: i64 = row.get(0)?;
                let terms = DocTerms {
                    text: decode(row.get_ref(1)?.as_blob()?),
                    tags: decode(row.get_ref(2)?.as_blob()?),
                };
                Ok((kind, terms))
            })
            .optional()?;
        let Some((kind, terms)) = deleted else {
            return Ok(None);
        };
        let kind = DocKind::numbered(kind).ok_or(rusqlite::Error::IntegralValueOutOfRange(0, kind))?;
        connection.prepare_cached(delete_words(kind))?.execute([number])?;
        let around: &[&str] = match kind {
            DocKind::Memory | DocKind::Guardrail => &[
                "DELETE FROM texts WHERE doc = ?1",
                "DELETE FROM superseded WHERE doc = ?1",
            ],
            DocKind::Knowledge => &[
                "DELETE FROM texts WHERE doc = ?1",
                "DELETE FROM knowledge WHERE doc = ?1",
                "DELETE FROM links WHERE doc = ?1",
                "DELETE FROM tags WHERE doc = ?1",
            ],
            DocKind::Learning => &["DELETE FROM tags WHERE doc = ?1"],
            DocKind::Journal => &[],
        };
        for statement in around {
            connection.prepare_cached(statement)?.execute([number])?;
        }
        Ok(Some((kind, terms)))
    }

    fn count(&mut self, kind: DocKind, terms: &DocTerms, by: i64) {
        for term in terms.distinct() {
            *self.counts.entry((kind, term)).or_default() += by;
        }
        let totals = self.totals.entry(kind).or_default();
        totals.docs += by;
        totals.terms += i64::try_from(terms.len()).unwrap_or(i64::MAX).saturating_mul(by);
        totals.inserted += usize::from(by > 0);
    }

    fn write_counts(&self) -> rusqlite::Result<()> {
        let connection = &self.index.connection;
        let mut insert = connection.prepare_cached("INSERT INTO terms (number, term) VALUES (?1, ?2)")?;
        for (number, term) in &self.new_terms {
            insert.execute((number, term))?;
        }
        for kind in DocKind::ALL {
            let column = kind.column();
            let mut count =
                connection.prepare_cached(&format!("UPDATE terms SET {column} = {column} + ?2 WHERE number = ?1"))?;
            let changed = self.counts.iter().filter(|((of, _), more)| *of == kind && **more != 0);
            for ((_, term), more) in changed {
                count.execute((term, more))?;
            }
        }
        for (kind, Delta { docs, terms, inserted }) in &self.totals {
            connection
                .prepare_cached("UPDATE kinds SET docs = docs + ?2, terms = terms + ?3 WHERE kind = ?1")?
                .execute((kind.number(), docs, terms))?;
            if *inserted >= MANY {
                let table = format!("words_{}", kind.column());
                connection.execute(&format!("INSERT INTO {table} ({table}) VALUES ('optimize')"), [])?;
            }
        }
        Ok(())
    }

    fn numbers_of(&mut self, text: &str) -> Result<Vec<u32>, IndexError> {
        let numbers: rusqlite::Result<Vec<u32>> = terms_of(text).into_iter().map(|term| self.number_of(term)).collect();
        self.index.sql(numbers)
    }

    fn number_of(&mut self, term: String) -> rusqlite::Result<u32> {
        if let Some(number) = self.numbers.get(&term) {
            return Ok(*number);
        }
        let known = self
            .index
            .connection
            .prepare_cached("SELECT number FROM terms WHERE term = ?1")?
            .query_row([&term], |row| row.get(0))
            .optional()?;
        let number = known.unwrap_or_else(|| {
            let number = self.next_term;
            self.next_term += 1;
            self.new_terms.push((number, term.clone()));
            number
        });
        self.numbers.insert(term, number);
        Ok(number)
    }
}

/// The number of a fact's document. It does not depend on when the fact was indexed.
#[must_use]
pub fn fact_number(kind: DocKind, row: i64) -> i64 {
    (kind.number() << ROW_BITS) | row
}

/// Inverse of [`fact_number`].
#[must_use]
pub fn row_of_fact(number: i64) -> i64 {
    number & ((1 << ROW_BITS) - 1)
}

fn insert_words(kind: DocKind) -> &'static str {
    match kind {
        DocKind::Memory => "INSERT INTO words_memory (rowid, terms) VALUES (?1, ?2)",
        DocKind::Guardrail => "INSERT INTO words_guardrail (rowid, terms) VALUES (?1, ?2)",
        DocKind::Knowledge => "INSERT INTO words_knowledge (rowid, terms) VALUES (?1, ?2)",
        DocKind::Learning => "INSERT INTO words_learning (rowid, terms) VALUES (?1, ?2)",
        DocKind::Journal => "INSERT INTO words_journal (rowid, terms) VALUES (?1, ?2)",
    }
}

fn delete_words(kind: DocKind) -> &'static str {
    match kind {
        DocKind::Memory => "DELETE FROM words_memory WHERE rowid = ?1",
        DocKind::Guardrail => "DELETE FROM words_guardrail WHERE rowid = ?1",
        DocKind::Knowledge => "DELETE FROM words_knowledge WHERE rowid = ?1",
        DocKind::Learning => "DELETE FROM words_learning WHERE rowid = ?1",
        DocKind::Journal => "DELETE FROM words_journal WHERE rowid = ?1",
    }
}

/// Variable-length encoding with seven bits per byte; common terms were numbered first and stay short.
fn encode(numbers: &[u32]) -> Vec<u8> {
    let low_bits = |number: u32| u8::try_from(number & 0x7f).unwrap_or_default();
    let mut bytes = Vec::with_capacity(numbers.len() * 2);
    for number in numbers {
        let mut rest = *number;
        while rest >= 0x80 {
            bytes.push(low_bits(rest) | 0x80);
            rest >>= 7;
        }
        bytes.push(low_bits(rest));
    }
    bytes
}

/// Inverse of [`encode`].
pub(super) fn decode(bytes: &[u8]) -> Vec<u32> {
    let mut numbers = Vec::with_capacity(bytes.len());
    let mut number = 0_u32;
    let mut shift = 0;
    for byte in bytes {
        number |= u32::from(byte & 0x7f).checked_shl(shift).unwrap_or_default();
        shift += 7;
        if byte & 0x80 == 0 {
            numbers.push(number);
            number = 0;
            shift = 0;
        }
    }
    numbers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_round_trip() {
        let numbers = [0, 1, 127, 128, 16_383, 16_384, u32::MAX];
        assert_eq!(decode(&encode(&numbers)), numbers);
        assert_eq!(encode(&[5, 300]).len(), 3);
    }
}
