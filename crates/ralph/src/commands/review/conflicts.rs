//! Lessons that contradict each other, as the inbox has them.

use jiff::Timestamp;
use ralph_model::Learning;
use ralph_store::Store;
use serde::Serialize;

use crate::error::CommandError;

/// Two lessons that contradict each other.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Conflict {
    pub(super) one: Learning,
    pub(super) other: Learning,
    /// In what, in words.
    pub(super) why: String,
}

/// Which of two lessons holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Keep {
    One,
    Other,
    Both,
}

/// The pairs of which nobody has said yet which one holds.
pub(super) fn open_conflicts(_store: &Store) -> Result<Vec<Conflict>, CommandError> {
    Ok(Vec::new())
}

/// Says which one holds; the answer tells what is so now.
pub(super) fn settle(
    _store: &mut Store,
    _conflict: &Conflict,
    _keep: Keep,
    _now: Timestamp,
) -> Result<String, CommandError> {
    Ok(String::new())
}
