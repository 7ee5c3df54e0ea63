//! Progress of a rollback.

use crate::word_enum::word_enum;

word_enum! {
    /// Progress of a rollback.
    pub enum RollbackState {
        /// The reverting commits may not have landed; nothing else has changed.
        Landing = "landing",
        /// Files may still have to be written.
        Open = "open",
        Done = "done",
        /// The undo of the rollback has begun; its commits may not have landed.
        Relanding = "relanding",
        /// The undo of the rollback has begun; files may still have to be written.
        Undoing = "undoing",
        Undone = "undone",
    }
}
