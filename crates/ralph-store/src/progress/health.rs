//! How the database is: whether it is whole, and how its write-ahead log stands.

use rusqlite::Connection;

use super::Store;
use crate::StoreError;
use crate::file_system::FileSystem;
use crate::migrate::{is_up_to_date, missing_objects};
use crate::open::{MAX_LOG_BYTES, has_log, header_names_log, log_path};

/// How many faults are named.
const NAMED: i64 = 5;

/// How a database is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Health {
    /// What is wrong with it: missing tables, and the first few faults that SQLite finds; none when it is whole.
    pub faults: Vec<String>,
    /// The same where only a lesson holds what its table does not allow, which keeps nobody from anything else.
    pub unfit_learnings: Vec<String>,
    /// Whether it has every migration that this program knows.
    pub up_to_date: bool,
    /// Whether it is written through a write-ahead log.
    pub write_ahead: bool,
    /// The file system that it is on.
    pub file_system: FileSystem,
    /// How long that log is.
    pub log_bytes: u64,
    /// Whether it is longer than writers let it become, so that something keeps them from emptying it.
    pub log_is_long: bool,
    /// How many changes of notes it has on record.
    pub recorded_changes: u64,
}

impl Health {
    /// Whether the log is not safe where the database is; see [`Store::has_unsafe_log`].
    #[must_use]
    pub fn has_unsafe_log(&self) -> bool {
        is_unsafe(self.write_ahead, self.file_system)
    }
}

/// How much a database has on record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordCounts {
    /// The tasks, also those that are done.
    pub tasks: u64,
    /// The journal entries. They are never pruned.
    pub journal_entries: u64,
}

impl Store {
    /// Counts what would be missed first if records were lost.
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

    /// Looks through all of the database.
    ///
    /// # Errors
    /// When it is too damaged to be looked through.
    pub fn health(&self) -> Result<Health, StoreError> {
        let connection = &self.connection;
        let looked = (|| {
            let (faults, unfit_learnings) = faults(connection)?;
            let recorded: i64 = connection.query_row("SELECT count(*) FROM note_log", [], |row| row.get(0))?;
            let log_bytes = std::fs::metadata(log_path(&self.path)).map_or(0, |log| log.len());
            let write_ahead = has_log(connection)? || header_names_log(&self.path)?;
            Ok(Health {
                faults,
                unfit_learnings,
                up_to_date: is_up_to_date(connection)?,
                write_ahead,
                file_system: FileSystem::of(&self.path),
                log_bytes,
                log_is_long: log_bytes > MAX_LOG_BYTES,
                recorded_changes: recorded.cast_unsigned(),
            })
        })();
        self.sql(looked)
    }

    /// Whether the database has a write-ahead log although it is on a network file system: its users on different machines
    /// do not see each other's locks, and may damage it.
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

/// What is wrong with a database: first what is damaged or missing, then the learnings that hold what their table does not
/// allow.
pub(crate) fn faults(connection: &Connection) -> rusqlite::Result<(Vec<String>, Vec<String>)> {
    let found: Vec<String> = connection
        .prepare(&format!("PRAGMA quick_check({NAMED})"))?
        .query_map([], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    let found = found.into_iter().filter(|fault| fault != "ok");
    let missing = missing_objects(connection)?;
    let missing = missing
        .into_iter()
        .map(|(kind, name)| format!("{kind} {name} is missing"));
    Ok(missing.chain(found).partition(|fault| !is_about_a_lesson(fault)))
}

/// Whether a fault is that a value in a row of lessons is none that the table allows: "NULL value in learnings.tags".
fn is_about_a_lesson(fault: &str) -> bool {
    fault
        .split_once(" in learnings")
        .is_some_and(|(_, column)| column.is_empty() || column.starts_with('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_ahead_log_is_unsafe_on_a_network_file_system_alone() {
        for (write_ahead, file_system, expected) in [
            (true, FileSystem::Network, true),
            (false, FileSystem::Network, false),
            (true, FileSystem::Local, false),
        ] {
            assert_eq!(is_unsafe(write_ahead, file_system), expected);
        }
    }
}
