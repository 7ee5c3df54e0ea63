//! Writing the index: one writer at a time, behind a lock of its own, and all or nothing.

use std::fs::{self, File, TryLockError};
use std::io;
use std::ops::Deref;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

use ralph_process::open_lock_file;

use super::seal::{self, FORMAT, beside};
use super::{Index, IndexError};
use crate::open::{self, INDEX_APPLICATION_ID};
use crate::owner::belongs_to_another_tool;

/// The tables of an index.
pub(super) const SCHEMA: &str = include_str!("schema.sql");
/// How often the lock is tried …
const LOCK_TRIES: u32 = 40;
/// … and how long it is waited in between: 200 ms in all.
const LOCK_PAUSE: Duration = Duration::from_millis(5);

/// An index that is being written. Nothing of it is seen by others until [`IndexWriter::commit`]; dropped without that,
/// the index is made anew by whoever comes next.
#[derive(Debug)]
pub struct IndexWriter {
    index: Index,
    lock: File,
}

impl Index {
    /// Opens the index for writing, and makes it anew where it cannot be trusted; its folder must exist.
    ///
    /// # Errors
    /// When another process writes it for too long, it belongs to another tool, or it cannot be written.
    pub fn write(path: &Path) -> Result<IndexWriter, IndexError> {
        let lock = take_lock(path)?;
        let failed = |error: &dyn std::fmt::Display| IndexError::unusable(path, &error.to_string());
        let intact = seal::is_intact(path);
        if !intact {
            if belongs_to_another_tool(path, INDEX_APPLICATION_ID).map_err(|error| failed(&error))? {
                return Err(IndexError::Foreign { path: path.to_owned() });
            }
            seal::remove(path).map_err(|error| failed(&error))?;
        }
        let connection = open::index_for_writing(path).map_err(|error| IndexError::of_sql(path, &error))?;
        let index = Self {
            connection,
            path: path.to_owned(),
            sources: None,
        };
        // From here on nobody reads, and a seal that is broken now cannot mislead anybody.
        index.sql(index.connection.execute_batch("BEGIN EXCLUSIVE"))?;
        seal::break_seal(path).map_err(|error| failed(&error))?;
        if !intact {
            index.sql(index.connection.execute_batch(SCHEMA))?;
            index.sql(index.connection.pragma_update(None, "user_version", FORMAT))?;
        }
        Ok(IndexWriter { index, lock })
    }
}

impl IndexWriter {
    /// Makes the changes final, and goes on as a reader.
    ///
    /// # Errors
    /// When they cannot be written.
    pub fn commit(self) -> Result<Index, IndexError> {
        let mut index = self.index;
        index.sql(index.connection.execute_batch("COMMIT"))?;
        seal_up(&index.path, &self.lock).map_err(|error| IndexError::unusable(&index.path, &error))?;
        index.begin_reading()?;
        Ok(index)
    }
}

impl Deref for IndexWriter {
    type Target = Index;

    fn deref(&self) -> &Index {
        &self.index
    }
}

/// Seals the index, as its owner will find it: handing it over changes its times, so that comes first. Somebody who took
/// the lock's file away took the index with it, and what stands at its path now is another writer's.
fn seal_up(path: &Path, lock: &File) -> io::Result<()> {
    let lock_path = beside(path, ".lock");
    if fs::symlink_metadata(&lock_path).map(|found| found.ino()).ok() != Some(lock.metadata()?.ino()) {
        return Ok(());
    }
    open::hand_to_owner_of_folder(&[path, &lock_path])?;
    seal::put_on(path)?;
    open::hand_to_owner_of_folder(&[&beside(path, ".seal")])
}

fn take_lock(path: &Path) -> Result<File, IndexError> {
    let failed = |error: std::io::Error| IndexError::unusable(path, &error);
    let lock = open_lock_file(&beside(path, ".lock"), 0o600).map_err(failed)?;
    for _ in 0..LOCK_TRIES {
        match lock.try_lock() {
            Ok(()) => return Ok(lock),
            Err(TryLockError::WouldBlock) => std::thread::sleep(LOCK_PAUSE),
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
    }
    Err(IndexError::Busy { path: path.to_owned() })
}
