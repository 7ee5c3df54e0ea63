//! Locks a worktree for one run: two agents in one folder would undo each other's work.

use std::fs::{File, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::Path;

use ralph_process::open_lock_file;

/// An exclusive lock on a worktree, released when this value is dropped or the process ends in any way.
#[derive(Debug)]
pub struct WorktreeLock {
    _file: File,
}

/// Why a worktree cannot be locked.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    #[error("another run is already working in this folder ({holder})")]
    Taken {
        /// The other run, if it says.
        holder: String,
    },
    #[error("cannot lock {path}: {source}")]
    Io { path: String, source: io::Error },
}

impl WorktreeLock {
    /// Locks the worktree with this lock file; `holder` identifies the run to others.
    ///
    /// # Errors
    /// When another run has it, or the file cannot be written.
    pub fn take(path: &Path, holder: &str) -> Result<Self, LockError> {
        let io_error = |source| LockError::Io {
            path: path.display().to_string(),
            source,
        };
        let mut file = open_lock_file(path, 0o600).map_err(io_error)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut holder = String::new();
                // The lock is taken even if the holder cannot be read.
                drop((&file).take(200).read_to_string(&mut holder));
                let holder = holder.trim().to_owned();
                return Err(LockError::Taken { holder });
            }
            Err(TryLockError::Error(error)) => return Err(io_error(error)),
        }
        file.set_len(0)
            .and_then(|()| file.rewind())
            .and_then(|()| file.write_all(holder.as_bytes()))
            .map_err(io_error)?;
        Ok(Self { _file: file })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn second_run_is_refused_with_the_holder() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.lock");
        let first = WorktreeLock::take(&path, "run-0000000a, process 12").unwrap();
        let refused = WorktreeLock::take(&path, "run-0000000b").unwrap_err().to_string();
        assert_eq!(
            refused,
            "another run is already working in this folder (run-0000000a, process 12)"
        );
        drop(first);
        WorktreeLock::take(&path, "run-0000000c").unwrap();
    }
}
