//! Opens the database of RefoundAI's ralph, checks it, and locks it while it is replaced.
//!
//! Its schema version is in `user_version`. 2 added features and retries, 3 a journal, 4 indexes and 5 a table of model
//! choices. Nothing here changes its contents.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, ErrorCode};

use super::ForeignHistory;
use super::reading::read_history;
use crate::backup::remove_if_exists;
use crate::open::{ForeignAccess, connect_to_foreign, log_path, path_beside};
use crate::owner::{belongs_to_another_tool, is_ours};

const KNOWN_FORMATS: std::ops::RangeInclusive<i64> = 1..=5;

/// The tables and columns that are read, each with the format that introduced it.
const NEEDED: &[(i64, &str, &[&str])] = &[
    (
        2,
        "features",
        &["id", "name", "spec_path", "plan_path", "created_at", "updated_at"],
    ),
    (
        1,
        "tasks",
        &[
            "id",
            "title",
            "description",
            "status",
            "parent_id",
            "priority",
            "created_at",
            "updated_at",
        ],
    ),
    (2, "tasks", &["feature_id", "retry_count", "max_retries"]),
    (1, "dependencies", &["blocker_id", "blocked_id"]),
    (1, "task_logs", &["id", "task_id", "message", "timestamp"]),
    (
        3,
        "journal",
        &[
            "id",
            "run_id",
            "iteration",
            "task_id",
            "feature_id",
            "outcome",
            "model",
            "duration_secs",
            "cost_usd",
            "files_modified",
            "notes",
            "created_at",
        ],
    ),
];

/// Why another tool's database could not be imported. Nothing has changed.
#[derive(Debug, thiserror::Error)]
pub enum ForeignError {
    #[error("{} does not exist", path.display())]
    NotThere { path: PathBuf },
    #[error("{} is ralph's own database", path.display())]
    Ours { path: PathBuf },
    /// It is not a database, or another one.
    #[error("{} is not a database of RefoundAI's ralph: {why}", path.display())]
    NotTheirs { path: PathBuf, why: String },
    #[error("{} has format {found}, but only formats {} to {} can be imported", path.display(), KNOWN_FORMATS.start(), KNOWN_FORMATS.end())]
    Format { path: PathBuf, found: i64 },
    #[error("{} is in use by another process", path.display())]
    Busy { path: PathBuf },
    /// It has a hot rollback journal.
    #[error("{} has an unfinished transaction, which {} would roll back", path.display(), journal.display())]
    Unfinished { path: PathBuf, journal: PathBuf },
    #[error("cannot read {}: {reason}", path.display())]
    Unreadable { path: PathBuf, reason: String },
}

/// A database of RefoundAI's ralph.
#[derive(Debug)]
pub struct ForeignDatabase {
    connection: Connection,
    path: PathBuf,
    /// Whether SQLite created the log beside it for this connection.
    log_is_ours: bool,
}

impl ForeignDatabase {
    /// Opens it for reading: neither it nor the files beside it change.
    ///
    /// # Errors
    /// When it is missing, another tool's, of an unknown format, in use, or damaged.
    pub fn open(path: &Path) -> Result<Self, ForeignError> {
        Self::open_for(path, ForeignAccess::Read)
    }

    /// Locks it in order to replace it: no other process can use it until this value is dropped.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn hold(path: &Path) -> Result<Self, ForeignError> {
        let before = inode(path);
        let database = Self::open_for(path, ForeignAccess::Exclusive)?;
        // The exclusive lock outlasts the transaction.
        database.sql(database.connection.execute_batch("BEGIN EXCLUSIVE; COMMIT"))?;
        if inode(path) != before {
            // Another process replaced it while this one waited for the lock.
            return Err(ForeignError::Busy { path: path.to_owned() });
        }
        Ok(database)
    }

    fn open_for(path: &Path, access: ForeignAccess) -> Result<Self, ForeignError> {
        refuse_by_header(path)?;
        let log_is_ours = !log_path(path).exists();
        let opened = connect_to_foreign(path, access);
        let connection = opened.map_err(|error| unreadable(path, &error))?;
        let database = Self {
            connection,
            path: path.to_owned(),
            log_is_ours,
        };
        database.refuse_unknown_schema()?;
        Ok(database)
    }

    /// Reads everything in it.
    ///
    /// # Errors
    /// When it is damaged.
    pub fn read(&self) -> Result<ForeignHistory, ForeignError> {
        self.sql(read_history(&self.connection))
    }

    /// The bytes of its one file, read by SQLite: reading the file directly would drop the lock on it.
    ///
    /// # Errors
    /// When it is damaged.
    pub fn bytes(&mut self) -> Result<Vec<u8>, ForeignError> {
        let read = self.connection.serialize("main").map(|bytes| bytes.to_vec());
        self.sql(read)
    }

    /// Moves all data into its one file, as the tool itself does on exit, so that nothing beside it belongs to it.
    ///
    /// # Errors
    /// When another process uses it, or it cannot be written.
    pub fn gather_into_one_file(&mut self) -> Result<(), ForeignError> {
        let checkpointed = self
            .connection
            .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, i64>(0));
        if self.sql(checkpointed)? != 0 {
            return Err(ForeignError::Busy {
                path: self.path.clone(),
            });
        }
        for ending in ["-wal", "-shm"] {
            remove_if_exists(&path_beside(&self.path, ending)).map_err(|error| self.failed(&error.to_string()))?;
        }
        // A log created from now on belongs to the replacement.
        self.log_is_ours = false;
        Ok(())
    }

    fn refuse_unknown_schema(&self) -> Result<(), ForeignError> {
        let not_theirs = |why: String| ForeignError::NotTheirs {
            path: self.path.clone(),
            why,
        };
        let faults: String = self.sql(self.connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0)))?;
        if faults != "ok" {
            let fault = faults.lines().next_back().unwrap_or_default();
            return Err(self.failed(&format!("it is damaged ({fault})")));
        }
        let format = self.sql(crate::migrate::version(&self.connection))?;
        for (_, table, columns) in NEEDED.iter().filter(|(since, ..)| *since <= format.max(1)) {
            let found = self.sql(columns_of(&self.connection, table))?;
            if found.is_empty() {
                return Err(not_theirs(format!("it has no table {table}")));
            }
            if let Some(missing) = columns.iter().find(|column| !found.iter().any(|name| name == *column)) {
                return Err(not_theirs(format!("its table {table} has no column {missing}")));
            }
        }
        if KNOWN_FORMATS.contains(&format) {
            Ok(())
        } else {
            Err(ForeignError::Format {
                path: self.path.clone(),
                found: format,
            })
        }
    }

    fn sql<T>(&self, result: rusqlite::Result<T>) -> Result<T, ForeignError> {
        result.map_err(|error| unreadable(&self.path, &error))
    }

    fn failed(&self, reason: &str) -> ForeignError {
        ForeignError::Unreadable {
            path: self.path.clone(),
            reason: reason.to_owned(),
        }
    }
}

impl Drop for ForeignDatabase {
    /// Removes the empty log that SQLite created for this connection.
    fn drop(&mut self) {
        let log = log_path(&self.path);
        if self.log_is_ours && fs::metadata(&log).is_ok_and(|log| log.len() == 0) {
            drop(fs::remove_file(log));
        }
    }
}

/// Checks before SQLite opens the file, which could already change it.
fn refuse_by_header(path: &Path) -> Result<(), ForeignError> {
    let path_here = || path.to_owned();
    match fs::metadata(path) {
        Ok(file) if file.is_file() && file.len() > 0 => {}
        Ok(file) => {
            let why = if file.is_file() {
                "it is empty"
            } else {
                "it is not a file"
            };
            return Err(ForeignError::NotTheirs {
                path: path_here(),
                why: why.to_owned(),
            });
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(ForeignError::NotThere { path: path_here() });
        }
        Err(error) => {
            return Err(ForeignError::Unreadable {
                path: path_here(),
                reason: error.to_string(),
            });
        }
    }
    if is_ours(path) {
        return Err(ForeignError::Ours { path: path_here() });
    }
    // Their databases have no application id, so any id belongs to another program.
    let other = belongs_to_another_tool(path, 0).map_err(|error| ForeignError::Unreadable {
        path: path_here(),
        reason: error.to_string(),
    })?;
    if other {
        return Err(ForeignError::NotTheirs {
            path: path_here(),
            why: "its header names another program".to_owned(),
        });
    }
    let journal = path_beside(path, "-journal");
    if fs::metadata(&journal).is_ok_and(|journal| journal.len() > 0) {
        return Err(ForeignError::Unfinished {
            path: path_here(),
            journal,
        });
    }
    Ok(())
}

fn inode(path: &Path) -> Option<(u64, u64)> {
    let file = fs::metadata(path).ok()?;
    Some((file.dev(), file.ino()))
}

fn columns_of(connection: &Connection, table: &str) -> rusqlite::Result<Vec<String>> {
    connection
        .prepare("SELECT name FROM pragma_table_info(?1)")?
        .query_map([table], |row| row.get(0))?
        .collect()
}

fn unreadable(path: &Path, error: &rusqlite::Error) -> ForeignError {
    let path = path.to_owned();
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => ForeignError::Busy { path },
        Some(ErrorCode::NotADatabase) => ForeignError::NotTheirs {
            path,
            why: "it is not an SQLite database".to_owned(),
        },
        _ => ForeignError::Unreadable {
            path,
            reason: error.to_string(),
        },
    }
}
