//! Opens lock files safely: a repository may contain a symbolic link in place of one, and the lock holder writes to it.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Opens a lock file for reading and writing, or creates it with this mode. Keeps its content.
///
/// # Errors
/// If the path is a symbolic link or not a regular file, or cannot be opened.
pub fn open_lock_file(path: &Path, mode: u32) -> io::Result<File> {
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(mode)
        // Do not block on a pipe.
        .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK)
        .open(path)
        .map_err(|error| match error.raw_os_error() {
            Some(libc::ELOOP) => io::Error::other("it is a symbolic link; remove it"),
            _ => error,
        })?;
    if file.metadata()?.is_file() {
        return Ok(file);
    }
    Err(io::Error::other("it is not a regular file; remove it"))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn link_or_device_as_lock_file_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        symlink(at("missing"), at("dangling.lock")).unwrap();
        symlink(at("new.lock"), at("link.lock")).unwrap();
        open_lock_file(&at("new.lock"), 0o600).unwrap();
        open_lock_file(&at("new.lock"), 0o600).unwrap();
        for (path, why) in [
            (at("dangling.lock"), "it is a symbolic link; remove it"),
            (at("link.lock"), "it is a symbolic link; remove it"),
            ("/dev/null".into(), "it is not a regular file; remove it"),
        ] {
            let refused = open_lock_file(&path, 0o600).unwrap_err();
            assert_eq!(refused.to_string(), why, "{}", path.display());
        }
        assert!(!at("missing").exists());
    }
}
