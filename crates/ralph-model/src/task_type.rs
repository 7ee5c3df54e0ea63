//! What kind of work a task is.

use crate::word_enum::word_enum;

word_enum! {
    /// What kind of work a task is. Where several fit, the first here does.
    pub enum TaskType {
        /// Tests are to be mended or written.
        TestFix = "test-fix",
        /// Something new is to be made.
        Feature = "feature",
        /// What is there gets another shape.
        Refactor = "refactor",
        /// Something is wrong.
        BugFix = "bug-fix",
        /// Something is to be explained.
        Documentation = "documentation",
        /// The shape of the whole is to be thought out.
        Architecture = "architecture",
        /// It is to become faster.
        Performance = "performance",
        /// Nothing of all that.
        General = "general",
    }
}
