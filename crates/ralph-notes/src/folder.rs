//! A folder that is locked as a whole, and atomic placement of files in it. Each file is first written under a staging
//! name and renamed into place, so after a crash the staging name shows whether the file was placed.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use ralph_model::FileStamp;

use crate::file::{FileText, read_file, resolve};
use crate::lock::{Lock, Notice, Patience, Staged};
use crate::replace::{PlaceOutcome, Ready, Replacement, is_still};
use crate::write::{Owner, create_folder, sync_folder, write_synced};
use crate::{FileError, sys};

const LOCK: &str = ".lock";
/// The suffix of a staged file that is still being written.
const UNFINISHED: &str = ".new";

/// The longest file name in bytes that leaves room for a suffix.
const LONGEST_NAME: usize = 240;

/// A folder whose lock is held until this value is dropped.
pub struct LockedFolder<'a> {
    folder: PathBuf,
    lock: Lock,
    notice: &'a dyn Fn(Notice<'_>),
}

impl<'a> LockedFolder<'a> {
    /// Locks a folder, creating it if needed, and cleans up what a killed process left.
    ///
    /// # Errors
    /// If the folder cannot be created or the lock cannot be taken.
    pub fn lock(folder: &Path, patience: &Patience<'a>) -> Result<Self, FileError> {
        create_folder(folder)?;
        let locked = Self {
            lock: Lock::take(folder.join(LOCK), patience)?,
            folder: folder.to_owned(),
            notice: patience.notice,
        };
        locked.finish_staged()?;
        for name in locked.names()? {
            let replaced = name.strip_prefix('.').and_then(|name| name.strip_suffix(".ralph-old"));
            if let Some(replaced) = replaced {
                let path = locked.folder.join(replaced);
                Replacement::of(path, locked.notice)?.clear_leftovers(&locked.lock)?;
            }
        }
        Ok(locked)
    }

    /// The names of the files in the folder, sorted.
    ///
    /// # Errors
    /// If the folder cannot be read.
    pub fn names(&self) -> Result<Vec<String>, FileError> {
        let failed = |source| FileError::new("read", &self.folder, source);
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.folder).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let kind = entry.file_type().map_err(failed)?;
            // Follow links; ignore dangling ones.
            let is_file = kind.is_file() || (kind.is_symlink() && entry.path().is_file());
            // ralph never writes names that are not UTF-8.
            if let (true, Ok(name)) = (is_file, entry.file_name().into_string()) {
                names.push(name);
            }
        }
        names.sort();
        Ok(names)
    }

    /// Reads a file in the folder; `None` if it does not exist.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn read(&self, name: &str) -> Result<Option<FileText>, FileError> {
        read_file(&self.folder.join(name))
    }

    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        fs::symlink_metadata(self.folder.join(name)).is_ok()
    }

    /// Writes a file whole and durably under this name, replacing any existing file atomically. If it is going to
    /// replace the file `like`, it gets that file's owner and mode.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn stage(&mut self, name: &str, bytes: &[u8], like: Option<&FileText>) -> Result<(), FileError> {
        // The current announcement is about an older file of this name.
        self.finish_staged()?;
        self.lock.announce(None, None)?;
        let path = self.folder.join(name);
        let unfinished = self.folder.join(format!("{name}{UNFINISHED}"));
        let failed = |source| FileError::new("write", &path, source);
        let metadata = match like.and_then(|like| like.file.as_ref()) {
            Some(file) => Some(file.metadata().map_err(failed)?),
            None => None,
        };
        let owner = metadata.as_ref().map_or(Owner::OfFolder, Owner::Like);
        remove_if_there(&unfinished).map_err(failed)?;
        write_synced(&unfinished, std::iter::once(bytes), owner).map_err(failed)?;
        fs::rename(&unfinished, &path).map_err(failed)?;
        sync_folder(&self.folder)
    }

    /// Renames a staged file to an unused name, durably; returns whether the name was free.
    ///
    /// # Errors
    /// If the file cannot be renamed.
    pub fn place_new(&mut self, staged: &str, name: &str) -> Result<bool, FileError> {
        let target = self.folder.join(name);
        match sys::rename_new(&self.folder.join(staged), &target) {
            Ok(()) => sync_folder(&self.folder).map(|()| true),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            Err(source) => Err(FileError::new("create", &target, source)),
        }
    }

    /// Replaces a file with a staged one, durably, if it is still what was read. Yields to a concurrent save.
    ///
    /// # Errors
    /// If the file cannot be replaced, is read-only, or is open for writing elsewhere.
    pub fn place_over(&mut self, staged: &str, name: &str, base: &FileText) -> Result<PlaceOutcome, FileError> {
        let path = self.folder.join(name);
        // Keep a link and replace its target.
        let target = resolve(&path)?;
        let is_elsewhere = target != path;
        let replacement = Replacement::of(target, self.notice)?;
        if is_elsewhere {
            // Locking the folder only cleaned up files inside it.
            replacement.clear_leftovers(&self.lock)?;
        }
        let ready = self.ready(staged, name);
        replacement.replace_with_staged(&mut self.lock, base, &ready)
    }

    /// # Errors
    /// If the file cannot be removed.
    pub fn unstage(&mut self, staged: &str) -> Result<(), FileError> {
        let path = self.folder.join(staged);
        remove_if_there(&path).map_err(|source| FileError::new("remove", &path, source))
    }

    /// Deletes a file durably if it is still what was read; returns whether it did. Of a link, only the link is
    /// deleted.
    ///
    /// # Errors
    /// If the file cannot be deleted.
    pub fn remove(&mut self, name: &str, base: &FileText) -> Result<bool, FileError> {
        let path = self.folder.join(name);
        let is_link = fs::symlink_metadata(&path).is_ok_and(|metadata| metadata.is_symlink());
        if !is_link && name.len() <= LONGEST_NAME {
            return Replacement::of(path, self.notice)?.remove(&mut self.lock, base);
        }
        if !is_still(&path, &base.stamp) {
            return Ok(false);
        }
        fs::remove_file(&path).map_err(|source| FileError::new("remove", &path, source))?;
        sync_folder(&self.folder).map(|()| true)
    }

    /// The stamp of a file in the folder; `None` if it does not exist.
    #[must_use]
    pub fn stamp(&self, name: &str) -> Option<FileStamp> {
        let metadata = fs::metadata(self.folder.join(name)).ok()?;
        Some(FileStamp::of(&metadata))
    }

    /// Removes a replaced file if the process that replaced it was killed before it could.
    fn finish_staged(&self) -> Result<(), FileError> {
        let Some(Staged { staged, name }) = self.lock.announced_staged() else {
            return Ok(());
        };
        let ready = self.ready(&staged, &name);
        let path = self.folder.join(&name);
        // A dangling link here was put in place by a person.
        let target = resolve(&path).unwrap_or(path);
        Replacement::of(target, self.notice)?.finish_staged(&self.lock, &ready)
    }

    fn ready(&self, staged: &str, name: &str) -> Ready {
        Ready {
            path: self.folder.join(staged),
            names: Staged {
                staged: staged.to_owned(),
                name: name.to_owned(),
            },
        }
    }
}

fn remove_if_there(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

#[cfg(test)]
#[path = "folder_tests.rs"]
mod tests;
