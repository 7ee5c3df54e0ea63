//! Checks the integrity of the database and the state of its write-ahead log.

use rusqlite::Connection;

use super::Store;
use crate::StoreError;
use crate::file_system::FileSystem;
use crate::migrate::{is_up_to_date, missing_objects};
use crate::open::{MAX_LOG_BYTES, has_log, header_says_wal, log_path};

/// Maximum number of reported faults.
const NAMED: i64 = 5;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Health {
    /// Missing tables and the first few faults that SQLite finds; empty if there are none.
    pub faults: Vec<String>,
    /// Whether all migrations known to this program were applied.
    pub up_to_date: bool,
    /// Whether it uses a write-ahead log.
    pub write_ahead: bool,
    pub file_system: FileSystem,
    /// Size of the write-ahead log.
    pub log_bytes: u64,
    /// Whether the log exceeds the size at which writers truncate it, so something prevents that.
    pub log_is_long: bool,
    /// Number of recorded note changes.
    pub recorded_changes: u64,
}

impl Health {
    /// Whether the log is unsafe on this file system; see [`Store::has_unsafe_log`].
    #[must_use]
    pub fn has_unsafe_log(&self) -> bool {
        is_unsafe(self.write_ahead, self.file_system)
    }
}

/// Counts of the most important records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordCounts {
    /// All tasks, including done ones.
    pub tasks: u64,
    /// The journal entries. They are never pruned.
    pub journal_entries: u64,
}

impl Store {
    /// Counts the records whose loss would be noticed first.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn record_counts(&self) -> Result<RecordCounts, StoreError> {
        let sql = "SELECT (SELECT count(*) FROM tasks), (SELECT count(*) FROM journal)";
        let counted = self.connection.query_row(sql, [], |row| {
            Ok(RecordCounts {
                tasks: row.get::<_, i64>(0)?.cast_unsigned(),
                journal_entries: row.get::<_, i64>(1)?.cast_unsigned(),
            })
        });
        self.sql(counted)
    }

    /// Checks the whole database.
    ///
    /// # Errors
    /// When it is too damaged to be checked.
    pub fn health(&self) -> Result<Health, StoreError> {
        let connection = &self.connection;
        let health = (|| {
            let faults = faults(connection, Depth::Quick)?;
            let recorded: i64 = connection.query_row("SELECT count(*) FROM note_log", [], |row| row.get(0))?;
            let log_bytes = std::fs::metadata(log_path(&self.path)).map_or(0, |log| log.len());
            let write_ahead = has_log(connection)? || header_says_wal(&self.path)?;
            Ok(Health {
                faults,
                up_to_date: is_up_to_date(connection)?,
                write_ahead,
                file_system: FileSystem::of(&self.path),
                log_bytes,
                log_is_long: log_bytes > MAX_LOG_BYTES,
                recorded_changes: recorded.cast_unsigned(),
            })
        })();
        self.sql(health)
    }

    /// Whether the database has a write-ahead log on a network file system: processes on different machines do not see
    /// each other's locks, and may damage it.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn has_unsafe_log(&self) -> Result<bool, StoreError> {
        let write_ahead = self.sql(has_log(&self.connection))?;
        Ok(is_unsafe(write_ahead, FileSystem::of(&self.path)))
    }
}

fn is_unsafe(write_ahead: bool, file_system: FileSystem) -> bool {
    write_ahead && file_system == FileSystem::Network
}

/// How thoroughly a database is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Depth {
    Quick,
    /// Also compares every index with its table.
    Full,
}

/// The faults of a database: missing objects, then damage.
pub(crate) fn faults(connection: &Connection, depth: Depth) -> rusqlite::Result<Vec<String>> {
    let check = match depth {
        Depth::Quick => "quick_check",
        Depth::Full => "integrity_check",
    };
    let found: Vec<String> = connection
        .prepare(&format!("PRAGMA {check}({NAMED})"))?
        .query_map([], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    let found = found.into_iter().filter(|fault| fault != "ok");
    let missing = missing_objects(connection)?;
    let missing = missing
        .into_iter()
        .map(|(kind, name)| format!("{kind} {name} is missing"));
    Ok(missing.chain(found).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn write_ahead_log_is_unsafe_only_on_network_file_systems() {
        for (write_ahead, file_system, expected) in [
            (true, FileSystem::Network, true),
            (false, FileSystem::Network, false),
            (true, FileSystem::Local, false),
        ] {
            assert_eq!(is_unsafe(write_ahead, file_system), expected);
        }
    }
}
