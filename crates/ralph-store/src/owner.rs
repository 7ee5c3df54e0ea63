//! Whose a database file is. Only SQLite opens the file to tell.
//!
//! SQLite's locks are POSIX locks: they belong to the process, and closing any descriptor of a file drops all locks that the
//! process has on it. If this code opened the file itself while a connection is open, other clients would believe that
//! nobody uses the database, and the last of them to close it would delete the write-ahead log. SQLite knows all of its
//! descriptors and closes them when no lock depends on them. So no code of ours opens a database, its log or the log's
//! index, whether to read, copy or sync it; `stat`, `chmod`, `chown`, links and renames open nothing.

use std::io;
use std::path::Path;

use rusqlite::{Connection, ErrorCode};

use crate::StoreError;
use crate::migrate::version;
use crate::open::{APPLICATION_ID, MigrateError, connect_to_still_file, path_beside};
use crate::sys;

/// How long the header of a database is.
const HEADER_BYTES: u64 = 100;

/// Whose a database file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Owner {
    /// There is none, or it is empty.
    Nobody,
    Ours,
}

/// Tells whose a database is before it is opened to be used, which could already change another tool's.
///
/// # Errors
/// When it belongs to another tool, is not a database, or cannot be read.
pub(crate) fn owner(path: &Path) -> Result<Owner, StoreError> {
    match look(path).map_err(|error| error.at(path))? {
        Found::Nothing => Ok(Owner::Nobody),
        Found::NoDatabase => Err(StoreError::NotADatabase { path: path.to_owned() }),
        Found::Database { application, .. } if application == APPLICATION_ID => Ok(Owner::Ours),
        Found::Database { is_empty: true, .. } if !has_unfolded_beside(path) => Ok(Owner::Nobody),
        Found::Database { .. } => Err(StoreError::Foreign { path: path.to_owned() }),
    }
}

/// Whether a file is a database of ours.
pub(crate) fn is_ours(path: &Path) -> bool {
    matches!(owner(path), Ok(Owner::Ours))
}

/// Whether a file is a database with another application id than this. A missing or empty file and one that is not a
/// database are nobody's.
pub(crate) fn belongs_to_another_tool(path: &Path, ours: i32) -> io::Result<bool> {
    match look(path) {
        Ok(Found::Nothing | Found::NoDatabase) => Ok(false),
        Ok(Found::Database { application, .. }) => Ok(application != ours),
        Err(MigrateError::Io(error)) => Err(error),
        Err(MigrateError::Sql(error)) => Err(io::Error::other(error)),
        Err(error) => Err(io::Error::other(error.at(path))),
    }
}

/// What is at the path of a database.
enum Found {
    /// No file, or an empty one.
    Nothing,
    NoDatabase,
    Database {
        application: i32,
        /// Whether nobody has put anything into it: no application id, no version and no table. A process that was
        /// killed while it created a database may leave one.
        is_empty: bool,
    },
}

fn look(path: &Path) -> Result<Found, MigrateError> {
    // Before it is opened: opening a pipe waits for a writer.
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
    match connect_to_still_file(path).and_then(|connection| read(&connection)) {
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
    // Else a file that another process just grows is taken for damaged.
    connection.pragma_update(None, "writable_schema", true)?;
    let application: i32 = connection.query_row("PRAGMA application_id", [], |row| row.get(0))?;
    let is_empty = application == 0 && version(connection)? == 0 && has_no_tables(connection);
    Ok(Found::Database { application, is_empty })
}

fn has_no_tables(connection: &Connection) -> bool {
    // A list of tables that cannot be read is not empty.
    connection
        .query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get::<_, i64>(0))
        .is_ok_and(|tables| tables == 0)
}

/// Whether there is something beside a database that belongs into it, and that may be all it has.
fn has_unfolded_beside(path: &Path) -> bool {
    let is_there = |ending: &str| std::fs::metadata(path_beside(path, ending)).is_ok_and(|file| file.len() > 0);
    is_there("-wal") || is_there("-journal")
}
