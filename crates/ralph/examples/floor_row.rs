//! A baseline for `cargo xtask bench notes`: opening SQLite and reading a row. Usage: `floor_row DATABASE NUMBER`

use std::hint::black_box;

use rusqlite::{Connection, OpenFlags};

#[expect(
    clippy::disallowed_methods,
    reason = "a baseline opens the database without our code around it"
)]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(database), Some(number)) = (arguments.next(), arguments.next()) else {
        return Err("usage: floor_row DATABASE NUMBER".into());
    };
    let connection = Connection::open_with_flags(database, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    let row: (String, String) = connection.query_row(
        "SELECT tags, content FROM texts WHERE entry = ?1",
        [number.parse::<i64>()?],
        |row| Ok((row.get(0)?, row.get(1)?)),
    )?;
    black_box(row);
    Ok(())
}
