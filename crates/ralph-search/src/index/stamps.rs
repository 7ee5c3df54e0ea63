//! What the sources were like when they were read.

use ralph_model::FileStamp;
use rusqlite::{OptionalExtension, Row, params};

use super::{Index, IndexError};
use crate::DocKind;

/// State of a file when it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FileState {
    pub(crate) stamp: FileStamp,
    pub(crate) digest: u128,
    /// When it was read, in nanoseconds since 1970.
    pub(crate) indexed_ns: i64,
    /// Problems to report to the reader. A file of the knowledge folder with a problem is not indexed.
    pub(crate) problems: String,
}

/// Columns of [`FileState::read`], in order.
const STATE: &str = "inode, size, mtime_ns, ctime_ns, indexed_ns, digest, problems";

impl FileState {
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            stamp: FileStamp {
                inode: row.get::<_, i64>(0)?.cast_unsigned(),
                size: row.get::<_, i64>(1)?.cast_unsigned(),
                mtime_ns: row.get(2)?,
                ctime_ns: row.get(3)?,
            },
            indexed_ns: row.get(4)?,
            digest: u128::from_le_bytes(row.get(5)?),
            problems: row.get(6)?,
        })
    }
}

impl Index {
    /// Returns the recorded state of a file, or `None` if it was not read.
    pub(crate) fn file(&self, kind: DocKind, name: &str) -> Result<Option<FileState>, IndexError> {
        let sql = format!("SELECT {STATE} FROM files WHERE kind = ?1 AND name = ?2");
        let found = self.connection.prepare_cached(&sql).and_then(|mut statement| {
            statement
                .query_row(params![kind.number(), name], FileState::read)
                .optional()
        });
        self.sql(found)
    }

    /// Visits the files of a kind.
    pub(crate) fn files(&self, kind: DocKind, visit: &mut dyn FnMut(&str, &FileState)) -> Result<(), IndexError> {
        let sql = format!("SELECT {STATE}, name FROM files WHERE kind = ?1");
        let walked = self.connection.prepare_cached(&sql).and_then(|mut statement| {
            let mut rows = statement.query([kind.number()])?;
            while let Some(row) = rows.next()? {
                let state = FileState::read(row)?;
                visit(row.get_ref(7)?.as_str()?, &state);
            }
            Ok(())
        });
        self.sql(walked)
    }

    /// Returns the names of a kind's files that have problems, with the problems, by name.
    pub(crate) fn files_with_problems(&self, kind: DocKind) -> Result<Vec<(String, String)>, IndexError> {
        let problems = self
            .connection
            .prepare_cached("SELECT name, problems FROM files WHERE kind = ?1 AND problems <> '' ORDER BY name")
            .and_then(|mut statement| {
                statement
                    .query_map([kind.number()], |row| Ok((row.get(0)?, row.get(1)?)))?
                    .collect()
            });
        self.sql(problems)
    }

    /// Records the state of a file; its documents are not touched.
    pub(crate) fn put_file(&self, kind: DocKind, name: &str, state: &FileState) -> Result<(), IndexError> {
        let stamp = &state.stamp;
        let put = self.connection.prepare_cached(
            "INSERT OR REPLACE INTO files (kind, name, inode, size, mtime_ns, ctime_ns, indexed_ns, digest, problems)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
        );
        let put = put.and_then(|mut statement| {
            statement.execute(params![
                kind.number(),
                name,
                stamp.inode.cast_signed(),
                stamp.size.cast_signed(),
                stamp.mtime_ns,
                stamp.ctime_ns,
                state.indexed_ns,
                state.digest.to_le_bytes(),
                state.problems,
            ])
        });
        self.sql(put).map(drop)
    }

    /// Removes the record of a file; its documents are not touched.
    pub(crate) fn forget_file(&self, kind: DocKind, name: &str) -> Result<(), IndexError> {
        let removed = self
            .connection
            .prepare_cached("DELETE FROM files WHERE kind = ?1 AND name = ?2")
            .and_then(|mut statement| statement.execute(params![kind.number(), name]));
        self.sql(removed).map(drop)
    }

    /// Returns what a source that is not one file was like when it was read.
    pub(crate) fn kind_stamp(&self, kind: DocKind) -> Result<Option<Vec<u8>>, IndexError> {
        let stamp = self
            .connection
            .prepare_cached("SELECT stamp FROM kinds WHERE kind = ?1")
            .and_then(|mut statement| statement.query_row([kind.number()], |row| row.get(0)));
        self.sql(stamp)
    }

    pub(crate) fn put_kind_stamp(&self, kind: DocKind, stamp: Option<&[u8]>) -> Result<(), IndexError> {
        let put = self
            .connection
            .prepare_cached("UPDATE kinds SET stamp = ?2 WHERE kind = ?1")
            .and_then(|mut statement| statement.execute(params![kind.number(), stamp]));
        self.sql(put).map(drop)
    }
}
