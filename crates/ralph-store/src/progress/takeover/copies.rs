//! Databases as single files: closing into one file to move it, and copying to try something out.

use std::io;
use std::path::Path;

use crate::backup::remove_if_exists;
use crate::open::{self, path_beside};
use crate::progress::Store;
use crate::{StoreError, Wait};

impl Store {
    /// Closes the database with all data synced into its one file, so that moving that file moves everything.
    ///
    /// # Errors
    /// When another process uses it, or it cannot be written.
    pub fn close_into_one_file(self) -> Result<(), StoreError> {
        // With `synchronous = FULL`, the checkpoint also syncs the file.
        let checkpointed = self
            .connection
            .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, bool>(0));
        if self.sql(checkpointed)? {
            return Err(StoreError::Busy { path: self.path });
        }
        let Self { connection, path, .. } = self;
        drop(connection);
        remove_sidecar_files(&path).map_err(|source| StoreError::Io { path, source })
    }

    /// A copy of a database to try something out; an empty one if there is none. The original is opened read-only.
    ///
    /// # Errors
    /// When it is another tool's, newer than this program, or unreadable, or the copy cannot be written.
    pub fn copy_to_try(path: &Path, copy: &Path) -> Result<Self, StoreError> {
        if let Some(connection) = open::open_read_only(path)? {
            let copied = connection.execute("VACUUM INTO ?1", [copy.to_string_lossy()]);
            copied.map_err(|error| StoreError::of_sql(path.to_owned(), error))?;
            if let Some(store) = Self::open_existing(copy, Wait::Long)? {
                return Ok(store);
            }
        }
        Self::open_or_create(copy)
    }

    /// Deletes an unused database with all files beside it.
    ///
    /// # Errors
    /// When a file cannot be deleted.
    pub fn remove_unused(path: &Path) -> Result<(), StoreError> {
        let removed = remove_sidecar_files(path).and_then(|()| remove_if_exists(path));
        removed.map_err(|source| StoreError::Io {
            path: path.to_owned(),
            source,
        })
    }
}

/// Removes the files that SQLite and the creation of a database leave beside it.
fn remove_sidecar_files(path: &Path) -> io::Result<()> {
    for ending in ["-wal", "-shm", "-journal", ".lock"] {
        remove_if_exists(&path_beside(path, ending))?;
    }
    Ok(())
}
