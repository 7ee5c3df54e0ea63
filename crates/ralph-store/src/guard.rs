//! Detects that the files of an open database were deleted or replaced. SQLite keeps using the files that it has
//! opened, and what it writes to them is lost.

use std::fmt;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rusqlite::Connection;

use crate::StoreError;
use crate::open::{has_log, path_beside};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    Deleted,
    /// Another file has its name.
    Replaced,
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Deleted => "deleted",
            Self::Replaced => "replaced by another file",
        })
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    Database,
    Log,
    /// The index of the log.
    LogIndex,
}

impl Part {
    fn ending(self) -> &'static str {
        match self {
            Self::Database => "",
            Self::Log => "-wal",
            Self::LogIndex => "-shm",
        }
    }

    /// What its loss means, where that is not obvious. A database without its log has everything up to the last
    /// checkpoint.
    pub(crate) fn consequence(self) -> &'static str {
        match self {
            Self::Database => "",
            Self::Log | Self::LogIndex => "; recent records may be missing (run `ralph doctor`)",
        }
    }
}

/// A file that is no longer the one that was opened.
#[derive(Debug, thiserror::Error)]
#[error("{} was {change}", file.display())]
pub(crate) struct Changed {
    file: PathBuf,
    part: Part,
    change: Change,
}

impl From<Changed> for StoreError {
    fn from(Changed { file, part, change }: Changed) -> Self {
        Self::Replaced { file, part, change }
    }
}

impl From<Changed> for rusqlite::Error {
    fn from(changed: Changed) -> Self {
        Self::ToSqlConversionFailure(Box::new(changed))
    }
}

#[derive(Debug)]
pub(crate) struct Guard {
    files: Vec<(Part, PathBuf, FileId)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FileId {
    device: u64,
    inode: u64,
}

impl Guard {
    /// Remembers the files of a connection that has read the database. While it is open, its lock keeps other SQLite
    /// clients from removing the log and the log's index.
    pub(crate) fn of(connection: &Connection, path: &Path) -> Result<Self, StoreError> {
        let log = has_log(connection).map_err(|error| StoreError::of_sql(path.to_owned(), error))?;
        // SQLite puts the log beside the target of a symlink.
        let database = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let parts: &[Part] = match log {
            true => &[Part::Database, Part::Log, Part::LogIndex],
            false => &[Part::Database],
        };
        let files = parts.iter().map(|part| {
            let file = path_beside(&database, part.ending());
            match FileId::at(&file) {
                Ok(Some(id)) => Ok((*part, file, id)),
                Ok(None) => Err(StoreError::Replaced {
                    file,
                    part: *part,
                    change: Change::Deleted,
                }),
                Err(source) => Err(StoreError::Io { path: file, source }),
            }
        });
        Ok(Self {
            files: files.collect::<Result<_, _>>()?,
        })
    }

    /// Checks that the files are still those that were opened.
    pub(crate) fn check(&self) -> Result<(), Changed> {
        for (part, file, opened) in &self.files {
            let change = match FileId::at(file) {
                Ok(Some(found)) if found == *opened => continue,
                Ok(Some(_)) => Change::Replaced,
                Ok(None) => Change::Deleted,
                // An inaccessible folder says nothing about the file.
                Err(_) => continue,
            };
            return Err(Changed {
                file: file.clone(),
                part: *part,
                change,
            });
        }
        Ok(())
    }
}

impl FileId {
    fn at(path: &Path) -> io::Result<Option<Self>> {
        match std::fs::metadata(path) {
            Ok(file) => Ok(Some(Self {
                device: file.dev(),
                inode: file.ino(),
            })),
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(None),
            Err(error) => Err(error),
        }
    }
}
