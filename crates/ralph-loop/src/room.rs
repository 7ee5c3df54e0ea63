//! Whether there is room on the disk: what fails while there is none is not held against anybody, and done again.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// How much has to fit, so that a small thing that fits by chance is not taken for room.
const PROBE: usize = 1 << 20;

/// What a file system writes at least.
const BLOCK: usize = 4 << 10;

/// The name of the file with which that is tried where there are none without a name.
const PROBE_NAME: &str = ".ralph-room";

/// Whether one of these folders is on a disk that is full, found out by writing.
#[must_use]
pub fn is_disk_full(folders: &[PathBuf]) -> bool {
    Places(folders.to_vec()).are_full()
}

/// The folders of a run that may be on different disks.
#[derive(Debug, Clone)]
pub(crate) struct Places(pub(crate) Vec<PathBuf>);

impl Places {
    /// Whether one of them is on a disk that is full, found out by writing. Any other trouble is none of this.
    pub(crate) fn are_full(&self) -> bool {
        self.0
            .iter()
            .any(|folder| try_to_write(folder).is_err_and(|error| is_full(&error)))
    }
}

/// Whether an error says that there was no room.
pub(crate) fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded)
}

fn try_to_write(folder: &Path) -> io::Result<()> {
    let mut file = open_nameless(folder).or_else(|_| open_and_unname(&folder.join(PROBE_NAME)))?;
    // Most file systems give a file its place at once when they are asked to, which costs next to nothing. Some of them still
    // have none for what is written there.
    match take_room(&file) {
        Ok(()) => return file.write_all(&[0; BLOCK]),
        Err(error) if is_full(&error) => return Err(error),
        Err(_not_told) => {}
    }
    file.write_all(&vec![0; PROBE])?;
    // Some file systems only say now that there was none.
    file.sync_data()
}

#[cfg(target_os = "linux")]
fn take_room(file: &File) -> io::Result<()> {
    use rustix::fs::{FallocateFlags, fallocate};

    Ok(fallocate(file, FallocateFlags::empty(), 0, PROBE as u64)?)
}

#[cfg(not(target_os = "linux"))]
fn take_room(_file: &File) -> io::Result<()> {
    Err(ErrorKind::Unsupported.into())
}

/// A file that nobody else sees.
#[cfg(target_os = "linux")]
fn open_nameless(folder: &Path) -> io::Result<File> {
    OpenOptions::new()
        .write(true)
        .mode(0o600)
        .custom_flags(rustix::fs::OFlags::TMPFILE.bits().cast_signed())
        .open(folder)
}

#[cfg(not(target_os = "linux"))]
fn open_nameless(_folder: &Path) -> io::Result<File> {
    Err(ErrorKind::Unsupported.into())
}

/// A file whose name is gone at once.
fn open_and_unname(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    std::fs::remove_file(path)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_with_room_is_not_full_and_nothing_is_left_in_it() {
        let folder = tempfile::tempdir().unwrap();
        let places = Places(vec![folder.path().to_owned(), folder.path().join("gone")]);
        assert!(!places.are_full());
        drop(open_and_unname(&folder.path().join(PROBE_NAME)).unwrap());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
