//! Writing files and names so that they are there after a power cut, and belong to whom they should.

use std::fs::{self, File, Metadata, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};

use ralph_process::open_lock_file;

use crate::{FileError, sys};

/// The mode of a new file, from which the system takes away what the user does not want to grant.
pub(crate) const NEW_FILE_MODE: u32 = 0o666;

/// Whose a new file shall be.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Owner<'a> {
    /// Whose this one is, and with its mode.
    Like(&'a Metadata),
    /// Ours; but what root makes in another user's folder belongs to that user, who could not change it else.
    OfFolder,
}

/// Writes a file that must not be there yet, and syncs it; after a failure there is none.
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

/// Writes a file that must not be there yet, durably and whole or not at all.
///
/// # Errors
/// `AlreadyExists` when it is there; else what the file system says.
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

/// Opens a file to write in before it gets its name, for one process at a time. A process that was killed leaves it, and
/// the next one uses it again.
fn lock_scratch(path: &Path) -> io::Result<File> {
    loop {
        let file = open_lock_file(path, NEW_FILE_MODE)?;
        file.lock()?;
        // Whoever held it has removed it; then it is nobody's any more.
        if fs::metadata(path).is_ok_and(|there| file.metadata().is_ok_and(|mine| mine.ino() == there.ino())) {
            return Ok(file);
        }
    }
}

/// Moves a file or a folder, with what is in it, to a name that nobody has, durably.
///
/// # Errors
/// When the name is taken, the other place is on another file system, or this one says no.
pub fn move_new(from: &Path, to: &Path) -> Result<(), FileError> {
    sys::rename_new(from, to).map_err(|source| FileError::new("move", from, source))?;
    to.parent().map_or(Ok(()), sync_folder)
}

/// Gives a file a second name beside it: its own with a suffix, and a number where that is taken.
///
/// # Errors
/// When the file system says no.
pub fn link_beside(file: &Path, suffix: &str) -> Result<PathBuf, FileError> {
    let linked = first_free(file, suffix, |name| fs::hard_link(file, name));
    // A copy is as good where there are no links.
    let copied = || first_free(file, suffix, |name| copy_new(file, name));
    linked
        .or_else(|_| copied())
        .map_err(|source| FileError::new("keep", file, source))
}

/// Copies a file to a name that must not be there yet, durably and whole or not at all.
fn copy_new(file: &Path, copy: &Path) -> io::Result<()> {
    let name = copy.file_name().unwrap_or_default().to_string_lossy();
    let beside = copy.with_file_name(format!(".{name}.ralph-new"));
    let copied = fs::copy(file, &beside)
        .and_then(|_| File::open(&beside)?.sync_all())
        .and_then(|()| sys::rename_new(&beside, copy));
    copied.inspect_err(|_| drop(fs::remove_file(&beside)))
}

/// Finds the first name beside a file that is free, by trying: the file's own with a suffix, then with a number.
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

/// Makes a folder and its parents where they are missing, durably.
///
/// # Errors
/// When one cannot be made.
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

/// Makes the names in a folder durable.
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

/// Hands a file that root made to the owner of the folder it lies in.
pub(crate) fn hand_to_owner_of_folder(file: &File, path: &Path) -> io::Result<()> {
    let made_by_root = file.metadata()?.uid() == 0;
    if made_by_root && let Ok(folder) = fs::metadata(folder_of(path)) {
        hand_over(file, &folder)?;
    }
    Ok(())
}

/// Hands a file over to an owner and a group. Only root may give files away; others keep at least the group where they
/// may, so that a file shared by a group stays shared.
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
