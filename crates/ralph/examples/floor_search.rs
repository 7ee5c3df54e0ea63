//! A baseline for `cargo xtask bench notes` and `bench learnings`: opening a database and running one FTS5 query for
//! its ten best notes or learnings. Usage: `floor_search DATABASE EXPRESSION [learnings]`

use std::hint::black_box;

use rusqlite::{Connection, OpenFlags};

const NOTES: &str = "SELECT tags, content FROM texts JOIN
    (SELECT rowid AS found, rank FROM words WHERE words MATCH ?1 ORDER BY rank LIMIT 10) ON found = entry
    ORDER BY rank";
const LEARNINGS: &str = "SELECT tags, content FROM learnings JOIN
    (SELECT rowid AS found, rank FROM learnings_fts WHERE learnings_fts MATCH ?1 ORDER BY rank LIMIT 10) ON found = seq
    ORDER BY rank";

#[expect(
    clippy::disallowed_methods,
    reason = "a baseline opens the database without our code around it"
)]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(database), Some(expression)) = (arguments.next(), arguments.next()) else {
        return Err("usage: floor_search DATABASE EXPRESSION [learnings]".into());
    };
    let question = match arguments.next() {
        None => NOTES,
        Some(_) => LEARNINGS,
    };
    let connection = Connection::open_with_flags(database, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    let mut statement = connection.prepare(question)?;
    let rows = statement.query_map([expression], |row| {
        Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?))
    })?;
    let found: Vec<(String, String)> = rows.collect::<Result<_, _>>()?;
    black_box(found);
    Ok(())
}
