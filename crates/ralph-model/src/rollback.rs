//! How far a rollback got.

use crate::word_enum::word_enum;

word_enum! {
    /// How far a rollback got.
    pub enum RollbackState {
        /// The commits that undo the code may still have to land; nothing else has changed.
        Landing = "landing",
        /// Files may still have to be written.
        Open = "open",
        /// All is done.
        Done = "done",
        /// It is being undone, and the commits that bring the code back may still have to land.
        Relanding = "relanding",
        /// It is being undone, and files may still have to be written.
        Undoing = "undoing",
        /// It was undone.
        Undone = "undone",
    }
}
