//! Checks whether files and folders are writable, without changing them.

use std::fs;
use std::path::Path;

use rustix::fs::{Access, access};

/// Returns why a file is not writable; `None` if it is, or does not exist.
pub(super) fn why_file_is_not(path: &Path) -> Option<String> {
    let metadata = fs::metadata(path).ok()?;
    if !metadata.is_file() {
        return Some("it is not a file".to_owned());
    }
    if metadata.permissions().readonly() {
        return Some("it is read-only".to_owned());
    }
    // The file is not opened, because closing a database drops SQLite's locks on it in this process.
    let refused = access(path, Access::WRITE_OK).err();
    refused.map(|error| std::io::Error::from(error).to_string())
}

/// Returns why no file can be created in a folder; `None` if it can, or the folder does not exist.
pub(super) fn why_folder_is_not(folder: &Path) -> Option<String> {
    if !fs::exists(folder).unwrap_or(true) {
        return None;
    }
    // An unnamed file leaves no trace, and is more reliable than checking the mode.
    tempfile::tempfile_in(folder).err().map(|error| {
        let source = std::error::Error::source(&error).map(ToString::to_string);
        source.unwrap_or_else(|| error.kind().to_string())
    })
}
