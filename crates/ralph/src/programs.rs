//! Which programs a shell finds, `ralph` itself among them. Nothing is run.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::env;

/// Which `ralph` is found by those who call it by its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Program {
    /// This one.
    This,
    /// Another file.
    Other(PathBuf),
    /// None.
    NotFound,
}

/// The `ralph` that a shell finds.
pub(crate) fn find_ralph() -> Program {
    let Some(found) = on_path("ralph") else {
        return Program::NotFound;
    };
    let same = |this: PathBuf| Some(this.canonicalize().ok()? == found.canonicalize().ok()?);
    match std::env::current_exe().ok().and_then(same) {
        Some(true) | None => Program::This,
        Some(false) => Program::Other(found),
    }
}

/// The program of a name that a shell finds.
pub(crate) fn on_path(name: &str) -> Option<PathBuf> {
    let mut candidates = env::program_folders().into_iter().map(|folder| folder.join(name));
    candidates.find(|file| can_run(file))
}

/// Whether a file is a program.
pub(crate) fn can_run(file: &Path) -> bool {
    let metadata = std::fs::metadata(file);
    metadata.is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}
