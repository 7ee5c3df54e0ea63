//! The files that the index is built from: their state when they were read, and updates of their entries.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use ralph_model::{FileStamp, Note, NoteOrSign};
use rusqlite::params;

use super::entries::{Spot, fingerprint};
use super::vocabulary::{Counted, Vocabulary};
use super::{Index, IndexError, places};

/// Number of new entries from which the full-text index is merged, which makes it faster to read.
pub(super) const MANY_ENTRIES: usize = 1_000;

/// State of a file when it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceState {
    pub stamp: FileStamp,
    pub digest: u128,
    /// When it was read, in nanoseconds since 1970.
    pub indexed_ns: i64,
    /// Problems to report to the reader.
    pub problems: String,
}

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

#[derive(Debug, Clone)]
pub(super) struct Source {
    number: i64,
    name: String,
    entries: usize,
    state: SourceState,
}

impl Source {
    fn read(row: &rusqlite::Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            number: row.get(0)?,
            name: row.get(1)?,
            entries: usize::try_from(row.get::<_, i64>(2)?).unwrap_or_default(),
            state: SourceState {
                stamp: FileStamp {
                    inode: row.get::<_, i64>(3)?.cast_unsigned(),
                    size: row.get::<_, i64>(4)?.cast_unsigned(),
                    mtime_ns: row.get(5)?,
                    ctime_ns: row.get(6)?,
                },
                indexed_ns: row.get(7)?,
                digest: u128::from_le_bytes(row.get(8)?),
                problems: row.get(9)?,
            },
        })
    }
}

/// An entry that is already in the index.
struct IndexedEntry {
    number: i64,
    fingerprint: i64,
    place: i64,
}

/// An entry of the new file content, already indexed or new.
enum Slot {
    IndexedEntry(IndexedEntry),
    New(NoteOrSign),
}

impl Slot {
    fn place(&self) -> Option<i64> {
        match self {
            Self::IndexedEntry(held) => Some(held.place),
            Self::New(_) => None,
        }
    }
}

impl Index {
    /// Returns the recorded state of a file, or `None` if it was not read.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub fn source(&self, name: &str) -> Result<Option<SourceState>, IndexError> {
        Ok(self.find_source(name)?.map(|source| source.state))
    }

    /// Returns the number of each file by name.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub fn source_numbers(&self) -> Result<HashMap<String, i64>, IndexError> {
        let sources = self.sources()?;
        Ok(sources
            .iter()
            .map(|source| (source.name.clone(), source.number))
            .collect())
    }

    /// Returns the number of entries in a file.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub fn entries_in(&self, source: &str) -> Result<usize, IndexError> {
        Ok(self.find_source(source)?.map_or(0, |source| source.entries))
    }

    /// Returns the numbers of all entries in these files.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub fn numbers_in(&self, sources: &[i64]) -> Result<HashSet<i64>, IndexError> {
        let mut numbers = HashSet::new();
        for source in sources {
            let found = self
                .connection
                .prepare_cached("SELECT number FROM entries INDEXED BY entries_by_id WHERE source = ?1")
                .and_then(|mut statement| {
                    let mut rows = statement.query([source])?;
                    while let Some(row) = rows.next()? {
                        numbers.insert(row.get(0)?);
                    }
                    Ok(())
                });
            self.sql(found)?;
        }
        Ok(numbers)
    }

    /// Records the state of a file; its entries are not touched.
    ///
    /// # Errors
    /// When the index cannot be written.
    pub fn put_source(&self, name: &str, state: &SourceState) -> Result<(), IndexError> {
        let stamp = &state.stamp;
        let put = self.connection.prepare_cached(
            "INSERT INTO sources (name, inode, size, mtime_ns, ctime_ns, indexed_ns, digest, problems, entries)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, 0)
             ON CONFLICT (name) DO UPDATE SET inode = ?2, size = ?3, mtime_ns = ?4, ctime_ns = ?5, indexed_ns = ?6,
             digest = ?7, problems = ?8",
        );
        let put = put.and_then(|mut statement| {
            statement.execute(params![
                name,
                stamp.inode.cast_signed(),
                stamp.size.cast_signed(),
                stamp.mtime_ns,
                stamp.ctime_ns,
                state.indexed_ns,
                state.digest.to_le_bytes(),
                state.problems,
            ])
        });
        self.sql(put).map(drop)
    }

    /// Removes all files except these.
    ///
    /// # Errors
    /// When the index cannot be written.
    pub fn keep_sources(&self, names: &[&str]) -> Result<(), IndexError> {
        for Source { name, .. } in self.read_sources()? {
            if !names.contains(&name.as_str()) {
                self.replace_entries(&name, std::iter::empty())?;
                self.sql(self.connection.execute("DELETE FROM sources WHERE name = ?1", [&name]))?;
            }
        }
        Ok(())
    }

    /// Replaces the entries of a file. Entries that did not change keep their rows.
    ///
    /// # Errors
    /// When the index cannot be written.
    pub fn replace_entries(&self, name: &str, items: impl Iterator<Item = NoteOrSign>) -> Result<(), IndexError> {
        let source = self.source_number(name)?;
        let mut held = self.indexed_entries(source)?;
        let mut sequence: Vec<Slot> = Vec::new();
        for item in items {
            let same = held.get_mut(item.id()).and_then(|same_id| {
                let wanted = fingerprint(&item);
                let at = same_id.iter().position(|held| held.fingerprint == wanted)?;
                Some(same_id.remove(at))
            });
            sequence.push(same.map_or_else(|| Slot::New(item), Slot::IndexedEntry));
        }
        let mut vocabulary = self.sql(Vocabulary::of(&self.connection, Counted::Entries))?;
        for removed in held.into_values().flatten() {
            self.remove_entry(&mut vocabulary, removed.number)?;
        }
        let old_places: Vec<Option<i64>> = sequence.iter().map(Slot::place).collect();
        let mut inserted = 0;
        for (slot, place) in sequence.into_iter().zip(places::arrange(&old_places)) {
            match slot {
                Slot::New(item) => {
                    self.insert_entry(&mut vocabulary, Spot { source, place }, &item)?;
                    inserted += 1;
                }
                Slot::IndexedEntry(held) if held.place != place => self.move_entry(held.number, place)?,
                Slot::IndexedEntry(_) => {}
            }
        }
        self.sql(vocabulary.write())?;
        if inserted >= MANY_ENTRIES {
            let merged = self
                .connection
                .execute("INSERT INTO words (words) VALUES ('optimize')", []);
            self.sql(merged)?;
        }
        Ok(())
    }

    /// Applies changes of single entries. Returns `false` if an entry is ambiguous or there is no position left between
    /// two; then the whole file has to be read.
    ///
    /// # Errors
    /// When the index cannot be written.
    pub fn follow(&self, name: &str, changes: &[Change]) -> Result<bool, IndexError> {
        let source = self.source_number(name)?;
        let mut vocabulary = self.sql(Vocabulary::of(&self.connection, Counted::Entries))?;
        for change in changes {
            let followed = match change {
                Change::Added { note, between } => match self.place_between(source, between)? {
                    None => false,
                    Some(place) => {
                        let spot = Spot { source, place };
                        self.insert_entry(&mut vocabulary, spot, &NoteOrSign::Note(note.clone()))?;
                        true
                    }
                },
                Change::Edited(note) => match self.unique_entry(source, note.id.as_str())? {
                    None => false,
                    Some(IndexedEntry { number, place, .. }) => {
                        self.remove_entry(&mut vocabulary, number)?;
                        let spot = Spot { source, place };
                        self.insert_entry(&mut vocabulary, spot, &NoteOrSign::Note(note.clone()))?;
                        true
                    }
                },
                Change::Removed(id) => match self.unique_entry(source, id)? {
                    None => false,
                    Some(held) => {
                        self.remove_entry(&mut vocabulary, held.number)?;
                        true
                    }
                },
            };
            if !followed {
                // The changes so far are applied and counted.
                self.sql(vocabulary.write())?;
                return Ok(false);
            }
        }
        self.sql(vocabulary.write())?;
        Ok(true)
    }

    /// Returns a position between two neighbors; `None` if one of them is ambiguous or there is no space.
    fn place_between(&self, source: i64, between: &Neighbours) -> Result<Option<i64>, IndexError> {
        let mut ends = [None, None];
        for (end, id) in ends.iter_mut().zip([&between.before, &between.after]) {
            if let Some(id) = id {
                let Some(held) = self.unique_entry(source, id)? else {
                    return Ok(None);
                };
                *end = Some(held.place);
            }
        }
        Ok(places::between(ends[0], ends[1]))
    }

    /// Returns the entry with this id, if there is exactly one.
    fn unique_entry(&self, source: i64, id: &str) -> Result<Option<IndexedEntry>, IndexError> {
        let sql = "SELECT id, number, fingerprint, place FROM entries INDEXED BY entries_by_id WHERE source = ?1 AND id = ?2 LIMIT 2";
        let mut found: Vec<IndexedEntry> = self
            .read_indexed_entries(sql, params![source, id])?
            .into_values()
            .flatten()
            .collect();
        Ok(found.pop().filter(|_| found.is_empty()))
    }

    fn indexed_entries(&self, source: i64) -> Result<HashMap<String, Vec<IndexedEntry>>, IndexError> {
        self.read_indexed_entries(
            "SELECT id, number, fingerprint, place FROM entries WHERE source = ?1 ORDER BY place",
            params![source],
        )
    }

    fn read_indexed_entries(
        &self,
        sql: &str,
        parameters: impl rusqlite::Params,
    ) -> Result<HashMap<String, Vec<IndexedEntry>>, IndexError> {
        let mut held: HashMap<String, Vec<IndexedEntry>> = HashMap::new();
        let mut statement = self.sql(self.connection.prepare_cached(sql))?;
        let mut rows = self.sql(statement.query(parameters))?;
        while let Some(row) = self.sql(rows.next())? {
            let read = || -> rusqlite::Result<(String, IndexedEntry)> {
                let entry = IndexedEntry {
                    number: row.get(1)?,
                    fingerprint: row.get(2)?,
                    place: row.get(3)?,
                };
                Ok((row.get(0)?, entry))
            };
            let (id, entry) = self.sql(read())?;
            held.entry(id).or_default().push(entry);
        }
        Ok(held)
    }

    fn move_entry(&self, number: i64, place: i64) -> Result<(), IndexError> {
        let moved = self
            .connection
            .prepare_cached("UPDATE entries SET place = ?2 WHERE number = ?1")
            .and_then(|mut statement| statement.execute((number, place)));
        self.sql(moved).map(drop)
    }

    pub(super) fn source_number(&self, name: &str) -> Result<i64, IndexError> {
        let source = self.find_source(name)?;
        let source = source.ok_or_else(|| self.damaged(format!("{name} was not read")))?;
        Ok(source.number)
    }

    fn find_source(&self, name: &str) -> Result<Option<Source>, IndexError> {
        Ok(self.sources()?.iter().find(|source| source.name == name).cloned())
    }

    /// Lists all files. A writer rereads them each time, since they may change.
    fn sources(&self) -> Result<Cow<'_, [Source]>, IndexError> {
        match &self.sources {
            Some(sources) => Ok(Cow::Borrowed(sources)),
            None => self.read_sources().map(Cow::Owned),
        }
    }

    pub(super) fn read_sources(&self) -> Result<Vec<Source>, IndexError> {
        let sources = self.connection.prepare_cached(
            "SELECT number, name, entries, inode, size, mtime_ns, ctime_ns, indexed_ns, digest, problems FROM sources",
        );
        self.sql(sources.and_then(|mut statement| statement.query_map([], Source::read)?.collect()))
    }
}
