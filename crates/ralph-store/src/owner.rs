//! Which tool a database file belongs to. Only SQLite opens the file to find out.
//!
//! SQLite's locks are POSIX locks: they belong to the process, and closing any descriptor of a file drops all locks
//! that the process has on it. If this code opened the file itself while a connection is open, other clients would
//! believe that the database is unused, and the last of them to close it would delete the write-ahead log. SQLite
//! tracks its own descriptors and closes them only when no lock depends on them. So our code never opens a database,
//! its log or the log's index, whether to read, copy or sync it; `stat`, `chmod`, `chown`, links and renames open
//! nothing.

use std::io;
use std::path::Path;

use rusqlite::{Connection, ErrorCode};

use crate::StoreError;
use crate::migrate::version;
use crate::open::{APPLICATION_ID, MigrateError, connect_immutable, path_beside};
use crate::sys;

const HEADER_BYTES: u64 = 100;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Owner {
    /// The file is missing or empty.
    Unowned,
    Ours,
}

/// Determines the owner of a database before it is opened for use, which could already change another tool's.
///
/// # Errors
/// When it belongs to another tool, is not a database, or cannot be read.
pub(crate) fn owner(path: &Path) -> Result<Owner, StoreError> {
    match inspect(path).map_err(|error| error.at(path))? {
        Found::Nothing => Ok(Owner::Unowned),
        Found::NoDatabase => Err(StoreError::NotADatabase { path: path.to_owned() }),
        Found::Database { application, .. } if application == APPLICATION_ID => Ok(Owner::Ours),
        Found::Database { is_empty: true, .. } if !has_pending_log(path) => Ok(Owner::Unowned),
        Found::Database { .. } => Err(StoreError::Foreign { path: path.to_owned() }),
    }
}

pub(crate) fn is_ours(path: &Path) -> bool {
    matches!(owner(path), Ok(Owner::Ours))
}

/// Whether a file is a database with a different application id. A missing or empty file, or one that is not a
/// database, belongs to no tool.
///
/// # Errors
/// When the file cannot be read.
pub fn belongs_to_another_tool(path: &Path, ours: i32) -> io::Result<bool> {
    match inspect(path) {
        Ok(Found::Nothing | Found::NoDatabase) => Ok(false),
        Ok(Found::Database { application, .. }) => Ok(application != ours),
        Err(MigrateError::Io(error)) => Err(error),
        Err(MigrateError::Sql(error)) => Err(io::Error::other(error)),
        Err(error) => Err(io::Error::other(error.at(path))),
    }
}

enum Found {
    /// No file, or an empty one.
    Nothing,
    NoDatabase,
    Database {
        application: i32,
        /// Whether it has no application id, no version and no table. A process that was killed while creating a
        /// database may leave one.
        is_empty: bool,
    },
}

fn inspect(path: &Path) -> Result<Found, MigrateError> {
    // Checked before opening: opening a pipe would wait for a writer.
    let file = match std::fs::metadata(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Found::Nothing),
        Err(error) => return Err(error.into()),
    };
    if file.is_dir() {
        return Err(io::Error::from(io::ErrorKind::IsADirectory).into());
    }
    if !file.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a file").into());
    }
    match file.len() {
        0 => return Ok(Found::Nothing),
        1..HEADER_BYTES => return Ok(Found::NoDatabase),
        _ => {}
    }
    match connect_immutable(path).and_then(|connection| read(&connection)) {
        Ok(found) => Ok(found),
        Err(error) => match error.sqlite_error_code() {
            Some(ErrorCode::NotADatabase) => Ok(Found::NoDatabase),
            // SQLite does not say why.
            Some(ErrorCode::CannotOpen) => Err(sys::why_unreadable(path).map_or(error.into(), MigrateError::from)),
            _ => Err(error.into()),
        },
    }
}

fn read(connection: &Connection) -> rusqlite::Result<Found> {
    // Otherwise a file that another process is growing is reported as damaged.
    connection.pragma_update(None, "writable_schema", true)?;
    let application: i32 = connection.query_row("PRAGMA application_id", [], |row| row.get(0))?;
    let is_empty = application == 0 && version(connection)? == 0 && has_no_tables(connection);
    Ok(Found::Database { application, is_empty })
}

fn has_no_tables(connection: &Connection) -> bool {
    // An unreadable list of tables is not an empty one.
    connection
        .query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get::<_, i64>(0))
        .is_ok_and(|tables| tables == 0)
}

/// Whether a log or journal beside the database may hold its only data.
fn has_pending_log(path: &Path) -> bool {
    let is_nonempty = |ending: &str| std::fs::metadata(path_beside(path, ending)).is_ok_and(|file| file.len() > 0);
    is_nonempty("-wal") || is_nonempty("-journal")
}
