//! How far a rollback of an iteration or a run got.

use crate::word_enum::word_enum;

word_enum! {
    /// How far a rollback got.
    pub enum RollbackState {
        /// Files may still have to be written.
        Open = "open",
        /// All is done.
        Done = "done",
        /// It is being undone, and files may still have to be written.
        Undoing = "undoing",
        /// It was undone.
        Undone = "undone",
    }
}
