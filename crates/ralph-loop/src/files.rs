//! Files that may be missing.

use std::fs;
use std::io;
use std::path::Path;

/// Reads a file; `None` if it is missing.
pub(crate) fn read_if_there(path: &Path) -> io::Result<Option<Vec<u8>>> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Removes a file, unless it is missing.
pub(crate) fn remove_if_there(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Copies a regular file into a folder, unless it is missing.
pub(crate) fn copy_if_there(file: &Path, folder: &Path) -> io::Result<()> {
    match file.file_name() {
        Some(name) if file.is_file() => fs::copy(file, folder.join(name)).map(drop),
        _ => Ok(()),
    }
}
