//! Checks for a full disk. What fails while the disk is full does not count, and is retried.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// How much must fit, so that a small write that happens to succeed does not count as free space.
const PROBE: usize = 1 << 20;

/// The smallest write of a file system.
const BLOCK: usize = 4 << 10;

/// The probe file where the file system has no unnamed files.
const PROBE_NAME: &str = ".ralph-room";

/// Whether one of these folders is on a full disk, tested by writing.
#[must_use]
pub fn is_disk_full(folders: &[PathBuf]) -> bool {
    Volumes(folders.to_vec()).are_full()
}

/// The folders of a run, which may be on different disks.
#[derive(Debug, Clone)]
pub(crate) struct Volumes(pub(crate) Vec<PathBuf>);

impl Volumes {
    /// Whether one of them is on a full disk, tested by writing. Other errors do not count.
    pub(crate) fn are_full(&self) -> bool {
        self.0
            .iter()
            .any(|folder| try_to_write(folder).is_err_and(|error| is_full(&error)))
    }
}

/// Whether an error means that the disk is full.
pub(crate) fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded)
}

fn try_to_write(folder: &Path) -> io::Result<()> {
    let mut file = open_nameless(folder).or_else(|_| open_and_unname(&folder.join(PROBE_NAME)))?;
    // Most file systems can allocate space cheaply. Some of them still fail when it is written.
    match allocate(&file) {
        Ok(()) => return file.write_all(&[0; BLOCK]),
        Err(error) if is_full(&error) => return Err(error),
        Err(_other) => {}
    }
    file.write_all(&vec![0; PROBE])?;
    // Some file systems only fail here.
    file.sync_data()
}

#[cfg(target_os = "linux")]
fn allocate(file: &File) -> io::Result<()> {
    use rustix::fs::{FallocateFlags, fallocate};

    Ok(fallocate(file, FallocateFlags::empty(), 0, PROBE as u64)?)
}

#[cfg(not(target_os = "linux"))]
fn allocate(_file: &File) -> io::Result<()> {
    Err(ErrorKind::Unsupported.into())
}

/// Opens a file without a name.
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

/// Creates a file and removes its name at once.
fn open_and_unname(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    std::fs::remove_file(path)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probe_leaves_no_file_behind() {
        let folder = tempfile::tempdir().unwrap();
        let volumes = Volumes(vec![folder.path().to_owned(), folder.path().join("missing")]);
        assert!(!volumes.are_full());
        drop(open_and_unname(&folder.path().join(PROBE_NAME)).unwrap());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
