//! A floor for `cargo xtask bench notes`: what it costs to open an index and run one FTS5 query for its ten best.
//! `floor_search DATABASE EXPRESSION`

use std::hint::black_box;

use rusqlite::{Connection, OpenFlags};

#[expect(
    clippy::disallowed_methods,
    reason = "a floor opens a database as anybody would, with nothing of ours around it"
)]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(database), Some(expression)) = (arguments.next(), arguments.next()) else {
        return Err("usage: floor_search DATABASE EXPRESSION".into());
    };
    let connection = Connection::open_with_flags(database, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    let mut statement = connection.prepare(
        "SELECT tags, content FROM texts JOIN
         (SELECT rowid AS found, rank FROM words WHERE words MATCH ?1 ORDER BY rank LIMIT 10) ON found = entry
         ORDER BY rank",
    )?;
    let rows = statement.query_map([expression], |row| {
        Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?))
    })?;
    let found: Vec<(String, String)> = rows.collect::<Result<_, _>>()?;
    black_box(found);
    Ok(())
}
