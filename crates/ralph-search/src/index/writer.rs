//! Writing the index: one writer at a time, guarded by a lock file, all or nothing.

use std::fs::{self, File, TryLockError};
use std::io;
use std::ops::Deref;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

use ralph_process::open_lock_file;

use ralph_store::{belongs_to_another_tool, chown_to_folder_owner};

use super::stamp::{self, FORMAT, beside};
use super::{Index, IndexError, open};

pub(super) const SCHEMA: &str = include_str!("schema.sql");
const LOCK_TRIES: u32 = 40;
/// Pause between two tries; 200 ms in total.
const LOCK_PAUSE: Duration = Duration::from_millis(5);

/// An index that is being written. Readers see nothing of it until [`IndexWriter::commit`]; if it is dropped without a
/// commit, the next writer rebuilds the index.
#[derive(Debug)]
pub struct IndexWriter {
    index: Index,
    lock: File,
}

impl Index {
    /// Opens the index for writing and rebuilds it if it cannot be trusted. Its folder must exist.
    ///
    /// # Errors
    /// When another process writes it for too long, it belongs to another tool, or it cannot be written.
    pub fn write(path: &Path) -> Result<IndexWriter, IndexError> {
        let lock = take_lock(path)?;
        let failed = |error: &dyn std::fmt::Display| IndexError::unusable(path, &error.to_string());
        let intact = stamp::is_intact(path);
        if !intact {
            if belongs_to_another_tool(path, open::APPLICATION_ID).map_err(|error| failed(&error))? {
                return Err(IndexError::Foreign { path: path.to_owned() });
            }
            stamp::remove(path).map_err(|error| failed(&error))?;
        }
        let connection = open::for_writing(path).map_err(|error| IndexError::of_sql(path, &error))?;
        let index = Self {
            connection,
            path: path.to_owned(),
        };
        // No reader is left from here on, so a missing stamp cannot mislead one.
        index.sql(index.connection.execute_batch("BEGIN EXCLUSIVE"))?;
        stamp::remove_stamp(path).map_err(|error| failed(&error))?;
        if !intact {
            index.sql(index.connection.execute_batch(SCHEMA))?;
            index.sql(index.connection.pragma_update(None, "user_version", FORMAT))?;
        }
        Ok(IndexWriter { index, lock })
    }
}

impl IndexWriter {
    /// Commits the changes and returns the index for reading.
    ///
    /// # Errors
    /// When they cannot be written.
    pub fn commit(self) -> Result<Index, IndexError> {
        let index = self.index;
        index.sql(index.connection.execute_batch("COMMIT"))?;
        stamp_with_owner(&index.path, &self.lock).map_err(|error| IndexError::unusable(&index.path, &error))?;
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

/// Stamps the index with its final owner: changing the owner changes its times, so that comes first. If the lock file
/// was replaced, the index at this path belongs to another writer and is not stamped.
fn stamp_with_owner(path: &Path, lock: &File) -> io::Result<()> {
    let lock_path = beside(path, ".lock");
    if fs::symlink_metadata(&lock_path).map(|found| found.ino()).ok() != Some(lock.metadata()?.ino()) {
        return Ok(());
    }
    chown_to_folder_owner(&[path, &lock_path])?;
    stamp::write_stamp(path)?;
    chown_to_folder_owner(&[&beside(path, ".stamp")])
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
