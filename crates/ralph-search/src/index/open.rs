//! The one place that opens an index.

use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

/// Written into the header, to tell an index from another tool's file.
pub(super) const APPLICATION_ID: i32 = 0x7261_6c69;
const BUSY_TIMEOUT: Duration = Duration::from_millis(200);
const OWNER_ONLY: u32 = 0o600;
/// Page cache, in KiB; SQLite reads a negative number as KiB instead of pages.
const CACHE: &str = "-8192";
const KEPT_STATEMENTS: usize = 64;

/// Opens an index whose stamp is intact.
pub(super) fn for_reading(path: &Path) -> rusqlite::Result<Connection> {
    connect(path, OpenFlags::SQLITE_OPEN_READ_ONLY)
}

/// Opens an index for writing. The header identifies the owner from the start. There is no journal on disk and no
/// syncing: an index that was not written completely is rebuilt.
pub(super) fn for_writing(path: &Path) -> rusqlite::Result<Connection> {
    let created = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(OWNER_ONLY)
        .open(path);
    // If it cannot be created, SQLite reports why.
    drop(created);
    let connection = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE)?;
    connection.execute_batch("PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF;")?;
    connection.pragma_update(None, "cache_size", CACHE)?;
    let application: i32 = connection.query_row("PRAGMA application_id", [], |row| row.get(0))?;
    if application != APPLICATION_ID {
        connection.pragma_update(None, "application_id", APPLICATION_ID)?;
    }
    Ok(connection)
}

pub(super) fn in_memory() -> rusqlite::Result<Connection> {
    let connection = Connection::open_in_memory()?;
    configure(&connection)?;
    Ok(connection)
}

#[expect(
    clippy::disallowed_methods,
    reason = "the index is not the fact store, and this is its one opener"
)]
fn connect(path: &Path, flags: OpenFlags) -> rusqlite::Result<Connection> {
    let connection = Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    configure(&connection)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    Ok(connection)
}

/// Keeps prepared statements: SQLite would prepare some of them again for each bound number, hoping for a better plan.
fn configure(connection: &Connection) -> rusqlite::Result<()> {
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.set_prepared_statement_cache_capacity(KEPT_STATEMENTS);
    Ok(())
}
