//! How the database is: whether it is whole, and how its write-ahead log stands.

use super::Store;
use crate::StoreError;
use crate::migrate::is_up_to_date;
use crate::open::{has_write_ahead_log, log_path};

/// How many faults are named.
const NAMED: i64 = 5;

/// How a database is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Health {
    /// What SQLite finds wrong in it, the first few; none when it is whole.
    pub faults: Vec<String>,
    /// The same where only a lesson holds what its table does not allow, which keeps nobody from anything else.
    pub unfit_learnings: Vec<String>,
    /// Whether it has every migration that this program knows.
    pub up_to_date: bool,
    /// Whether it is written through a write-ahead log.
    pub write_ahead: bool,
    /// How long that log is.
    pub log_bytes: u64,
    /// How many changes of notes it has on record.
    pub recorded_changes: u64,
}

impl Store {
    /// Looks through all of the database.
    ///
    /// # Errors
    /// When it is too damaged to be looked through.
    pub fn health(&self) -> Result<Health, StoreError> {
        let connection = &self.connection;
        let looked = (|| {
            let faults: Vec<String> = connection
                .prepare(&format!("PRAGMA quick_check({NAMED})"))?
                .query_map([], |row| row.get(0))?
                .collect::<rusqlite::Result<_>>()?;
            let recorded: i64 = connection.query_row("SELECT count(*) FROM note_log", [], |row| row.get(0))?;
            let faults = faults.into_iter().filter(|fault| fault != "ok");
            let (unfit_learnings, faults) = faults.partition(|fault| is_about_a_lesson(fault));
            Ok(Health {
                faults,
                unfit_learnings,
                up_to_date: is_up_to_date(connection)?,
                write_ahead: has_write_ahead_log(&self.path),
                log_bytes: std::fs::metadata(log_path(&self.path)).map_or(0, |log| log.len()),
                recorded_changes: recorded.cast_unsigned(),
            })
        })();
        self.sql(looked)
    }
}

/// Whether a fault is that a value in a row of lessons is none that the table allows: "NULL value in learnings.tags".
fn is_about_a_lesson(fault: &str) -> bool {
    fault
        .split_once(" in learnings")
        .is_some_and(|(_, column)| column.is_empty() || column.starts_with('.'))
}
