//! Changes files that ralph edits rarely: under a lock, durably, and without leaving a lock file behind.

use std::path::Path;

use ralph_notes::{LockedFile, Patches, Patience};

use crate::error::CommandError;

/// Applies an edit to a file, which need not exist.
pub(crate) fn change_file(
    path: &Path,
    patience: &Patience<'_>,
    edit: impl FnMut(&[u8]) -> Result<Patches, CommandError>,
) -> Result<(), CommandError> {
    with_lock(path, patience, |locked| locked.update(b"", edit).map(drop))
}

/// Removes a file if it still has these bytes; returns whether it did.
pub(crate) fn remove_file(path: &Path, patience: &Patience<'_>, expected: &[u8]) -> Result<bool, CommandError> {
    with_lock(path, patience, |locked| Ok(locked.remove(expected)?))
}

fn with_lock<T>(
    path: &Path,
    patience: &Patience<'_>,
    work: impl FnOnce(&mut LockedFile<'_>) -> Result<T, CommandError>,
) -> Result<T, CommandError> {
    let mut locked = LockedFile::lock(path, patience)?;
    let result = work(&mut locked);
    let unlocked = locked.unlock_without_trace();
    let result = result?;
    unlocked?;
    Ok(result)
}
