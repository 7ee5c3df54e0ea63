//! Durable file operations that also give new files the right owner.

use std::fs::{self, File, Metadata, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};

use ralph_process::open_lock_file;

use crate::{FileError, sys};

/// The mode of a new file before the umask applies.
pub(crate) const NEW_FILE_MODE: u32 = 0o666;

/// The owner of a new file.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Owner<'a> {
    /// The owner and mode of this file.
    Like(&'a Metadata),
    /// The current user. Files that root creates in another user's folder go to that user, who could not change them
    /// otherwise.
    OfFolder,
}

/// Creates a file and syncs it; removes it on failure.
pub(crate) fn write_synced<'a>(
    path: &Path,
    pieces: impl Iterator<Item = &'a [u8]>,
    owner: Owner<'_>,
) -> io::Result<()> {
    let mode = match owner {
        Owner::Like(metadata) => metadata.permissions().mode() & 0o7777,
        Owner::OfFolder => NEW_FILE_MODE,
    };
    let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(path)?;
    let written = (|| {
        match owner {
            Owner::Like(metadata) => {
                hand_over(&file, metadata)?;
                file.set_permissions(Permissions::from_mode(mode))?;
            }
            Owner::OfFolder => hand_to_owner_of_folder(&file, path)?,
        }
        for piece in pieces {
            file.write_all(piece)?;
        }
        file.sync_all()
    })();
    written.inspect_err(|_| drop(fs::remove_file(path)))
}

/// Creates a file durably, whole or not at all.
///
/// # Errors
/// `AlreadyExists` if the file exists; otherwise any I/O error.
pub fn write_new_file(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    let failed = |source| FileError::new("create", path, source);
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let beside = path.with_file_name(format!(".{name}.ralph-new"));
    let mut file = lock_scratch(&beside).map_err(failed)?;
    let written = (|| {
        if fs::symlink_metadata(path).is_ok() {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        file.set_len(0)?;
        hand_to_owner_of_folder(&file, path)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        sys::rename_new(&beside, path)
    })();
    written.map_err(|source| {
        drop(fs::remove_file(&beside));
        failed(source)
    })?;
    sync_folder(folder_of(path)).inspect_err(|_| drop(fs::remove_file(path)))
}

/// Opens the temporary file for one process at a time. A killed process leaves it behind, and the next one reuses it.
fn lock_scratch(path: &Path) -> io::Result<File> {
    loop {
        let file = open_lock_file(path, NEW_FILE_MODE)?;
        file.lock()?;
        // The previous holder may have renamed or removed it; then the lock is on a dead file.
        if fs::metadata(path).is_ok_and(|there| file.metadata().is_ok_and(|mine| mine.ino() == there.ino())) {
            return Ok(file);
        }
    }
}

/// Moves a file or folder to an unused name, durably.
///
/// # Errors
/// If the name is taken, is on another file system, or cannot be created.
pub fn move_new(from: &Path, to: &Path) -> Result<(), FileError> {
    sys::rename_new(from, to).map_err(|source| FileError::new("move", from, source))?;
    to.parent().map_or(Ok(()), sync_folder)
}

/// Links a file to a second name beside it: its own name with a suffix, plus a number if that is taken.
///
/// # Errors
/// If neither a link nor a copy can be made.
pub fn link_beside(file: &Path, suffix: &str) -> Result<PathBuf, FileError> {
    let linked = first_free(file, suffix, |name| fs::hard_link(file, name));
    // Copy where hard links are not supported.
    let copied = || first_free(file, suffix, |name| copy_new(file, name));
    linked
        .or_else(|_| copied())
        .map_err(|source| FileError::new("keep", file, source))
}

/// Copies a file to an unused name, durably, whole or not at all.
fn copy_new(file: &Path, copy: &Path) -> io::Result<()> {
    let name = copy.file_name().unwrap_or_default().to_string_lossy();
    let beside = copy.with_file_name(format!(".{name}.ralph-new"));
    let copied = fs::copy(file, &beside)
        .and_then(|_| File::open(&beside)?.sync_all())
        .and_then(|()| sys::rename_new(&beside, copy));
    copied.inspect_err(|_| drop(fs::remove_file(&beside)))
}

/// Finds the first free name beside a file by trying: the file's name with a suffix, then with a number.
pub(crate) fn first_free(
    file: &Path,
    suffix: &str,
    mut take: impl FnMut(&Path) -> io::Result<()>,
) -> io::Result<PathBuf> {
    let mut number = 1;
    loop {
        let mut name = file.to_owned().into_os_string();
        name.push(suffix);
        if number > 1 {
            name.push(format!("-{number}"));
        }
        let beside = PathBuf::from(name);
        let taken = if fs::symlink_metadata(&beside).is_ok() {
            Err(io::ErrorKind::AlreadyExists.into())
        } else {
            take(&beside)
        };
        match taken {
            Ok(()) => return Ok(beside),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
            Err(error) => return Err(error),
        }
    }
}

/// Creates a folder and its parents, durably.
///
/// # Errors
/// If a folder cannot be created.
pub fn create_folder(folder: &Path) -> Result<(), FileError> {
    if folder.as_os_str().is_empty() || folder.is_dir() {
        return Ok(());
    }
    let parent = folder_of(folder);
    create_folder(parent)?;
    match fs::create_dir(folder) {
        Ok(()) => {}
        Err(_) if folder.is_dir() => return Ok(()),
        Err(source) => return Err(FileError::new("create", folder, source)),
    }
    File::open(folder)
        .and_then(|made| hand_to_owner_of_folder(&made, folder))
        .map_err(|source| FileError::new("create", folder, source))?;
    sync_folder(parent)
}

/// Makes renames and new names in a folder durable.
pub(crate) fn sync_folder(folder: &Path) -> Result<(), FileError> {
    let folder = if folder.as_os_str().is_empty() {
        Path::new(".")
    } else {
        folder
    };
    File::open(folder)
        .and_then(|file| file.sync_all())
        .map_err(|source| FileError::new("sync", folder, source))
}

/// Changes the owner of a file that root created to the owner of its folder.
pub(crate) fn hand_to_owner_of_folder(file: &File, path: &Path) -> io::Result<()> {
    let made_by_root = file.metadata()?.uid() == 0;
    if made_by_root && let Ok(folder) = fs::metadata(folder_of(path)) {
        hand_over(file, &folder)?;
    }
    Ok(())
}

/// Changes owner and group of a file. Only root may give files away; others at least keep the group where they may, so
/// that a file shared by a group stays shared.
fn hand_over(file: &File, like: &Metadata) -> io::Result<()> {
    let mine = file.metadata()?;
    if (mine.uid(), mine.gid()) != (like.uid(), like.gid()) && fchown(file, Some(like.uid()), Some(like.gid())).is_err()
    {
        drop(fchown(file, None, Some(like.gid())));
    }
    Ok(())
}

fn folder_of(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new(""))
}
