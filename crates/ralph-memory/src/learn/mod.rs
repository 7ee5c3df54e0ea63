//! Learning extraction from whole runs, and upkeep of stored learnings: similar ones are merged, unused ones pruned,
//! and the long texts of old reports dropped (only these cannot be restored). Also finds conflicts.

mod conflicts;
mod extract;
mod groups;
mod upkeep;

pub use crate::similarity::{Difference, conflict};
pub use conflicts::{Conflict, conflicts};
pub use extract::{Learned, Learnings, extract_learnings, learn_from, learn_from_run, learn_from_runs};
pub use groups::merge_groups;
pub use upkeep::{LIFECYCLE_TIME, Upkeep, keep_up, prune_rules};

#[cfg(test)]
mod near_duplicates_tests;
