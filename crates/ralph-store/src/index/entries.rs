//! Index entries as rows: conversion between notes and rows, and lookups.

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::str::FromStr;

use ralph_model::{Extra, Note, NoteId, NoteKind, NoteOrSign, Tags};
use rusqlite::{Row, params};
use xxhash_rust::xxh3::Xxh3Default;

use super::vocabulary::{EntryTerms, Vocabulary, decode, encode};
use super::{Age, Index, IndexError};

/// Columns of [`EntryRow::read`], in order.
const ITEM: &str = "id, kind, created, tags, extra, content";
/// `entries` comes first so that the rows keep the order of its index.
const ITEMS: &str = "entries CROSS JOIN texts ON entry = number";

/// Columns of [`Age::read`], in order.
pub(super) const AGE: &str = "created, second, place";

/// Where to insert an entry.
#[derive(Debug, Clone, Copy)]
pub(super) struct Spot {
    pub(super) source: i64,
    pub(super) place: i64,
}

struct EntryRow {
    id: String,
    kind: String,
    created: String,
    tags: String,
    extra: String,
    content: String,
}

impl EntryRow {
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            id: row.get(0)?,
            kind: row.get(1)?,
            created: row.get(2)?,
            tags: row.get(3)?,
            extra: row.get(4)?,
            content: row.get(5)?,
        })
    }

    /// Guardrails in the legacy format keep their lines in the column that holds the extra fields of notes.
    fn of(item: &NoteOrSign) -> Result<Self, String> {
        Ok(match item {
            NoteOrSign::Note(note) => {
                let pairs: Vec<(&str, &str)> = note.extra.iter().collect();
                Self {
                    id: note.id.to_string(),
                    kind: note.kind.word().to_owned(),
                    created: note.created.to_string(),
                    tags: note.tags.to_string(),
                    extra: if pairs.is_empty() {
                        String::new()
                    } else {
                        serde_json::to_string(&pairs).map_err(|error| error.to_string())?
                    },
                    content: note.content.clone(),
                }
            }
            NoteOrSign::Sign { id, text, lines } => Self {
                id: id.clone(),
                kind: NoteOrSign::SIGN.to_owned(),
                created: String::new(),
                tags: String::new(),
                extra: lines.clone(),
                content: text.clone(),
            },
        })
    }

    fn decode(self) -> Result<NoteOrSign, String> {
        if self.kind == NoteOrSign::SIGN {
            return Ok(NoteOrSign::Sign {
                id: self.id,
                text: self.content,
                lines: self.extra,
            });
        }
        let mut extra = Extra::default();
        if !self.extra.is_empty() {
            let pairs: Vec<(String, String)> = serde_json::from_str(&self.extra).map_err(|error| error.to_string())?;
            for (key, value) in &pairs {
                extra.set(key, value);
            }
        }
        Ok(NoteOrSign::Note(Note {
            id: NoteId::parse(&self.id, &NoteId::PREFIXES).ok_or_else(|| format!("the id {:?}", self.id))?,
            kind: NoteKind::from_str(&self.kind)?,
            content: self.content,
            tags: Tags::parse(&self.tags).map_err(|error| error.to_string())?,
            created: self.created.parse().map_err(|error: jiff::Error| error.to_string())?,
            extra,
        }))
    }

    /// Changes with every field of the entry.
    fn fingerprint(&self) -> i64 {
        let mut hasher = Xxh3Default::new();
        for part in [
            &self.id,
            &self.kind,
            &self.created,
            &self.tags,
            &self.extra,
            &self.content,
        ] {
            hasher.update(&u64::try_from(part.len()).unwrap_or_default().to_le_bytes());
            hasher.update(part.as_bytes());
        }
        hasher.digest().cast_signed()
    }
}

pub(super) fn fingerprint(item: &NoteOrSign) -> i64 {
    EntryRow::of(item).map_or(0, |row| row.fingerprint())
}

impl Index {
    /// Returns the entry with this number.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub fn item(&self, number: i64) -> Result<NoteOrSign, IndexError> {
        let sql = format!("SELECT {ITEM} FROM {ITEMS} WHERE number = ?1");
        let row = self
            .connection
            .prepare_cached(&sql)
            .and_then(|mut statement| statement.query_row([number], EntryRow::read));
        self.sql(row)?.decode().map_err(|what| self.damaged(what))
    }

    /// Returns the entries of a file with this id: at most two, and two only if the file is damaged.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub fn with_id(&self, source: &str, id: &str) -> Result<Vec<NoteOrSign>, IndexError> {
        self.items("id = ?2", source, id)
    }

    /// Returns up to two entries whose id starts with the prefix; two mean that it is ambiguous.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub fn with_id_prefix(&self, source: &str, prefix: &str) -> Result<Vec<NoteOrSign>, IndexError> {
        self.items("id >= ?2 AND id < ?2 || char(0x10ffff)", source, prefix)
    }

    /// Returns the ids of all superseded entries.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub fn superseded(&self) -> Result<HashSet<String>, IndexError> {
        let ids = self
            .connection
            .prepare_cached("SELECT id FROM superseded")
            .and_then(|mut statement| statement.query_map([], |row| row.get(0))?.collect());
        self.sql(ids)
    }

    /// Visits the entries of a file, newest first, until the visitor breaks. `kind` limits them to one kind.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub fn walk_newest(
        &self,
        source: &str,
        kind: Option<&str>,
        visit: &mut dyn FnMut(NoteOrSign, Age) -> ControlFlow<()>,
    ) -> Result<(), IndexError> {
        let Some(number) = self.source_numbers()?.remove(source) else {
            return Ok(());
        };
        let of_kind = if kind.is_some() { "kind = ?2" } else { "?2 IS NULL" };
        let sql = format!(
            "SELECT {ITEM}, {AGE} FROM {ITEMS} WHERE source = ?1 AND {of_kind}
             ORDER BY created DESC, second DESC, place DESC"
        );
        let mut statement = self.sql(self.connection.prepare_cached(&sql))?;
        let mut rows = self.sql(statement.query(params![number, kind]))?;
        while let Some(row) = self.sql(rows.next())? {
            let (item, age) = self.sql(EntryRow::read(row).and_then(|item| Ok((item, Age::read(row, 6)?))))?;
            let item = item.decode().map_err(|what| self.damaged(what))?;
            if visit(item, age).is_break() {
                break;
            }
        }
        Ok(())
    }

    fn items(&self, condition: &str, source: &str, id: &str) -> Result<Vec<NoteOrSign>, IndexError> {
        let Some(number) = self.source_numbers()?.remove(source) else {
            return Ok(Vec::new());
        };
        // Without the hint, SQLite picks an index that covers more columns and scans all of it.
        let by_id = "entries INDEXED BY entries_by_id CROSS JOIN texts ON entry = number";
        let sql = format!("SELECT {ITEM} FROM {by_id} WHERE source = ?1 AND {condition} LIMIT 2");
        let rows: rusqlite::Result<Vec<EntryRow>> = self
            .connection
            .prepare_cached(&sql)
            .and_then(|mut statement| statement.query_map(params![number, id], EntryRow::read)?.collect());
        let items = self.sql(rows)?.into_iter().map(EntryRow::decode);
        items.collect::<Result<_, _>>().map_err(|what| self.damaged(what))
    }

    pub(super) fn insert_entry(
        &self,
        vocabulary: &mut Vocabulary<'_>,
        spot: Spot,
        item: &NoteOrSign,
    ) -> Result<(), IndexError> {
        let row = EntryRow::of(item).map_err(|what| self.damaged(what))?;
        let terms = self.sql(vocabulary.add(&row.content, &row.tags))?;
        let second = item.note().map_or(0, |note| note.id.unix_second());
        let inserted = self.connection.prepare_cached(
            "INSERT INTO entries (source, id, kind, created, second, place, fingerprint, terms, tag_terms)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
        );
        let inserted = inserted.and_then(|mut statement| {
            statement.insert(params![
                spot.source,
                row.id,
                row.kind,
                row.created,
                second,
                spot.place,
                row.fingerprint(),
                encode(&terms.text),
                encode(&terms.tags),
            ])
        });
        let number = self.sql(inserted)?;
        let text = self
            .connection
            .prepare_cached("INSERT INTO texts (entry, tags, extra, content) VALUES (?1, ?2, ?3, ?4)")
            .and_then(|mut statement| statement.execute(params![number, row.tags, row.extra, row.content]));
        self.sql(text)?;
        // An entry that supersedes itself would hide itself.
        let superseded = item.note().and_then(|note| note.extra.get(Extra::SUPERSEDES));
        let superseded = superseded.filter(|old| *old != item.id());
        self.sql(self.insert_search_data(number, &terms, superseded))?;
        self.sql(self.count(spot.source, 1, terms.len()))
    }

    fn insert_search_data(&self, number: i64, terms: &EntryTerms, superseded: Option<&str>) -> rusqlite::Result<()> {
        self.connection
            .prepare_cached("INSERT INTO words (rowid, terms) VALUES (?1, ?2)")?
            .execute((number, terms.as_words()))?;
        if let Some(old) = superseded {
            self.connection
                .prepare_cached("INSERT OR IGNORE INTO superseded (id, entry) VALUES (?1, ?2)")?
                .execute((old, number))?;
        }
        Ok(())
    }

    pub(super) fn remove_entry(&self, vocabulary: &mut Vocabulary<'_>, number: i64) -> Result<(), IndexError> {
        let removed = self.remove_row(number).and_then(|(source, terms)| {
            vocabulary.remove(&terms);
            self.count(source, -1, terms.len())
        });
        self.sql(removed)
    }

    fn remove_row(&self, number: i64) -> rusqlite::Result<(i64, EntryTerms)> {
        let removed = self
            .connection
            .prepare_cached("DELETE FROM entries WHERE number = ?1 RETURNING source, terms, tag_terms")?
            .query_row([number], |row| {
                let terms = EntryTerms {
                    text: decode(row.get_ref(1)?.as_blob()?),
                    tags: decode(row.get_ref(2)?.as_blob()?),
                };
                Ok((row.get(0)?, terms))
            })?;
        for around in [
            "DELETE FROM texts WHERE entry = ?1",
            "DELETE FROM words WHERE rowid = ?1",
            "DELETE FROM superseded WHERE entry = ?1",
        ] {
            self.connection.prepare_cached(around)?.execute([number])?;
        }
        Ok(removed)
    }

    fn count(&self, source: i64, entries: i64, terms: usize) -> rusqlite::Result<()> {
        let terms = i64::try_from(terms).unwrap_or(i64::MAX).saturating_mul(entries);
        self.connection
            .prepare_cached("UPDATE totals SET entries = entries + ?1, terms = terms + ?2")?
            .execute((entries, terms))?;
        self.connection
            .prepare_cached("UPDATE sources SET entries = entries + ?2 WHERE number = ?1")?
            .execute((source, entries))?;
        Ok(())
    }
}
