//! FTS5 with two kinds of queries: those of an earlier design, and the best ones possible without our own index.

use std::collections::HashSet;

use rusqlite::Connection;

use super::set::Document;
use super::systems::{Allowed, System};
use super::words::{Words, lowercase_words};

/// How many words the earlier design used.
const SEED_WORDS: usize = 10;

/// An FTS5 table of the documents, and a function that builds queries from text.
struct Fts5 {
    connection: Connection,
    expression: Box<dyn Fn(&str) -> String>,
}

/// The default tokenizer, queried with the first ten words of more than two characters.
pub(super) fn load_seed(documents: &[Document]) -> Result<Box<dyn System>, String> {
    let expression = |query: &str| {
        let words = query.split_whitespace().filter(|word| word.chars().count() > 2);
        any_of(words.take(SEED_WORDS))
    };
    load(documents, "unicode61", Box::new(expression))
}

/// Porter stemming, queried with all words except stop words.
pub(super) fn load_porter(documents: &[Document]) -> Result<Box<dyn System>, String> {
    let words = Words::new();
    let expression = move |query: &str| {
        let mut seen = HashSet::new();
        any_of(lowercase_words(query).filter(|word| !words.is_stop_word(word) && seen.insert(word.clone())))
    };
    load(documents, "porter unicode61", Box::new(expression))
}

fn load(
    documents: &[Document],
    tokenizer: &str,
    expression: Box<dyn Fn(&str) -> String>,
) -> Result<Box<dyn System>, String> {
    let fill = || {
        let mut connection = Connection::open_in_memory()?;
        let table = format!("CREATE VIRTUAL TABLE documents USING fts5 (text, tokenize = '{tokenizer}')");
        connection.execute(&table, [])?;
        let transaction = connection.transaction()?;
        for (place, document) in documents.iter().enumerate() {
            transaction
                .prepare_cached("INSERT INTO documents (rowid, text) VALUES (?1, ?2)")?
                .execute((place as i64, &document.text))?;
        }
        transaction.commit()?;
        Ok::<_, rusqlite::Error>(connection)
    };
    let connection = fill().map_err(|error| format!("cannot fill an FTS5 table: {error}"))?;
    Ok(Box::new(Fts5 { connection, expression }))
}

/// A query for any of these words, quoted.
fn any_of(words: impl Iterator<Item = impl AsRef<str>>) -> String {
    let quoted: Vec<String> = words
        .map(|word| format!("\"{}\"", word.as_ref().replace('"', "\"\"")))
        .collect();
    quoted.join(" OR ")
}

impl System for Fts5 {
    fn search(&self, query: &str, allowed: &Allowed<'_>, limit: usize) -> Result<Vec<usize>, String> {
        let expression = (self.expression)(query);
        if expression.is_empty() {
            return Ok(Vec::new());
        }
        let ask = || {
            let mut statement = self
                .connection
                .prepare_cached("SELECT rowid FROM documents WHERE documents MATCH ?1 ORDER BY rank")?;
            let rows = statement.query_map([&expression], |row| row.get::<_, i64>(0))?;
            rows.map(|row| row.map(|place| usize::try_from(place).unwrap_or_default()))
                .filter(|row| row.as_ref().map_or(true, |place| allowed.allows(*place)))
                .take(limit)
                .collect::<rusqlite::Result<Vec<usize>>>()
        };
        ask().map_err(|error| format!("FTS5 rejects the query {expression}: {error}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted() {
        assert_eq!(
            any_of(["say", "\"hi\"", "OR"].iter()),
            "\"say\" OR \"\"\"hi\"\"\" OR \"OR\""
        );
        assert_eq!(any_of(std::iter::empty::<&str>()), "");
    }
}
