//! Corrupts rows as a disk or another tool may.

use rusqlite::Connection;

/// Changes one row without any type checks: the table is made lenient for the update and strict again afterwards.
///
/// # Panics
/// When there is no such table, or the update does not change exactly one row.
#[track_caller]
pub fn corrupt_row(connection: &Connection, table: &str, change: &str) {
    let sql = "SELECT sql FROM sqlite_schema WHERE name = ?1";
    let strict: String = connection.query_row(sql, [table], |row| row.get(0)).unwrap();
    let lenient = strict
        .replace("STRICT, ", "")
        .replace("STRICT", "")
        .replace("NOT NULL", "");
    define(connection, table, &lenient);
    let checks_off = "PRAGMA ignore_check_constraints = ON; PRAGMA foreign_keys = OFF;";
    connection.execute_batch(checks_off).unwrap();
    assert_eq!(connection.execute(change, []), Ok(1), "{change}");
    let checks_on = "PRAGMA ignore_check_constraints = OFF; PRAGMA foreign_keys = ON;";
    connection.execute_batch(checks_on).unwrap();
    define(connection, table, &strict);
}

/// Replaces the definition of a table in the schema without touching its rows.
fn define(connection: &Connection, table: &str, sql: &str) {
    connection.pragma_update(None, "writable_schema", true).unwrap();
    let defined = connection.execute("UPDATE sqlite_schema SET sql = ?1 WHERE name = ?2", [sql, table]);
    assert_eq!(defined, Ok(1), "{table}");
    connection.execute_batch("PRAGMA writable_schema = RESET").unwrap();
}
