//! A person prunes lessons by what they are like. They can be brought back as any that were pruned.

use jiff::Timestamp;
use ralph_model::Learning;
use rusqlite::{Connection, named_params};

use super::Store;
use super::columns::moment;
use super::learning_reading::read_learning;
use super::lifecycle::{ACTIVE, prune};
use crate::StoreError;

/// Which lessons are to go: those that fit all that is set.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct PruneFilter {
    /// Less sure than this, or, unless they warn of something, less often successful.
    pub below: Option<f64>,
    /// Not changed since this moment.
    pub unchanged_since: Option<Timestamp>,
    /// Only those that stood in no prompt that counts.
    pub only_unused: bool,
}

impl Store {
    /// The lessons that fit a filter, of those that hold or wait to, the oldest first.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn learnings_fitting(&self, filter: &PruneFilter) -> Result<Vec<Learning>, StoreError> {
        self.sql(fitting(&self.connection, filter))
    }

    /// Prunes them all, for this reason; those that were.
    ///
    /// # Errors
    /// When the database cannot be written; then none was pruned.
    pub fn prune_fitting(
        &mut self,
        filter: &PruneFilter,
        reason: &str,
        now: Timestamp,
    ) -> Result<Vec<Learning>, StoreError> {
        self.write(|transaction| {
            let found = fitting(transaction, filter)?;
            for learning in &found {
                prune(
                    transaction,
                    &learning.id,
                    (reason, learning.superseded_by.as_ref()),
                    now,
                )?;
            }
            Ok(found)
        })
    }
}

fn fitting(connection: &Connection, filter: &PruneFilter) -> rusqlite::Result<Vec<Learning>> {
    let sql = format!(
        "SELECT * FROM learnings
         WHERE {ACTIVE}
           AND (:below IS NULL OR confidence < :below OR kind <> 'antipattern' AND success_rate < :below)
           AND (:since IS NULL OR updated_at < :since)
           AND (NOT :unused OR use_count = 0)
         ORDER BY created_at, seq"
    );
    let parameters = named_params! {
        ":below": filter.below,
        ":since": filter.unchanged_since.map(moment),
        ":unused": filter.only_unused,
    };
    connection
        .prepare_cached(&sql)?
        .query_map(parameters, read_learning)?
        .collect()
}
