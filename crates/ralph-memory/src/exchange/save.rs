//! Overwrites a store. The old one becomes the backup only if it is good: a broken file never replaces a good one.

use std::path::{Path, PathBuf};

use ralph_notes::{FileError, LockedFile, Patches, Patience, link_beside};

use super::file::{ForeignFile, backup_of};

/// Suffix of broken files.
const BROKEN: &str = ".broken";

/// What happened to the previous file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kept {
    /// There was none, or it was identical.
    Nothing,
    /// It is now the backup.
    AsBackup(PathBuf),
    /// It was broken and was moved here; the backup is unchanged.
    AsBroken(PathBuf),
}

/// Writes a file durably and atomically.
///
/// # Errors
/// When the file system says no; the file and its backup are then good where they were.
pub fn save(file: &ForeignFile, path: &Path, patience: &Patience<'_>) -> Result<Kept, FileError> {
    let text = file.text().into_bytes();
    let mut kept = Kept::Nothing;
    replace(path, patience, |current| {
        if current == text {
            return Ok(Patches::none());
        }
        kept = keep(file, path, current, patience)?;
        Ok(Patches::whole(current, text.clone()))
    })?;
    Ok(kept)
}

/// Preserves the current file before it is overwritten.
fn keep(file: &ForeignFile, path: &Path, current: &[u8], patience: &Patience<'_>) -> Result<Kept, FileError> {
    if current.is_empty() {
        return Ok(Kept::Nothing);
    }
    if ForeignFile::read(file.kind(), current).is_err() {
        return link_beside(path, BROKEN).map(Kept::AsBroken);
    }
    let backup = backup_of(path);
    replace(&backup, patience, |old| {
        Ok(if old == current {
            Patches::none()
        } else {
            Patches::whole(old, current.to_vec())
        })
    })?;
    Ok(Kept::AsBackup(backup))
}

/// Changes a file under its lock, and removes the lock file.
fn replace(
    path: &Path,
    patience: &Patience<'_>,
    edit: impl FnMut(&[u8]) -> Result<Patches, FileError>,
) -> Result<(), FileError> {
    let mut locked = LockedFile::lock(path, patience)?;
    let done = locked.update(b"", edit);
    let unlocked = locked.unlock_without_trace();
    done?;
    unlocked
}
