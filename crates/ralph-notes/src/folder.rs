//! A folder of files that is locked as one, and files that are put in place in it: each is written whole beside its place
//! first, and leaves that name in the same step in which it gets its own. So whoever comes after a killed process can tell
//! from the name beside whether the file was put in place.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use ralph_model::FileStamp;

use crate::file::{FileText, read_file, resolve};
use crate::lock::{Lock, Notice, Patience, Staged};
use crate::replace::{Put, Ready, Replacement, is_still};
use crate::write::{Owner, create_folder, sync_folder, write_synced};
use crate::{FileError, sys};

/// The lock of a folder, in it.
const LOCK: &str = ".lock";
/// What a file is called while it is written, until it is whole.
const UNFINISHED: &str = ".new";

/// The longest name of a file that another name can be made of by adding to it, in bytes.
const LONGEST_NAME: usize = 240;

/// A folder whose lock is held until this value is dropped.
pub struct LockedFolder<'a> {
    folder: PathBuf,
    lock: Lock,
    notice: &'a dyn Fn(Notice<'_>),
}

impl<'a> LockedFolder<'a> {
    /// Takes the lock of a folder, which is made where there is none, and clears away what a killed process left.
    ///
    /// # Errors
    /// When the folder or the lock cannot be had.
    pub fn lock(folder: &Path, patience: &Patience<'a>) -> Result<Self, FileError> {
        create_folder(folder)?;
        let locked = Self {
            lock: Lock::take(folder.join(LOCK), patience)?,
            folder: folder.to_owned(),
            notice: patience.notice,
        };
        locked.finish_ready()?;
        for name in locked.names()? {
            let replaced = name.strip_prefix('.').and_then(|name| name.strip_suffix(".ralph-old"));
            if let Some(replaced) = replaced {
                let path = locked.folder.join(replaced);
                Replacement::of(path, locked.notice)?.clear_leftovers(&locked.lock)?;
            }
        }
        Ok(locked)
    }

    /// The names of the files in it, in order.
    ///
    /// # Errors
    /// When the folder cannot be read.
    pub fn names(&self) -> Result<Vec<String>, FileError> {
        let failed = |source| FileError::new("read", &self.folder, source);
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.folder).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let kind = entry.file_type().map_err(failed)?;
            // A link is what it leads to; one that leads nowhere is nothing.
            let is_file = kind.is_file() || (kind.is_symlink() && entry.path().is_file());
            // What has no name in UTF-8 is nothing that ralph has written.
            if let (true, Ok(name)) = (is_file, entry.file_name().into_string()) {
                names.push(name);
            }
        }
        names.sort();
        Ok(names)
    }

    /// A file in it; none when there is none of this name.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn read(&self, name: &str) -> Result<Option<FileText>, FileError> {
        read_file(&self.folder.join(name))
    }

    /// Whether a name is taken.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        fs::symlink_metadata(self.folder.join(name)).is_ok()
    }

    /// Writes a file whole and durably under this name, over what stood there; there is no moment without it. It is to take
    /// the place of another, if one is given, and belongs to whom that does.
    ///
    /// # Errors
    /// When the file system says no.
    pub fn stage(&mut self, name: &str, bytes: &[u8], like: Option<&FileText>) -> Result<(), FileError> {
        // What is said from now on is about another file of this name.
        self.finish_ready()?;
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

    /// Gives a file that was staged a name that nobody has, durably; says whether it did.
    ///
    /// # Errors
    /// When the file system says no.
    pub fn place_new(&mut self, staged: &str, name: &str) -> Result<bool, FileError> {
        let target = self.folder.join(name);
        match sys::rename_new(&self.folder.join(staged), &target) {
            Ok(()) => sync_folder(&self.folder).map(|()| true),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            Err(source) => Err(FileError::new("create", &target, source)),
        }
    }

    /// Puts a file that was staged in the place of another one, durably, if that still is what was read; says whether it
    /// did. Who saves in that very moment goes first.
    ///
    /// # Errors
    /// When the file system says no, the file is read-only, or somebody keeps it open for writing.
    pub fn place_over(&mut self, staged: &str, name: &str, base: &FileText) -> Result<Put, FileError> {
        let path = self.folder.join(name);
        // A link stays one; what it leads to changes.
        let target = resolve(&path)?;
        let is_elsewhere = target != path;
        let replacement = Replacement::of(target, self.notice)?;
        if is_elsewhere {
            // Only what lies in this folder was cleared when it was locked.
            replacement.clear_leftovers(&self.lock)?;
        }
        let ready = self.ready(staged, name);
        replacement.put_ready(&mut self.lock, base, &ready)
    }

    /// Removes a file that was staged and is not needed.
    ///
    /// # Errors
    /// When the file system says no.
    pub fn unstage(&mut self, staged: &str) -> Result<(), FileError> {
        let path = self.folder.join(staged);
        remove_if_there(&path).map_err(|source| FileError::new("remove", &path, source))
    }

    /// Removes a file durably, if it still is what was read; says whether it did. Of a link only the link is removed.
    ///
    /// # Errors
    /// When the file system says no.
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

    /// The stamp of a file in it; none when there is none of this name.
    #[must_use]
    pub fn stamp(&self, name: &str) -> Option<FileStamp> {
        let metadata = fs::metadata(self.folder.join(name)).ok()?;
        Some(FileStamp::of(&metadata))
    }

    /// Removes the file that another has taken the place of, where whoever did that was killed before it could.
    fn finish_ready(&self) -> Result<(), FileError> {
        let Some(Staged { staged, name }) = self.lock.announced_staged() else {
            return Ok(());
        };
        let ready = self.ready(&staged, &name);
        let path = self.folder.join(&name);
        // A link that leads nowhere any more was replaced by a person.
        let target = resolve(&path).unwrap_or(path);
        Replacement::of(target, self.notice)?.finish_ready(&self.lock, &ready)
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
