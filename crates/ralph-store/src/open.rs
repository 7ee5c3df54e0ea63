//! The one place that opens a database.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use crate::StoreError;
use crate::migrate::{MIGRATIONS, migrate};

/// Written into the header of every database of ours, so that another tool's is never taken for one.
pub(crate) const APPLICATION_ID: i32 = 0x7261_6c70;
/// How long a writer waits for another one.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);
/// How many pages the write-ahead log may hold before it is folded into the database. Each command is a process of its
/// own that reads the log anew, so it is kept short.
const CHECKPOINT_PAGES: u32 = 200;

/// Whose a database file is.
enum Owner {
    Nobody,
    Ours,
}

/// Opens the database if there is one.
pub(crate) fn open_existing(path: &Path) -> Result<Option<Connection>, StoreError> {
    match owner(path)? {
        Owner::Nobody => Ok(None),
        Owner::Ours => open_ours(path).map(Some),
    }
}

/// Opens the database, and makes it where there is none; its folder must exist.
pub(crate) fn open_or_create(path: &Path) -> Result<Connection, StoreError> {
    if matches!(owner(path)?, Owner::Nobody) {
        create(path)?;
    }
    open_ours(path)
}

fn open_ours(path: &Path) -> Result<Connection, StoreError> {
    let connection = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    prepare(&connection)
        .and_then(|()| migrate(&connection, path, MIGRATIONS))
        .map_err(|error| error.at(path))?;
    Ok(connection)
}

/// Makes an empty database with its schema, whole or not at all, while nobody else does.
fn create(path: &Path) -> Result<(), StoreError> {
    let io_error = |source| StoreError::Io {
        path: path.to_owned(),
        source,
    };
    let lock = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .open(lock_path(path))
        .map_err(io_error)?;
    lock.lock().map_err(io_error)?;
    if matches!(owner(path)?, Owner::Ours) {
        return Ok(());
    }
    let connection = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE)?;
    // The schema is written before the write-ahead log is switched on, so that the header in the file itself says whose
    // it is from the first moment.
    connection
        .pragma_update(None, "synchronous", "FULL")
        .map_err(MigrateError::from)
        .and_then(|()| migrate(&connection, path, MIGRATIONS))
        .and_then(|()| Ok(connection.pragma_update(None, "journal_mode", "WAL")?))
        .map_err(|error| error.at(path))?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    File::open(folder.unwrap_or(Path::new(".")))
        .and_then(|folder| folder.sync_all())
        .map_err(io_error)
}

fn lock_path(path: &Path) -> PathBuf {
    let mut lock = path.to_owned().into_os_string();
    lock.push(".lock");
    lock.into()
}

#[expect(clippy::disallowed_methods, reason = "this is the one place that opens a database")]
fn connect(path: &Path, flags: OpenFlags) -> Result<Connection, StoreError> {
    let connection = Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX).map_err(|error| {
        StoreError::Sql {
            path: path.to_owned(),
            reason: error.to_string(),
        }
    })?;
    Ok(connection)
}

fn prepare(connection: &Connection) -> Result<(), MigrateError> {
    connection.busy_timeout(BUSY_TIMEOUT)?;
    // A command that ends must not pay for folding the log in; see CHECKPOINT_PAGES for when it is done.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    connection.execute_batch(&format!(
        "PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES};"
    ))?;
    Ok(())
}

/// Reads from the file's header whose it is, without SQLite: opening another tool's database could already change it.
fn owner(path: &Path) -> Result<Owner, StoreError> {
    let io_error = |source| StoreError::Io {
        path: path.to_owned(),
        source,
    };
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Owner::Nobody),
        Err(source) => return Err(io_error(source)),
    };
    let mut header = Vec::new();
    (&mut file).take(100).read_to_end(&mut header).map_err(io_error)?;
    if header.is_empty() {
        return Ok(Owner::Nobody);
    }
    let application = header.get(68..72);
    if !header.starts_with(b"SQLite format 3\0") {
        Err(StoreError::NotADatabase { path: path.to_owned() })
    } else if application == Some(&APPLICATION_ID.to_be_bytes()) {
        Ok(Owner::Ours)
    } else {
        Err(StoreError::Foreign { path: path.to_owned() })
    }
}

/// An error before it is known which file it concerns.
#[derive(Debug)]
pub(crate) enum MigrateError {
    Sql(rusqlite::Error),
    Newer { found: i64, known: i64 },
}

impl From<rusqlite::Error> for MigrateError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sql(error)
    }
}

impl MigrateError {
    fn at(self, path: &Path) -> StoreError {
        let path = path.to_owned();
        match self {
            Self::Sql(error) => StoreError::Sql {
                path,
                reason: error.to_string(),
            },
            Self::Newer { found, known } => StoreError::Newer { path, found, known },
        }
    }
}

#[cfg(test)]
pub(crate) fn connect_for_test(path: &Path) -> Connection {
    connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE).unwrap()
}
