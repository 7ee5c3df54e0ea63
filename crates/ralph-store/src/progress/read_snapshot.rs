//! Consistent reads across several queries.

use std::ops::Deref;

use rusqlite::{Connection, Transaction};

use super::Store;
use crate::StoreError;

/// A read snapshot of the database: while it exists, all queries of this store see the same state, whatever others
/// write meanwhile. It also avoids taking and releasing the database lock for each query.
#[derive(Debug)]
pub struct ReadSnapshot<'s> {
    connection: &'s Connection,
    /// None inside another snapshot, which outlives this one. It only reads, so how it ends makes no difference.
    _transaction: Option<Transaction<'s>>,
}

impl Deref for ReadSnapshot<'_> {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        self.connection
    }
}

impl Store {
    /// Begins a snapshot, or joins the current one.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn snapshot(&self) -> Result<ReadSnapshot<'_>, StoreError> {
        self.sql(self.begin_read())
    }

    pub(super) fn begin_read(&self) -> rusqlite::Result<ReadSnapshot<'_>> {
        let connection = &self.connection;
        let begun = connection.is_autocommit().then(|| connection.unchecked_transaction());
        Ok(ReadSnapshot {
            connection,
            _transaction: begun.transpose()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::{Store, Wait};

    #[test]
    fn nested_snapshot_sees_the_outer_state() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("progress.db");
        let store = Store::open_or_create(&path).unwrap();
        let other = Store::open_existing(&path, Wait::Long).unwrap().unwrap();
        let count = |store: &Store| -> i64 {
            let snapshot = store.begin_read().unwrap();
            snapshot
                .query_row("SELECT count(*) FROM settled_conflicts", [], |row| row.get(0))
                .unwrap()
        };
        {
            let _outer = store.snapshot().unwrap();
            assert_eq!(count(&store), 0);
            let settle = "INSERT INTO settled_conflicts VALUES ('a', 'b', '2026-01-01T00:00:00.000Z')";
            other.connection.execute(settle, []).unwrap();
            assert_eq!(count(&other), 1);
            assert_eq!(count(&store), 0, "the outer snapshot is still open");
        }
        assert_eq!(count(&store), 1);
    }
}
