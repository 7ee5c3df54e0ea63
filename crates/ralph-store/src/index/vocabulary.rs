//! Term numbers and document frequencies while the index is written.

use std::collections::{BTreeSet, HashMap};

use rusqlite::{Connection, OptionalExtension};

use super::words::terms_of;

/// Which document frequency is counted. Knowledge entries have their own, so that they do not affect the ranking of
/// others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Counted {
    /// Memories and guardrails.
    Entries,
    Knowledge,
}

/// Terms seen during one change.
pub(super) struct Vocabulary<'c> {
    connection: &'c Connection,
    counted: Counted,
    numbers: HashMap<String, u32>,
    /// Change in the number of entries that contain each term.
    more_entries: HashMap<u32, i64>,
    new: Vec<(u32, String)>,
    next: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct EntryTerms {
    /// Terms of its text, in order.
    pub(super) text: Vec<u32>,
    pub(super) tags: Vec<u32>,
}

impl EntryTerms {
    pub(super) fn len(&self) -> usize {
        self.text.len() + self.tags.len()
    }

    fn distinct(&self) -> BTreeSet<u32> {
        self.text.iter().chain(&self.tags).copied().collect()
    }

    /// As text for FTS5.
    pub(super) fn as_words(&self) -> String {
        let numbers: Vec<String> = self.text.iter().chain(&self.tags).map(u32::to_string).collect();
        numbers.join(" ")
    }
}

impl<'c> Vocabulary<'c> {
    pub(super) fn of(connection: &'c Connection, counted: Counted) -> rusqlite::Result<Self> {
        let last: Option<u32> = connection.query_row("SELECT max(number) FROM terms", [], |row| row.get(0))?;
        Ok(Self {
            connection,
            counted,
            numbers: HashMap::new(),
            more_entries: HashMap::new(),
            new: Vec::new(),
            next: last.unwrap_or_default() + 1,
        })
    }

    pub(super) fn add(&mut self, text: &str, tags: &str) -> rusqlite::Result<EntryTerms> {
        let terms = EntryTerms {
            text: self.numbers_of(text)?,
            tags: self.numbers_of(tags)?,
        };
        self.count(&terms, 1);
        Ok(terms)
    }

    pub(super) fn remove(&mut self, terms: &EntryTerms) {
        self.count(terms, -1);
    }

    pub(super) fn write(self) -> rusqlite::Result<()> {
        let mut insert = self
            .connection
            .prepare_cached("INSERT INTO terms (number, term, entries, knowledge) VALUES (?1, ?2, 0, 0)")?;
        for (number, term) in &self.new {
            insert.execute((number, term))?;
        }
        let mut count = self.connection.prepare_cached(match self.counted {
            Counted::Entries => "UPDATE terms SET entries = entries + ?2 WHERE number = ?1",
            Counted::Knowledge => "UPDATE terms SET knowledge = knowledge + ?2 WHERE number = ?1",
        })?;
        for (number, more) in self.more_entries.iter().filter(|(_, more)| **more != 0) {
            count.execute((number, more))?;
        }
        Ok(())
    }

    fn count(&mut self, terms: &EntryTerms, by: i64) {
        for term in terms.distinct() {
            *self.more_entries.entry(term).or_default() += by;
        }
    }

    fn numbers_of(&mut self, text: &str) -> rusqlite::Result<Vec<u32>> {
        terms_of(text).into_iter().map(|term| self.number_of(term)).collect()
    }

    fn number_of(&mut self, term: String) -> rusqlite::Result<u32> {
        if let Some(number) = self.numbers.get(&term) {
            return Ok(*number);
        }
        let known = self
            .connection
            .prepare_cached("SELECT number FROM terms WHERE term = ?1")?
            .query_row([&term], |row| row.get(0))
            .optional()?;
        let number = known.unwrap_or_else(|| {
            let number = self.next;
            self.next += 1;
            self.new.push((number, term.clone()));
            number
        });
        self.numbers.insert(term, number);
        Ok(number)
    }
}

/// Variable-length encoding with seven bits per byte; common terms were numbered first and stay short.
pub(super) fn encode(numbers: &[u32]) -> Vec<u8> {
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

fn low_bits(number: u32) -> u8 {
    u8::try_from(number & 0x7f).unwrap_or_default()
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
