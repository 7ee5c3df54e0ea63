//! Rows as a disk or another tool damages them.

use rusqlite::Connection;

/// Changes a row as if bytes in the file were others: its table takes anything meanwhile, and then is as strict as before.
///
/// # Panics
/// When there is no such table, or not one row changes.
#[track_caller]
pub fn past_its_types(connection: &Connection, table: &str, change: &str) {
    let sql = "SELECT sql FROM sqlite_schema WHERE name = ?1";
    let strict: String = connection.query_row(sql, [table], |row| row.get(0)).unwrap();
    let lenient = strict
        .replace("STRICT, ", "")
        .replace("STRICT", "")
        .replace("NOT NULL", "");
    define(connection, table, &lenient);
    let anything = "PRAGMA ignore_check_constraints = ON; PRAGMA foreign_keys = OFF;";
    connection.execute_batch(anything).unwrap();
    assert_eq!(connection.execute(change, []), Ok(1), "{change}");
    let nothing_else = "PRAGMA ignore_check_constraints = OFF; PRAGMA foreign_keys = ON;";
    connection.execute_batch(nothing_else).unwrap();
    define(connection, table, &strict);
}

/// Puts other words for a table into the schema. No row changes by that.
fn define(connection: &Connection, table: &str, sql: &str) {
    connection.pragma_update(None, "writable_schema", true).unwrap();
    let defined = connection.execute("UPDATE sqlite_schema SET sql = ?1 WHERE name = ?2", [sql, table]);
    assert_eq!(defined, Ok(1), "{table}");
    connection.execute_batch("PRAGMA writable_schema = RESET").unwrap();
}
