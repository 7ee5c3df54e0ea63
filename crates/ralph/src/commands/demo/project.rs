//! The demo project: small text commands with tests, and two facts that are needed to change it.

use std::fs::{File, create_dir_all};
use std::io::{self, Write};
use std::path::Path;

use crate::paths;

/// The tasks, as a checklist.
pub(super) const PLAN: &str = "PLAN.md";

const FILES: &[(&str, &str)] = &[
    (paths::CONFIG, include_str!("project/ralph.toml")),
    (PLAN, include_str!("project/PLAN.md")),
    ("README.md", include_str!("project/README.md")),
    ("VERSION", include_str!("project/VERSION")),
    ("check.sh", include_str!("project/check.sh")),
    ("commands.txt", include_str!("project/commands.txt")),
    ("commands/lower.sh", include_str!("project/commands/lower.sh")),
    ("tests/lower.sh", include_str!("project/tests/lower.sh")),
    ("tools/list.sh", include_str!("project/tools/list.sh")),
];

pub(super) fn write_to(folder: &Path) -> io::Result<()> {
    FILES
        .iter()
        .try_for_each(|(name, text)| write_file(&folder.join(name), text))
}

/// Writes in place, like agents and editors do; the files need not be durable.
pub(super) fn write_file(path: &Path, text: &str) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        create_dir_all(folder)?;
    }
    File::create(path)?.write_all(text.as_bytes())
}
