//! Failures that programs and agents tell of in many ways, and the one name that each has in warnings. What a run met and what
//! a warning warns of are read alike, so that the one finds the other.

use std::sync::LazyLock;

use crate::sayings::{Category, category_of};

/// How a lesson begins that warns of something.
pub(crate) const AVOID: &str = "Avoid: ";

/// Failures, and how programs and agents tell of them.
static FAILURES: LazyLock<[Category; 5]> = LazyLock::new(|| {
    [
        Category::of(
            "Syntax errors - check code carefully before execution",
            &["syntax", "parse"],
        ),
        Category::of("Null/undefined errors - add validation checks", &["undefined", "null"]),
        Category::of(
            "Timeout errors - break into smaller steps",
            &["timeout", "timed out", "time out", "took longer than"],
        ),
        Category::of(
            "Permission errors - check file/directory permissions",
            &["permission", "access denied"],
        ),
        Category::of(
            "Module not found - verify dependencies installed",
            &[
                "cannot find module",
                "module not found",
                "no module named",
                "missing module",
                "missing dependency",
            ],
        ),
    ]
});

/// The failure that a text tells of, if it is one of those that have a name.
pub(crate) fn failure_told_in(text: &str) -> Option<&'static Category> {
    category_of(text, FAILURES.as_slice())
}
