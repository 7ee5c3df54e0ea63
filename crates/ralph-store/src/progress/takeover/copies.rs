//! Whole databases as single files: one to put in another's place, one to try something out on.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use crate::open::{self, path_beside};
use crate::progress::Store;
use crate::{StoreError, Wait};

impl Store {
    /// Closes the database with all of it in its one file, and on the disk: whoever moves the file moves everything.
    ///
    /// # Errors
    /// When somebody else uses it, or it cannot be written.
    pub fn close_into_one_file(self) -> Result<(), StoreError> {
        let folded = self
            .connection
            .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, i64>(0));
        if self.sql(folded)? != 0 {
            return Err(StoreError::Sql {
                path: self.path,
                reason: "another process uses it".to_owned(),
            });
        }
        let Self { connection, path, .. } = self;
        drop(connection);
        forget_beside(&path)
            .and_then(|()| File::open(&path)?.sync_all())
            .map_err(|source| StoreError::Io { path, source })
    }

    /// A copy of a database in another place, to try something out; an empty one where there is none. The database itself
    /// is only looked at.
    ///
    /// # Errors
    /// When it is another tool's, newer than this program, or unreadable, or the copy cannot be written.
    pub fn copy_to_try(path: &Path, copy: &Path) -> Result<Self, StoreError> {
        if let Some(connection) = open::open_to_look(path)? {
            let copied = connection.execute("VACUUM INTO ?1", [copy.to_string_lossy()]);
            copied.map_err(|error| StoreError::Sql {
                path: path.to_owned(),
                reason: error.to_string(),
            })?;
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

pub(super) fn remove_if_there(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        done => done,
    }
}
