//! Known failures and the name each has in warnings. Errors of a run and texts of warnings are classified alike, so
//! that one finds the other.

use std::sync::LazyLock;

use crate::text_category::{Category, category_of};

/// The prefix of extracted warnings.
pub(crate) const AVOID: &str = "Avoid: ";

/// Failures, and how programs and agents describe them.
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

/// The known failure that a text describes.
pub(crate) fn known_failure(text: &str) -> Option<&'static Category> {
    category_of(text, FAILURES.as_slice())
}
