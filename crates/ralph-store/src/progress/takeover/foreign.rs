//! The database of RefoundAI's ralph: whether a file is one, and how it is held while ours takes its place.
//!
//! It keeps its format in `user_version`. 2 added features and retries, 3 a journal, 4 indexes and 5 a table of model choices.
//! Nothing here ever changes what it says.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, ErrorCode};

use super::ForeignHistory;
use super::reading::read_history;
use crate::backup::remove_if_there;
use crate::open::{ForeignAccess, connect_to_foreign, log_path, path_beside};
use crate::owner::{belongs_to_another_tool, is_ours};

/// The formats that can be read.
const KNOWN_FORMATS: std::ops::RangeInclusive<i64> = 1..=5;

/// The tables and columns that are read, each with the format that brought them.
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

/// Why another tool's database could not be taken over. Nothing has changed then.
#[derive(Debug, thiserror::Error)]
pub enum ForeignError {
    /// There is no file.
    #[error("there is no {}", path.display())]
    NotThere {
        /// The file.
        path: PathBuf,
    },
    /// The file is ralph's own.
    #[error("{} is ralph's own database", path.display())]
    Ours {
        /// The database.
        path: PathBuf,
    },
    /// It is no database, or another one.
    #[error("{} is no database of RefoundAI's ralph: {why}", path.display())]
    NotTheirs {
        /// The file.
        path: PathBuf,
        /// What is missing.
        why: String,
    },
    /// It has a format that is not known.
    #[error("{} has format {found}, and only formats {} to {} can be taken over", path.display(), KNOWN_FORMATS.start(), KNOWN_FORMATS.end())]
    Format {
        /// The database.
        path: PathBuf,
        /// Its format.
        found: i64,
    },
    /// Somebody uses it.
    #[error("another process uses {}", path.display())]
    Busy {
        /// The database.
        path: PathBuf,
    },
    /// It was left in the middle of a change.
    #[error("{} was left in the middle of a change, which {} would undo", path.display(), journal.display())]
    Unfinished {
        /// The database.
        path: PathBuf,
        /// The journal beside it.
        journal: PathBuf,
    },
    /// It is damaged, or cannot be read.
    #[error("cannot read {}: {reason}", path.display())]
    Unreadable {
        /// The database.
        path: PathBuf,
        /// Why.
        reason: String,
    },
}

/// A database of RefoundAI's ralph.
#[derive(Debug)]
pub struct ForeignDatabase {
    connection: Connection,
    path: PathBuf,
    /// Whether an empty log beside it was made for this connection.
    log_is_ours: bool,
}

impl ForeignDatabase {
    /// Opens it to look at it: neither it nor what lies beside it changes.
    ///
    /// # Errors
    /// When it is not there, another's, of a format that is not known, in use, or damaged.
    pub fn open(path: &Path) -> Result<Self, ForeignError> {
        Self::open_for(path, ForeignAccess::Look)
    }

    /// Opens it to take its place: nobody else can use it until this value is gone.
    ///
    /// # Errors
    /// The same.
    pub fn hold(path: &Path) -> Result<Self, ForeignError> {
        let before = inode(path);
        let database = Self::open_for(path, ForeignAccess::Hold)?;
        // The lock of such a transaction stays after it.
        database.sql(database.connection.execute_batch("BEGIN EXCLUSIVE; COMMIT"))?;
        if inode(path) != before {
            // Somebody else was faster and has taken its place, while this process waited for the lock.
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
        database.refuse_what_is_not_theirs()?;
        Ok(database)
    }

    /// Reads everything in it.
    ///
    /// # Errors
    /// When it is damaged.
    pub fn read(&self) -> Result<ForeignHistory, ForeignError> {
        self.sql(read_history(&self.connection))
    }

    /// The bytes of its one file, read by SQLite: reading the file by other means would give up the lock on it.
    ///
    /// # Errors
    /// When it is damaged.
    pub fn bytes(&mut self) -> Result<Vec<u8>, ForeignError> {
        let read = self.connection.serialize("main").map(|bytes| bytes.to_vec());
        self.sql(read)
    }

    /// Brings all of it into its one file, as the tool itself does whenever it ends: nothing beside it belongs to it then.
    ///
    /// # Errors
    /// When somebody uses it, or it cannot be written.
    pub fn gather_into_one_file(&mut self) -> Result<(), ForeignError> {
        let folded = self
            .connection
            .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, i64>(0));
        if self.sql(folded)? != 0 {
            return Err(ForeignError::Busy {
                path: self.path.clone(),
            });
        }
        for ending in ["-wal", "-shm"] {
            remove_if_there(&path_beside(&self.path, ending)).map_err(|error| self.failed(&error.to_string()))?;
        }
        // What lies there from now on belongs to whatever takes this one's place.
        self.log_is_ours = false;
        Ok(())
    }

    fn refuse_what_is_not_theirs(&self) -> Result<(), ForeignError> {
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
    /// An empty log that SQLite made for this connection is not the tool's.
    fn drop(&mut self) {
        let log = log_path(&self.path);
        if self.log_is_ours && fs::metadata(&log).is_ok_and(|log| log.len() == 0) {
            drop(fs::remove_file(log));
        }
    }
}

/// What can be told before SQLite opens the file, which could already change it.
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
    // Their databases have no number of their own in the header, so any number is somebody else's.
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

/// Which file stands at a path.
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
