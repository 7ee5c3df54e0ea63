//! Questions that belong together are answered as of one moment.

use std::ops::Deref;

use rusqlite::{Connection, Transaction};

use super::Store;
use crate::StoreError;

/// One moment of the database: while it lasts, every question of this process is answered as of its first one, whatever others
/// write meanwhile. It also saves taking and leaving the lock of the database for each of them.
#[derive(Debug)]
pub struct Moment<'s> {
    connection: &'s Connection,
    /// None within another moment, which lasts longer. It only reads, so how it ends makes no difference.
    _transaction: Option<Transaction<'s>>,
}

impl Deref for Moment<'_> {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        self.connection
    }
}

impl Store {
    /// Begins a moment, or joins the one that lasts already.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn moment(&self) -> Result<Moment<'_>, StoreError> {
        self.sql(self.look())
    }

    pub(super) fn look(&self) -> rusqlite::Result<Moment<'_>> {
        let connection = &self.connection;
        let begun = connection.is_autocommit().then(|| connection.unchecked_transaction());
        Ok(Moment {
            connection,
            _transaction: begun.transpose()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::{Store, Wait};

    #[test]
    fn a_moment_within_another_sees_what_that_one_sees() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("progress.db");
        let store = Store::open_or_create(&path).unwrap();
        let other = Store::open_existing(&path, Wait::Long).unwrap().unwrap();
        let count = |store: &Store| -> i64 {
            let moment = store.look().unwrap();
            moment
                .query_row("SELECT count(*) FROM settled_conflicts", [], |row| row.get(0))
                .unwrap()
        };
        {
            let _outer = store.moment().unwrap();
            assert_eq!(count(&store), 0);
            let settle = "INSERT INTO settled_conflicts VALUES ('a', 'b', '2026-01-01T00:00:00.000Z')";
            other.connection.execute(settle, []).unwrap();
            assert_eq!(count(&other), 1);
            assert_eq!(count(&store), 0, "the moment still lasts");
        }
        assert_eq!(count(&store), 1);
    }
}
