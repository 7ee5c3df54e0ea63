//! A baseline for `cargo xtask bench notes` and `bench learnings`: opening the search index and running one FTS5 query
//! for its ten best memories, or learnings, whose texts are in the database of facts. Usage:
//! `floor_search INDEX EXPRESSION [DATABASE]`

use std::hint::black_box;

use rusqlite::{Connection, OpenFlags};

const MEMORIES: &str = "SELECT tags, content FROM texts JOIN
    (SELECT rowid AS found, rank FROM words_memory WHERE words_memory MATCH ?1 ORDER BY rank LIMIT 10) ON found = doc
    ORDER BY rank";
const LEARNINGS: &str = "SELECT tags, content FROM facts.learnings JOIN
    (SELECT rowid & 0xffffffffffff AS found, rank FROM words_learning WHERE words_learning MATCH ?1
     ORDER BY rank LIMIT 10) ON found = seq
    ORDER BY rank";

#[expect(
    clippy::disallowed_methods,
    reason = "a baseline opens the database without our code around it"
)]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(index), Some(expression)) = (arguments.next(), arguments.next()) else {
        return Err("usage: floor_search INDEX EXPRESSION [DATABASE]".into());
    };
    let connection = Connection::open_with_flags(index, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    let question = match arguments.next() {
        None => MEMORIES,
        Some(database) => {
            connection.execute("ATTACH ?1 AS facts", [database])?;
            LEARNINGS
        }
    };
    let mut statement = connection.prepare(question)?;
    let rows = statement.query_map([expression], |row| {
        Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?))
    })?;
    let found: Vec<(String, String)> = rows.collect::<Result<_, _>>()?;
    black_box(found);
    Ok(())
}
