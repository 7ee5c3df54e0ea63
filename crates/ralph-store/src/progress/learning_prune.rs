//! Pruning by a user's criteria. Pruned learnings can be restored.

use jiff::Timestamp;
use ralph_model::Learning;
use rusqlite::{Connection, named_params};

use super::Store;
use super::columns::moment;
use super::learning_reading::read_learning;
use super::lifecycle::{ACTIVE, prune};
use crate::StoreError;

/// Criteria for pruning; all that are set must match.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct PruneFilter {
    /// Upper bound for the confidence or, unless it is a warning, the success rate.
    pub below: Option<f64>,
    pub unchanged_since: Option<Timestamp>,
    /// Only those without a counted use.
    pub only_unused: bool,
}

impl Store {
    /// Returns the active and proposed learnings that match a filter, oldest first.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn learnings_matching(&self, filter: &PruneFilter) -> Result<Vec<Learning>, StoreError> {
        self.sql(matching(&self.connection, filter))
    }

    /// Prunes all that match and returns them.
    ///
    /// # Errors
    /// When the database cannot be written; then nothing is pruned.
    pub fn prune_matching(
        &mut self,
        filter: &PruneFilter,
        reason: &str,
        now: Timestamp,
    ) -> Result<Vec<Learning>, StoreError> {
        self.write(|transaction| {
            let found = matching(transaction, filter)?;
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

fn matching(connection: &Connection, filter: &PruneFilter) -> rusqlite::Result<Vec<Learning>> {
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
