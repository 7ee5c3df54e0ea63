//! A dump of the knowledge part of the index that is equal for two indexes of the same files.

use std::collections::{BTreeMap, HashMap};

use rusqlite::Row;
use rusqlite::types::ValueRef;
use xxhash_rust::xxh3::{Xxh3Default, xxh3_64};

use super::Index;
use super::vocabulary::decode;

const FILES: &str = "SELECT files.number, name, problem, title, title_key, tags, feature, created_at, created, second, links, \
                     body, terms, tag_terms FROM knowledge_files AS files LEFT JOIN knowledge USING (number) \
                     LEFT JOIN knowledge_texts ON note = files.number";
/// Number of text and integer columns after the first; the two columns after them hold terms.
const PLAIN_COLUMNS: usize = 11;
/// Rows that refer to an entry: its number, and a text.
const AROUND: [&str; 2] = [
    "SELECT note, 'tag ' || word || ' ' || tag FROM knowledge_tags",
    "SELECT note, 'link ' || target FROM knowledge_links",
];

impl Index {
    /// Maps each file to a digest of its data. Rows that belong to no file are counted under names that no file can
    /// have.
    pub(super) fn knowledge_dump(&self, names: &HashMap<u32, String>) -> rusqlite::Result<BTreeMap<String, u64>> {
        let mut around = self.words_by_note("knowledge_words", names)?;
        for sql in AROUND {
            let mut statement = self.connection.prepare(sql)?;
            let mut rows = statement.query([])?;
            while let Some(row) = rows.next()? {
                let sum = around.entry(row.get(0)?).or_default();
                *sum = sum.wrapping_add(xxh3_64(row.get_ref(1)?.as_str()?.as_bytes()));
            }
        }
        let mut dump = BTreeMap::new();
        let mut statement = self.connection.prepare(FILES)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let (number, name, digest) = read(row, names)?;
            dump.insert(name, digest.wrapping_add(around.remove(&number).unwrap_or_default()));
        }
        let strays = "SELECT count(*) FROM knowledge WHERE number NOT IN (SELECT number FROM knowledge_files)";
        let strays: i64 = self.connection.query_row(strays, [], |row| row.get(0))?;
        dump.insert("/no file".to_owned(), strays.cast_unsigned());
        dump.insert("/no note".to_owned(), u64::try_from(around.len()).unwrap_or(u64::MAX));
        Ok(dump)
    }
}

/// Returns number, name and digest of a file.
fn read(row: &Row<'_>, names: &HashMap<u32, String>) -> rusqlite::Result<(i64, String, u64)> {
    let mut hasher = Xxh3Default::new();
    let mut add = |bytes: &[u8]| {
        hasher.update(&u64::try_from(bytes.len()).unwrap_or_default().to_le_bytes());
        hasher.update(bytes);
    };
    for column in 1..=PLAIN_COLUMNS {
        match row.get_ref(column)? {
            ValueRef::Text(text) => add(text),
            ValueRef::Integer(number) => add(&number.to_le_bytes()),
            _ => add(b"\0"),
        }
    }
    for column in [PLAIN_COLUMNS + 1, PLAIN_COLUMNS + 2] {
        for number in row.get_ref(column)?.as_blob_or_null()?.map(decode).unwrap_or_default() {
            add(names.get(&number).map_or(b"".as_slice(), |name| name.as_bytes()));
        }
        add(b"\0");
    }
    Ok((row.get(0)?, row.get(1)?, hasher.digest()))
}
