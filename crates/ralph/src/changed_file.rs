//! Changes files that ralph touches only now and then: under their lock, durably, and without leaving a lock file behind.

use std::path::Path;

use ralph_notes::{LockedFile, Patches, Patience};

use crate::error::CommandError;

/// Applies an edit to a file, which need not exist.
pub(crate) fn change_file(
    path: &Path,
    patience: &Patience<'_>,
    edit: impl FnMut(&[u8]) -> Result<Patches, CommandError>,
) -> Result<(), CommandError> {
    under_lock(path, patience, |locked| locked.update(b"", edit).map(drop))
}

/// Takes a file away if it still holds these bytes; says whether it did.
pub(crate) fn remove_file(path: &Path, patience: &Patience<'_>, expected: &[u8]) -> Result<bool, CommandError> {
    under_lock(path, patience, |locked| Ok(locked.remove(expected)?))
}

fn under_lock<T>(
    path: &Path,
    patience: &Patience<'_>,
    work: impl FnOnce(&mut LockedFile<'_>) -> Result<T, CommandError>,
) -> Result<T, CommandError> {
    let mut locked = LockedFile::lock(path, patience)?;
    let done = work(&mut locked);
    let unlocked = locked.unlock_without_trace();
    let done = done?;
    unlocked?;
    Ok(done)
}
