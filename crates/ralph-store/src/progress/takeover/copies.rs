//! Whole databases as single files: one to put in another's place, one to try something out on.

use std::io;
use std::path::Path;

use crate::backup::remove_if_there;
use crate::open::{self, path_beside};
use crate::progress::Store;
use crate::{StoreError, Wait};

impl Store {
    /// Closes the database with all of it in its one file, and on the disk: whoever moves the file moves everything.
    ///
    /// # Errors
    /// When somebody else uses it, or it cannot be written.
    pub fn close_into_one_file(self) -> Result<(), StoreError> {
        // With `synchronous = FULL` the checkpoint also syncs the file.
        let folded = self
            .connection
            .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, bool>(0));
        if self.sql(folded)? {
            return Err(StoreError::Busy { path: self.path });
        }
        let Self { connection, path, .. } = self;
        drop(connection);
        forget_beside(&path).map_err(|source| StoreError::Io { path, source })
    }

    /// A copy of a database in another place, to try something out; an empty one where there is none. The database itself
    /// is only looked at.
    ///
    /// # Errors
    /// When it is another tool's, newer than this program, or unreadable, or the copy cannot be written.
    pub fn copy_to_try(path: &Path, copy: &Path) -> Result<Self, StoreError> {
        if let Some(connection) = open::open_to_look(path)? {
            let copied = connection.execute("VACUUM INTO ?1", [copy.to_string_lossy()]);
            copied.map_err(|error| StoreError::of_sql(path.to_owned(), error))?;
            if let Some(store) = Self::open_existing(copy, Wait::Long)? {
                return Ok(store);
            }
        }
        Self::open_or_create(copy)
    }

    /// Removes a database that nobody uses, with everything that lies beside it.
    ///
    /// # Errors
    /// When the file system says no.
    pub fn remove_unused(path: &Path) -> Result<(), StoreError> {
        let removed = forget_beside(path).and_then(|()| remove_if_there(path));
        removed.map_err(|source| StoreError::Io {
            path: path.to_owned(),
            source,
        })
    }
}

/// Removes what SQLite and the making of a database leave beside it.
fn forget_beside(path: &Path) -> io::Result<()> {
    for ending in ["-wal", "-shm", "-journal", ".lock"] {
        remove_if_there(&path_beside(path, ending))?;
    }
    Ok(())
}
