//! One run for each worktree: two agents in one folder would undo each other's work.

use std::fs::{File, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::Path;

use ralph_process::open_lock_file;

/// A worktree that is this run's own, until this value is dropped or the process ends, however it ends.
#[derive(Debug)]
pub struct WorktreeLock {
    _file: File,
}

/// Why a worktree cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Another run has it.
    #[error("another run works in this folder already ({holder})")]
    Taken {
        /// Who, as far as it says.
        holder: String,
    },
    /// The file system said no.
    #[error("cannot lock {path}: {source}")]
    Io {
        /// The lock.
        path: String,
        /// Why.
        source: io::Error,
    },
}

impl WorktreeLock {
    /// Takes the worktree whose lock is this file; `holder` is what others are told.
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
                // Whoever it is, it is there.
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
    fn a_second_run_is_refused_and_told_who_is_there() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.lock");
        let first = WorktreeLock::take(&path, "run-0000000a, process 12").unwrap();
        let refused = WorktreeLock::take(&path, "run-0000000b").unwrap_err().to_string();
        assert_eq!(
            refused,
            "another run works in this folder already (run-0000000a, process 12)"
        );
        drop(first);
        WorktreeLock::take(&path, "run-0000000c").unwrap();
    }
}
