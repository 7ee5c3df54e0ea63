//! Memories and guardrails: rows from and to notes, updates of a file's entries, and lists.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::str::FromStr;

use ralph_model::{Extra, Note, NoteId, NoteKind, NoteOrSign, Tags};
use rusqlite::{Row, params};
use xxhash_rust::xxh3::Xxh3Default;

use super::docs::AGE;
use super::update::{Content, NewDoc, Update};
use super::{Age, Index, IndexError, places};
use crate::{DocId, DocKind};

/// Columns of [`NoteRow::read`], in order.
const NOTE: &str = "id, topic, created, tags, extra, content";
/// `docs` comes first so that the rows keep the order of its index.
const NOTES: &str = "docs CROSS JOIN texts ON doc = number";

/// A change of one entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    Added {
        note: Note,
        between: Neighbours,
    },
    /// It has other content in the same position.
    Edited(Note),
    Removed(String),
}

/// Ids of the entries directly before and after a position; `None` at the ends of a file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Neighbours {
    pub before: Option<String>,
    pub after: Option<String>,
}

struct NoteRow {
    id: String,
    kind: String,
    created: String,
    tags: String,
    extra: String,
    content: String,
}

impl NoteRow {
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
    fn of(item: &NoteOrSign) -> Self {
        match item {
            NoteOrSign::Note(note) => {
                let pairs: Vec<(&str, &str)> = note.extra.iter().collect();
                Self {
                    id: note.id.to_string(),
                    kind: note.kind.word().to_owned(),
                    created: note.created.to_string(),
                    tags: note.tags.to_string(),
                    // Pairs of strings always serialize.
                    extra: if pairs.is_empty() {
                        String::new()
                    } else {
                        serde_json::to_string(&pairs).unwrap_or_default()
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
        }
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

/// An entry that is already in the index.
struct IndexedNote {
    number: i64,
    fingerprint: i64,
    place: i64,
}

/// An entry of the new file content, already indexed or new.
enum Slot {
    Indexed(IndexedNote),
    New(NoteOrSign),
}

impl Slot {
    fn place(&self) -> Option<i64> {
        match self {
            Self::Indexed(note) => Some(note.place),
            Self::New(_) => None,
        }
    }
}

impl Update<'_> {
    /// Replaces the notes of a file. Notes that did not change keep their rows.
    pub(crate) fn replace_notes(
        &mut self,
        kind: DocKind,
        items: impl Iterator<Item = NoteOrSign>,
    ) -> Result<(), IndexError> {
        let mut indexed = self.index().indexed_notes(kind)?;
        let mut sequence: Vec<Slot> = Vec::new();
        for item in items {
            let same = indexed.get_mut(item.id()).and_then(|same_id| {
                let wanted = NoteRow::of(&item).fingerprint();
                let at = same_id.iter().position(|note| note.fingerprint == wanted)?;
                Some(same_id.remove(at))
            });
            sequence.push(same.map_or_else(|| Slot::New(item), Slot::Indexed));
        }
        for removed in indexed.into_values().flatten() {
            self.remove(removed.number)?;
        }
        let old_places: Vec<Option<i64>> = sequence.iter().map(Slot::place).collect();
        for (slot, place) in sequence.into_iter().zip(places::arrange(&old_places)) {
            match slot {
                Slot::New(item) => self.insert_note(kind, place, &item)?,
                Slot::Indexed(note) if note.place != place => self.index().move_note(note.number, place)?,
                Slot::Indexed(_) => {}
            }
        }
        Ok(())
    }

    /// Applies changes of single notes. Returns `false` if one is ambiguous or there is no position left between two;
    /// then the whole file has to be read.
    pub(crate) fn follow(&mut self, kind: DocKind, changes: &[Change]) -> Result<bool, IndexError> {
        for change in changes {
            let followed = match change {
                Change::Added { note, between } => match self.index().place_between(kind, between)? {
                    None => false,
                    Some(place) => {
                        self.insert_note(kind, place, &NoteOrSign::Note(note.clone()))?;
                        true
                    }
                },
                Change::Edited(note) => match self.index().unique_note(kind, note.id.as_str())? {
                    None => false,
                    Some(IndexedNote { number, place, .. }) => {
                        self.remove(number)?;
                        self.insert_note(kind, place, &NoteOrSign::Note(note.clone()))?;
                        true
                    }
                },
                Change::Removed(id) => match self.index().unique_note(kind, id)? {
                    None => false,
                    Some(note) => {
                        self.remove(note.number)?;
                        true
                    }
                },
            };
            if !followed {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn insert_note(&mut self, kind: DocKind, place: i64, item: &NoteOrSign) -> Result<(), IndexError> {
        let row = NoteRow::of(item);
        // An entry that supersedes itself would hide itself.
        let supersedes = item.note().and_then(|note| note.extra.get(Extra::SUPERSEDES));
        let doc = NewDoc {
            id: DocId {
                kind,
                id: row.id.clone(),
            },
            topic: &row.kind,
            age: Age {
                created: row.created.clone(),
                second: item.note().map_or(0, |note| note.id.unix_second()),
                place,
            },
            fingerprint: row.fingerprint(),
            text: &row.content,
            tags: &row.tags,
            content: Content::Note {
                tags: &row.tags,
                extra: &row.extra,
                content: &row.content,
                supersedes: supersedes.filter(|old| *old != item.id()),
            },
        };
        self.insert(&doc)
    }
}

impl Index {
    /// Returns the note with this number.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub fn note(&self, number: i64) -> Result<NoteOrSign, IndexError> {
        let sql = format!("SELECT {NOTE} FROM {NOTES} WHERE number = ?1");
        let row = self
            .connection
            .prepare_cached(&sql)
            .and_then(|mut statement| statement.query_row([number], NoteRow::read));
        self.sql(row)?.decode().map_err(|what| self.damaged(what))
    }

    /// Returns the note with this id or unique id prefix; `None` if there is none or the prefix is ambiguous.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub fn find_note(&self, kind: DocKind, selector: &str) -> Result<Option<NoteOrSign>, IndexError> {
        let mut found = self.notes_with_id(kind, selector)?;
        if found.is_empty() && !selector.is_empty() {
            found = self.notes_where("id >= ?2 AND id < ?2 || char(0x10ffff)", kind, selector)?;
        }
        Ok(found.pop().filter(|_| found.is_empty()))
    }

    /// Returns the superseded notes of a kind, highest ids first.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub fn superseded_notes(&self, kind: DocKind, most: usize) -> Result<Vec<NoteOrSign>, IndexError> {
        let numbers: rusqlite::Result<Vec<i64>> = self
            .connection
            .prepare_cached(
                "SELECT number FROM docs INDEXED BY docs_by_id
                 WHERE kind = ?1 AND id IN (SELECT id FROM superseded) ORDER BY id DESC LIMIT ?2",
            )
            .and_then(|mut statement| {
                let most = i64::try_from(most).unwrap_or(i64::MAX);
                statement
                    .query_map(params![kind.number(), most], |row| row.get(0))?
                    .collect()
            });
        self.sql(numbers)?.into_iter().map(|number| self.note(number)).collect()
    }

    /// Returns how many documents of a kind are superseded.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub fn count_superseded(&self, kind: DocKind) -> Result<usize, IndexError> {
        let count = self
            .connection
            .prepare_cached(
                "SELECT count(*) FROM docs INDEXED BY docs_by_id
                 WHERE kind = ?1 AND id IN (SELECT id FROM superseded)",
            )
            .and_then(|mut statement| statement.query_row([kind.number()], |row| row.get::<_, i64>(0)));
        Ok(usize::try_from(self.sql(count)?).unwrap_or_default())
    }

    /// Visits the notes of a kind, newest first, until the visitor breaks, with their age and whether they are
    /// superseded. `note_kind` limits them to one kind of notes.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub fn walk_newest(
        &self,
        kind: DocKind,
        note_kind: Option<&str>,
        visit: &mut dyn FnMut(NoteOrSign, Age, bool) -> ControlFlow<()>,
    ) -> Result<(), IndexError> {
        let of_kind = if note_kind.is_some() {
            "topic = ?2"
        } else {
            "?2 IS NULL"
        };
        let sql = format!(
            "SELECT {NOTE}, {AGE}, EXISTS (SELECT 1 FROM superseded WHERE superseded.id = docs.id) FROM {NOTES}
             WHERE kind = ?1 AND kind < 3 AND {of_kind}
             ORDER BY created DESC, second DESC, place DESC"
        );
        let mut statement = self.sql(self.connection.prepare_cached(&sql))?;
        let mut rows = self.sql(statement.query(params![kind.number(), note_kind]))?;
        while let Some(row) = self.sql(rows.next())? {
            let read = NoteRow::read(row).and_then(|note| Ok((note, Age::read(row, 6)?, row.get(9)?)));
            let (note, age, is_superseded) = self.sql(read)?;
            let note = note.decode().map_err(|what| self.damaged(what))?;
            if visit(note, age, is_superseded).is_break() {
                break;
            }
        }
        Ok(())
    }

    /// Returns the notes with this id: at most two, and two only if the file is damaged.
    fn notes_with_id(&self, kind: DocKind, id: &str) -> Result<Vec<NoteOrSign>, IndexError> {
        self.notes_where("id = ?2", kind, id)
    }

    fn notes_where(&self, condition: &str, kind: DocKind, id: &str) -> Result<Vec<NoteOrSign>, IndexError> {
        // Without the hint, SQLite picks an index that covers more columns and scans all of it.
        let by_id = "docs INDEXED BY docs_by_id CROSS JOIN texts ON doc = number";
        let sql = format!("SELECT {NOTE} FROM {by_id} WHERE kind = ?1 AND {condition} LIMIT 2");
        let rows: rusqlite::Result<Vec<NoteRow>> = self.connection.prepare_cached(&sql).and_then(|mut statement| {
            statement
                .query_map(params![kind.number(), id], NoteRow::read)?
                .collect()
        });
        let notes = self.sql(rows)?.into_iter().map(NoteRow::decode);
        notes.collect::<Result<_, _>>().map_err(|what| self.damaged(what))
    }

    /// Returns a position between two neighbors; `None` if one of them is ambiguous or there is no space.
    fn place_between(&self, kind: DocKind, between: &Neighbours) -> Result<Option<i64>, IndexError> {
        let mut ends = [None, None];
        for (end, id) in ends.iter_mut().zip([&between.before, &between.after]) {
            if let Some(id) = id {
                let Some(note) = self.unique_note(kind, id)? else {
                    return Ok(None);
                };
                *end = Some(note.place);
            }
        }
        Ok(places::between(ends[0], ends[1]))
    }

    /// Returns the note with this id, if there is exactly one.
    fn unique_note(&self, kind: DocKind, id: &str) -> Result<Option<IndexedNote>, IndexError> {
        let sql = "SELECT id, number, fingerprint, place FROM docs INDEXED BY docs_by_id
                   WHERE kind = ?1 AND id = ?2 LIMIT 2";
        let found = self.read_indexed_notes(sql, params![kind.number(), id])?;
        let mut found: Vec<IndexedNote> = found.into_values().flatten().collect();
        Ok(found.pop().filter(|_| found.is_empty()))
    }

    fn indexed_notes(&self, kind: DocKind) -> Result<HashMap<String, Vec<IndexedNote>>, IndexError> {
        let sql = "SELECT id, number, fingerprint, place FROM docs WHERE kind = ?1 ORDER BY place";
        self.read_indexed_notes(sql, params![kind.number()])
    }

    fn read_indexed_notes(
        &self,
        sql: &str,
        parameters: impl rusqlite::Params,
    ) -> Result<HashMap<String, Vec<IndexedNote>>, IndexError> {
        let read = || -> rusqlite::Result<HashMap<String, Vec<IndexedNote>>> {
            let mut found: HashMap<String, Vec<IndexedNote>> = HashMap::new();
            let mut statement = self.connection.prepare_cached(sql)?;
            let mut rows = statement.query(parameters)?;
            while let Some(row) = rows.next()? {
                let note = IndexedNote {
                    number: row.get(1)?,
                    fingerprint: row.get(2)?,
                    place: row.get(3)?,
                };
                found.entry(row.get(0)?).or_default().push(note);
            }
            Ok(found)
        };
        self.sql(read())
    }

    fn move_note(&self, number: i64, place: i64) -> Result<(), IndexError> {
        let moved = self
            .connection
            .prepare_cached("UPDATE docs SET place = ?2 WHERE number = ?1")
            .and_then(|mut statement| statement.execute((number, place)));
        self.sql(moved).map(drop)
    }
}
