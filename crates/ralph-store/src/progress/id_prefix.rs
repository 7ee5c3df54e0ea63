//! Resolves id prefixes.

use super::Store;
use super::columns::parsed;
use crate::StoreError;

/// Number of candidates named for an ambiguous prefix.
pub(super) const CANDIDATES_NAMED: usize = 5;

/// Result of resolving an id prefix.
pub(super) enum IdPrefix<Id> {
    Nothing,
    One(Id),
    /// The first candidates with their names, and the number of further ones.
    Several(Vec<(Id, String)>, usize),
}

impl Store {
    /// Resolves an id or id prefix; the type prefix may be omitted. The query returns ids and names in order, starting
    /// at its only parameter.
    pub(super) fn id_prefix<Id>(
        &self,
        text: &str,
        prefix: &str,
        sql: &str,
        parse: impl Fn(&str) -> Option<Id>,
    ) -> Result<IdPrefix<Id>, StoreError> {
        let Some(beginning) = id_prefix_of(text, prefix) else {
            return Ok(IdPrefix::Nothing);
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
            return Ok(IdPrefix::Several(found, more));
        }
        Ok(found.pop().map_or(IdPrefix::Nothing, |(id, _)| IdPrefix::One(id)))
    }
}

/// The full id prefix that a text stands for. The type prefix may be omitted; a part of the type prefix matches every
/// id, even if it is also a hex digit.
pub(super) fn id_prefix_of(text: &str, prefix: &str) -> Option<String> {
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
