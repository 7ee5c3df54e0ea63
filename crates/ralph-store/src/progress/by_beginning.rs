//! Finds what the beginning of an id means.

use super::Store;
use super::columns::parsed;
use crate::StoreError;

/// How many candidates an ambiguous id names.
pub(super) const CANDIDATES_NAMED: usize = 5;

/// What the beginning of an id means.
pub(super) enum ByBeginning<Id> {
    /// Nothing.
    Nothing,
    /// This.
    One(Id),
    /// The first of several, each with what it is called, and how many more there are.
    Several(Vec<(Id, String)>, usize),
}

impl Store {
    /// What an id, or the beginning of one, means; its prefix may be left out. The query gives ids and names in order, from
    /// the beginning that is its only parameter on.
    pub(super) fn by_beginning<Id>(
        &self,
        text: &str,
        prefix: &str,
        sql: &str,
        parse: impl Fn(&str) -> Option<Id>,
    ) -> Result<ByBeginning<Id>, StoreError> {
        let Some(beginning) = beginning_of_id(text, prefix) else {
            return Ok(ByBeginning::Nothing);
        };
        let found: rusqlite::Result<Vec<(Id, String)>> =
            self.connection.prepare_cached(sql).and_then(|mut statement| {
                statement
                    .query_map([&beginning], |row| {
                        Ok((parsed(&row.get::<_, String>(0)?, "id", &parse)?, row.get(1)?))
                    })?
                    .collect()
            });
        let mut found = self.sql(found)?;
        if found.len() > 1 {
            let more = found.len().saturating_sub(CANDIDATES_NAMED);
            found.truncate(CANDIDATES_NAMED);
            return Ok(ByBeginning::Several(found, more));
        }
        Ok(found.pop().map_or(ByBeginning::Nothing, |(id, _)| ByBeginning::One(id)))
    }
}

/// What ids begin with that a text means, with the prefix that all have: it may be left out, and the beginning of it alone is
/// that of every id, even where it is a digit as well.
pub(super) fn beginning_of_id(text: &str, prefix: &str) -> Option<String> {
    let text = text.trim().to_ascii_lowercase();
    if text.is_empty() {
        return None;
    }
    if prefix.starts_with(&text) {
        return Some(prefix.to_owned());
    }
    let digits = text.strip_prefix(prefix).unwrap_or(&text);
    let is_beginning = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_beginning.then(|| format!("{prefix}{digits}"))
}
