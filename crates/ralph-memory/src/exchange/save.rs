//! Writes a store over another one. The old one becomes the backup, but only if it is good: what is broken never takes the
//! place of what is not.

use std::path::{Path, PathBuf};

use ralph_notes::{FileError, LockedFile, Patches, Patience, link_beside};

use super::file::{ForeignFile, backup_of};

/// What stands behind the name of a file that was broken.
const BROKEN: &str = ".broken";

/// What was kept of the file that stood there before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kept {
    /// There was none, or it held the same.
    Nothing,
    /// It is the backup now.
    AsBackup(PathBuf),
    /// It was broken, and lies here; the backup is as it was.
    AsBroken(PathBuf),
}

/// Writes a file durably, and whole or not at all.
///
/// # Errors
/// When the file system says no; the file and its backup are then good where they were.
pub fn save(file: &ForeignFile, path: &Path, patience: &Patience<'_>) -> Result<Kept, FileError> {
    let text = file.text().into_bytes();
    let mut kept = Kept::Nothing;
    replace(path, patience, |standing| {
        if standing == text {
            return Ok(Patches::none());
        }
        kept = keep(file, path, standing, patience)?;
        Ok(Patches::whole(standing, text.clone()))
    })?;
    Ok(kept)
}

/// Keeps what stands in a file before another text takes its place.
fn keep(file: &ForeignFile, path: &Path, standing: &[u8], patience: &Patience<'_>) -> Result<Kept, FileError> {
    if standing.is_empty() {
        return Ok(Kept::Nothing);
    }
    if ForeignFile::read(file.kind(), standing).is_err() {
        return link_beside(path, BROKEN).map(Kept::AsBroken);
    }
    let backup = backup_of(path);
    replace(&backup, patience, |old| {
        Ok(if old == standing {
            Patches::none()
        } else {
            Patches::whole(old, standing.to_vec())
        })
    })?;
    Ok(Kept::AsBackup(backup))
}

/// Changes a file under its lock, which is gone afterwards.
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
