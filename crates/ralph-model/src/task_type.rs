//! What kind of work a task is.

use crate::word_enum::word_enum;

word_enum! {
    /// The type of a task. If several match, the first in this order wins.
    pub enum TaskType {
        TestFix = "test-fix",
        Feature = "feature",
        Refactor = "refactor",
        BugFix = "bug-fix",
        Documentation = "documentation",
        Architecture = "architecture",
        Performance = "performance",
        General = "general",
    }
}
