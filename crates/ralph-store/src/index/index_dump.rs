//! A dump of everything that an index answers from. Two indexes of the same files have equal dumps, whether they were
//! updated incrementally or built at once; only their row numbers differ.

use std::collections::{BTreeMap, HashMap};

use rusqlite::Row;
use xxhash_rust::xxh3::{Xxh3Default, xxh3_64};

use super::vocabulary::decode;
use super::{Index, IndexError};

/// All data of the entries, in file order.
const ENTRIES: &str = "SELECT name, entries.number, id, kind, created, second, fingerprint, tags, extra, content, terms, \
                       tag_terms FROM entries JOIN sources ON sources.number = source LEFT JOIN texts ON entry = entries.number \
                       ORDER BY name, place";

#[derive(Debug, PartialEq, Eq)]
struct IndexDump {
    /// By file and position: the id, and a digest of the entry.
    entries: BTreeMap<(String, usize), (String, u64)>,
    /// By knowledge file: a digest of its data.
    knowledge: BTreeMap<String, u64>,
    /// Number of entries with each term.
    terms: BTreeMap<String, i64>,
    /// Number of knowledge entries with each term.
    knowledge_terms: BTreeMap<String, i64>,
    /// Number of entries that supersede each id.
    superseded: BTreeMap<String, i64>,
    /// Maintained counters: entries and terms in total, and entries per file.
    counts: BTreeMap<String, i64>,
}

impl Index {
    /// Returns the first difference from another index, or `None` if they are equal.
    ///
    /// # Errors
    /// When one of them cannot be read.
    pub fn first_difference(&self, other: &Self) -> Result<Option<String>, IndexError> {
        let (here, there) = (self.dump()?, other.dump()?);
        if let Some(place) = differing(&here.entries, &there.entries) {
            let known = here.entries.get(place).or_else(|| there.entries.get(place));
            let id = known.map_or("", |(id, _)| id);
            return Ok(Some(format!("entry {} of {}, {id}", place.1 + 1, place.0)));
        }
        let rest = [
            ("the knowledge entry", differing(&here.knowledge, &there.knowledge)),
            ("the term", differing(&here.terms, &there.terms)),
            (
                "in knowledge entries the term",
                differing(&here.knowledge_terms, &there.knowledge_terms),
            ),
            ("what supersedes", differing(&here.superseded, &there.superseded)),
            ("the count of", differing(&here.counts, &there.counts)),
        ];
        let first = rest
            .into_iter()
            .find_map(|(what, name)| Some(format!("{what} {:?}", name?.trim_start())));
        Ok(first)
    }

    fn dump(&self) -> Result<IndexDump, IndexError> {
        let names = self.sql(self.term_names())?;
        let words = self.sql(self.words_by_note("words", &names))?;
        let mut entries = BTreeMap::new();
        let mut seen = 0;
        let mut statement = self.sql(self.connection.prepare(ENTRIES))?;
        let mut rows = self.sql(statement.query([]))?;
        let mut position = (String::new(), 0);
        while let Some(row) = self.sql(rows.next())? {
            let (source, number, id, digest) = self.sql(read(row, &names))?;
            if position.0 != source {
                position = (source, 0);
            }
            let found = words.get(&number).copied();
            seen += usize::from(found.is_some());
            let digest = digest.wrapping_add(found.unwrap_or_default());
            entries.insert(position.clone(), (id, digest));
            position.1 += 1;
        }
        let mut counts = self.sql(self.pairs(
            "SELECT name, entries FROM sources UNION ALL SELECT ' entries', entries FROM totals
             UNION ALL SELECT ' terms', terms FROM totals
             UNION ALL SELECT ' knowledge entries', knowledge FROM totals
             UNION ALL SELECT ' terms of knowledge entries', knowledge_terms FROM totals",
        ))?;
        let strays = i64::try_from(words.len() - seen).unwrap_or(i64::MAX);
        counts.insert(" words of no entry".to_owned(), strays);
        Ok(IndexDump {
            entries,
            knowledge: self.sql(self.knowledge_dump(&names))?,
            knowledge_terms: self.sql(self.pairs("SELECT term, knowledge FROM terms WHERE knowledge <> 0"))?,
            terms: self.sql(self.pairs("SELECT term, entries FROM terms WHERE entries <> 0"))?,
            superseded: self.sql(self.pairs("SELECT id, count(*) FROM superseded GROUP BY id"))?,
            counts,
        })
    }

    /// Returns a digest of the indexed words of each entry that does not depend on their order.
    pub(super) fn words_by_note(
        &self,
        table: &str,
        names: &HashMap<u32, String>,
    ) -> rusqlite::Result<HashMap<i64, u64>> {
        self.connection.execute_batch(&format!(
            "CREATE VIRTUAL TABLE IF NOT EXISTS temp.every_of_{table} USING fts5vocab(main, {table}, instance)"
        ))?;
        let sql = format!("SELECT term, doc, \"offset\" FROM temp.every_of_{table}");
        let mut statement = self.connection.prepare(&sql)?;
        let mut rows = statement.query([])?;
        let mut words: HashMap<i64, u64> = HashMap::new();
        while let Some(row) = rows.next()? {
            let number: Option<u32> = row.get_ref(0)?.as_str()?.parse().ok();
            let term = number.and_then(|number| names.get(&number)).map_or("", String::as_str);
            let at: i64 = row.get(2)?;
            let word = xxh3_64(format!("{at} {term}").as_bytes());
            let sum = words.entry(row.get(1)?).or_default();
            *sum = sum.wrapping_add(word);
        }
        Ok(words)
    }

    fn term_names(&self) -> rusqlite::Result<HashMap<u32, String>> {
        let mut statement = self.connection.prepare("SELECT number, term FROM terms")?;
        statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
    }

    fn pairs(&self, sql: &str) -> rusqlite::Result<BTreeMap<String, i64>> {
        let mut statement = self.connection.prepare(sql)?;
        statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
    }
}

/// Returns file, number, id and digest of an entry.
fn read(row: &Row<'_>, names: &HashMap<u32, String>) -> rusqlite::Result<(String, i64, String, u64)> {
    let mut hasher = Xxh3Default::new();
    let mut add = |text: &str| {
        hasher.update(&u64::try_from(text.len()).unwrap_or_default().to_le_bytes());
        hasher.update(text.as_bytes());
    };
    for column in [2, 3, 4, 7, 8, 9] {
        add(row.get_ref(column)?.as_str()?);
    }
    for column in [5, 6] {
        add(&row.get::<_, i64>(column)?.to_string());
    }
    for column in [10, 11] {
        for number in decode(row.get_ref(column)?.as_blob()?) {
            add(names.get(&number).map_or("", String::as_str));
        }
        add("");
    }
    Ok((row.get(0)?, row.get(1)?, row.get(2)?, hasher.digest()))
}

/// Returns the first key whose value differs or is missing on one side.
fn differing<'m, K: Ord, V: PartialEq>(one: &'m BTreeMap<K, V>, other: &'m BTreeMap<K, V>) -> Option<&'m K> {
    let here = one.iter().find(|(key, value)| other.get(key) != Some(value));
    let there = other.iter().find(|(key, _)| !one.contains_key(key));
    [here, there].into_iter().flatten().map(|(key, _)| key).min()
}

#[cfg(test)]
mod tests {
    use ralph_model::{Extra, FileStamp, Note, NoteId, NoteKind, NoteOrSign, Tags};

    use super::super::{KnowledgeContent, KnowledgeEntry, KnowledgeFile, SourceState};
    use super::*;

    fn index() -> Index {
        let index = Index::in_memory().unwrap();
        let state = SourceState {
            stamp: FileStamp {
                inode: 1,
                size: 1,
                mtime_ns: 1,
                ctime_ns: 1,
            },
            digest: 1,
            indexed_ns: 1,
            problems: String::new(),
        };
        index.put_source("memories.md", &state).unwrap();
        let notes = ["tea is green", "tea is black"].into_iter().enumerate();
        let notes = notes.map(|(number, content)| {
            let mut extra = Extra::default();
            extra.set(Extra::SUPERSEDES, "mem-0-0000");
            NoteOrSign::Note(Note {
                id: NoteId::parse(&format!("mem-{number}-0000"), &NoteId::PREFIXES).unwrap(),
                kind: NoteKind::Fix,
                content: content.to_owned(),
                tags: Tags::parse("drinks").unwrap(),
                created: jiff::civil::date(2025, 1, 20),
                extra,
            })
        });
        index.replace_entries("memories.md", notes).unwrap();
        let file = |name: &str| KnowledgeFile {
            name: name.to_owned(),
            stamp: state.stamp,
            digest: 1,
            indexed_ns: 1,
        };
        let note = KnowledgeEntry {
            title: "Tea".to_owned(),
            title_key: "tea".to_owned(),
            tags: vec!["drinks".to_owned()],
            links: vec!["Cups".to_owned()],
            link_keys: vec!["cups".to_owned()],
            body: "It is hot.".to_owned(),
            ..KnowledgeEntry::default()
        };
        let files = [
            (file("tea.md"), KnowledgeContent::Note(Box::new(note))),
            (file("x.md"), KnowledgeContent::Problem("no title".to_owned())),
        ];
        index.change_knowledge(&[], files.into_iter()).unwrap();
        index
    }

    #[test]
    fn every_difference_is_found() {
        let good = index();
        assert_eq!(good.first_difference(&index()).unwrap(), None);
        for (damage, seen) in [
            (
                "UPDATE texts SET content = 'coffee' WHERE entry = 2",
                "entry 2 of memories.md, mem-1-0000",
            ),
            (
                "UPDATE entries SET fingerprint = 0 WHERE number = 1",
                "entry 1 of memories.md, mem-0-0000",
            ),
            (
                "UPDATE entries SET place = -place",
                "entry 1 of memories.md, mem-1-0000",
            ),
            (
                "DELETE FROM entries WHERE number = 2",
                "entry 2 of memories.md, mem-1-0000",
            ),
            (
                "DELETE FROM words WHERE rowid = 1",
                "entry 1 of memories.md, mem-0-0000",
            ),
            (
                "INSERT INTO words (rowid, terms) VALUES (9, '1 2')",
                "the count of \"words of no entry\"",
            ),
            (
                "UPDATE terms SET entries = 9 WHERE term = 'black'",
                "the term \"black\"",
            ),
            (
                "DELETE FROM superseded WHERE entry = 2",
                "what supersedes \"mem-0-0000\"",
            ),
            ("UPDATE totals SET terms = 1", "the count of \"terms\""),
            ("UPDATE sources SET entries = 1", "the count of \"memories.md\""),
            ("UPDATE knowledge SET tags = '[]'", "the knowledge entry \"tea.md\""),
            ("UPDATE knowledge_texts SET body = ''", "the knowledge entry \"tea.md\""),
            ("DELETE FROM knowledge_links", "the knowledge entry \"tea.md\""),
            ("DELETE FROM knowledge_tags", "the knowledge entry \"tea.md\""),
            (
                "DELETE FROM knowledge_words WHERE rowid = 1",
                "the knowledge entry \"tea.md\"",
            ),
            (
                "UPDATE knowledge_files SET problem = '' WHERE name = 'x.md'",
                "the knowledge entry \"x.md\"",
            ),
            (
                "INSERT INTO knowledge_links VALUES ('tea', 9)",
                "the knowledge entry \"/no note\"",
            ),
            (
                "UPDATE terms SET knowledge = 9 WHERE term = 'hot'",
                "in knowledge entries the term \"hot\"",
            ),
            ("UPDATE totals SET knowledge = 2", "the count of \"knowledge entries\""),
        ] {
            let damaged = index();
            damaged.connection.execute_batch(damage).unwrap();
            assert_eq!(
                damaged.first_difference(&good).unwrap().as_deref(),
                Some(seen),
                "{damage}"
            );
        }
    }
}
