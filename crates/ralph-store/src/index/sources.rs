//! The files that the index is made from: what they were when they were read, and bringing their entries up to date.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use ralph_model::{FileStamp, Note, NoteOrSign};
use rusqlite::params;

use super::entries::{Spot, fingerprint};
use super::vocabulary::{Counted, Vocabulary};
use super::{Index, IndexError, places};

/// From how many new entries on the lists of words are put together, which makes them quicker to walk through.
pub(super) const MANY_ENTRIES: usize = 1_000;

/// What is known of a file that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceState {
    /// What the file system said about it.
    pub stamp: FileStamp,
    /// A digest of its bytes.
    pub digest: u128,
    /// When it was read, in nanoseconds since 1970.
    pub indexed_ns: i64,
    /// What a reader should be told about it.
    pub problems: String,
}

/// A change of one entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// It is new.
    Added {
        /// The entry.
        note: Note,
        /// Those that stand around it.
        between: Neighbours,
    },
    /// It says something else, in the same place.
    Edited(Note),
    /// It is gone.
    Removed(String),
}

/// The ids of the entries that stand right before and right after a place; none at the ends of a file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Neighbours {
    /// The one before.
    pub before: Option<String>,
    /// The one after.
    pub after: Option<String>,
}

/// A file that was read.
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

/// An entry that the index holds already.
struct Held {
    number: i64,
    fingerprint: i64,
    place: i64,
}

/// An entry in its file's order.
enum Standing {
    Held(Held),
    New(NoteOrSign),
}

impl Standing {
    fn place(&self) -> Option<i64> {
        match self {
            Self::Held(held) => Some(held.place),
            Self::New(_) => None,
        }
    }
}

impl Index {
    /// What was recorded of a file when it was read; `None` when it was not.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub fn source(&self, name: &str) -> Result<Option<SourceState>, IndexError> {
        Ok(self.find_source(name)?.map(|source| source.state))
    }

    /// The number of each file, by its name.
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

    /// How many entries a file has.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub fn entries_in(&self, source: &str) -> Result<usize, IndexError> {
        Ok(self.find_source(source)?.map_or(0, |source| source.entries))
    }

    /// The numbers of all entries of these files.
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

    /// Records what is true of a file now, its entries aside.
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

    /// Forgets all files but these.
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

    /// Makes the entries of a file be these, in this order. Those that are there already stay as they are.
    ///
    /// # Errors
    /// When the index cannot be written.
    pub fn replace_entries(&self, name: &str, items: impl Iterator<Item = NoteOrSign>) -> Result<(), IndexError> {
        let source = self.source_number(name)?;
        let mut held = self.held(source)?;
        let mut sequence: Vec<Standing> = Vec::new();
        for item in items {
            let same = held.get_mut(item.id()).and_then(|same_id| {
                let wanted = fingerprint(&item);
                let at = same_id.iter().position(|held| held.fingerprint == wanted)?;
                Some(same_id.remove(at))
            });
            sequence.push(same.map_or_else(|| Standing::New(item), Standing::Held));
        }
        let mut vocabulary = self.sql(Vocabulary::of(&self.connection, Counted::Entries))?;
        for gone in held.into_values().flatten() {
            self.remove_entry(&mut vocabulary, gone.number)?;
        }
        let old_places: Vec<Option<i64>> = sequence.iter().map(Standing::place).collect();
        let mut inserted = 0;
        for (standing, place) in sequence.into_iter().zip(places::arrange(&old_places)) {
            match standing {
                Standing::New(item) => {
                    self.insert_entry(&mut vocabulary, Spot { source, place }, &item)?;
                    inserted += 1;
                }
                Standing::Held(held) if held.place != place => self.move_entry(held.number, place)?,
                Standing::Held(_) => {}
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

    /// Applies changes of single entries. Says whether it could: where it is not clear which entry is meant, or there is
    /// no room between two, the file has to be read whole.
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
                Change::Edited(note) => match self.only(source, note.id.as_str())? {
                    None => false,
                    Some(Held { number, place, .. }) => {
                        self.remove_entry(&mut vocabulary, number)?;
                        let spot = Spot { source, place };
                        self.insert_entry(&mut vocabulary, spot, &NoteOrSign::Note(note.clone()))?;
                        true
                    }
                },
                Change::Removed(id) => match self.only(source, id)? {
                    None => false,
                    Some(held) => {
                        self.remove_entry(&mut vocabulary, held.number)?;
                        true
                    }
                },
            };
            if !followed {
                // What was done up to here is done, and counted.
                self.sql(vocabulary.write())?;
                return Ok(false);
            }
        }
        self.sql(vocabulary.write())?;
        Ok(true)
    }

    /// The place between two neighbours; `None` when one of them is not clear, or there is no room.
    fn place_between(&self, source: i64, between: &Neighbours) -> Result<Option<i64>, IndexError> {
        let mut ends = [None, None];
        for (end, id) in ends.iter_mut().zip([&between.before, &between.after]) {
            if let Some(id) = id {
                let Some(held) = self.only(source, id)? else {
                    return Ok(None);
                };
                *end = Some(held.place);
            }
        }
        Ok(places::between(ends[0], ends[1]))
    }

    /// The entry with an id, if there is exactly one.
    fn only(&self, source: i64, id: &str) -> Result<Option<Held>, IndexError> {
        let sql = "SELECT id, number, fingerprint, place FROM entries INDEXED BY entries_by_id WHERE source = ?1 AND id = ?2 LIMIT 2";
        let mut found: Vec<Held> = self
            .read_held(sql, params![source, id])?
            .into_values()
            .flatten()
            .collect();
        Ok(found.pop().filter(|_| found.is_empty()))
    }

    fn held(&self, source: i64) -> Result<HashMap<String, Vec<Held>>, IndexError> {
        self.read_held(
            "SELECT id, number, fingerprint, place FROM entries WHERE source = ?1 ORDER BY place",
            params![source],
        )
    }

    fn read_held(
        &self,
        sql: &str,
        parameters: impl rusqlite::Params,
    ) -> Result<HashMap<String, Vec<Held>>, IndexError> {
        let mut held: HashMap<String, Vec<Held>> = HashMap::new();
        let mut statement = self.sql(self.connection.prepare_cached(sql))?;
        let mut rows = self.sql(statement.query(parameters))?;
        while let Some(row) = self.sql(rows.next())? {
            let read = || -> rusqlite::Result<(String, Held)> {
                let entry = Held {
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

    /// The number of a file that was read.
    pub(super) fn source_number(&self, name: &str) -> Result<i64, IndexError> {
        let source = self.find_source(name)?;
        let source = source.ok_or_else(|| self.damaged(format!("{name} was not read")))?;
        Ok(source.number)
    }

    fn find_source(&self, name: &str) -> Result<Option<Source>, IndexError> {
        Ok(self.sources()?.iter().find(|source| source.name == name).cloned())
    }

    /// All files that were read. While the index is written they change, so they are read each time.
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
