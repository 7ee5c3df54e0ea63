//! Whether files and folders can be written, told without changing them.

use std::fs;
use std::path::Path;

use rustix::fs::{Access, access};

/// Why a file cannot be written; none when it can, or is not there.
pub(super) fn why_file_is_not(path: &Path) -> Option<String> {
    let metadata = fs::metadata(path).ok()?;
    if !metadata.is_file() {
        return Some("it is not a file".to_owned());
    }
    if metadata.permissions().readonly() {
        return Some("it is read-only".to_owned());
    }
    // It is not opened: closing a database drops the locks that SQLite has on it in this process.
    let refused = access(path, Access::WRITE_OK).err();
    refused.map(|error| std::io::Error::from(error).to_string())
}

/// Why nothing can be made in a folder; none when it can, or there is no folder.
pub(super) fn why_folder_is_not(folder: &Path) -> Option<String> {
    if !fs::exists(folder).unwrap_or(true) {
        return None;
    }
    // A file without a name leaves no trace, and tells more than the folder's mode does.
    tempfile::tempfile_in(folder).err().map(|error| {
        let source = std::error::Error::source(&error).map(ToString::to_string);
        source.unwrap_or_else(|| error.kind().to_string())
    })
}
