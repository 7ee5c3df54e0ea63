//! A folder of files that is locked as one, and files that are put in place in it: each is written whole beside its place
//! first, and leaves that name in the same step in which it gets its own. So whoever comes after a killed process can tell
//! from the name beside whether the file was put in place.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::file::{FileText, read_file, resolve};
use crate::lock::{Lock, Notice, Patience, Staged};
use crate::replace::{OldText, Put, Ready, Replacement};
use crate::write::{Owner, create_folder, first_free, sync_folder, with_room_for_suffix, write_synced};
use crate::{FileError, sys};

/// The lock of a folder, in it.
const LOCK: &str = ".lock";
/// What a file is called while it is written, until it is whole.
const UNFINISHED: &str = ".new";

/// The folder, in a folder, of texts that others have taken the place of.
const REPLACED: &str = ".ralph-replaced";

/// Whether a file has taken the place of another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlacedOver {
    /// It has not: that one is not what was read any more.
    No,
    /// It has.
    Yes {
        /// Where the old text is kept, if it is.
        replaced: Option<PathBuf>,
    },
}

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
    pub fn place_over(
        &mut self,
        staged: &str,
        name: &str,
        base: &FileText,
        old: OldText,
    ) -> Result<PlacedOver, FileError> {
        let path = self.folder.join(name);
        // A link stays one; what it leads to changes.
        let target = resolve(&path)?;
        let is_elsewhere = target != path;
        let replacement = Replacement::of(target, self.notice)?;
        if is_elsewhere {
            // Only what lies in this folder was cleared when it was locked.
            replacement.clear_leftovers(&self.lock)?;
        }
        let replaced = self.folder.join(REPLACED);
        let ready = self.ready(staged, name, old, &replaced);
        Ok(match replacement.put_ready(&mut self.lock, base, &ready)? {
            Put::Not => PlacedOver::No,
            Put::Over { replaced } => PlacedOver::Yes { replaced },
        })
    }

    /// Removes a file that was staged and is not needed.
    ///
    /// # Errors
    /// When the file system says no.
    pub fn unstage(&mut self, staged: &str) -> Result<(), FileError> {
        let path = self.folder.join(staged);
        remove_if_there(&path).map_err(|source| FileError::new("remove", &path, source))
    }

    /// Gives a file another name, with a number where that is taken, durably; says where it is, if there was one.
    ///
    /// # Errors
    /// When the file system says no.
    pub fn put_away(&mut self, name: &str, away: &str) -> Result<Option<PathBuf>, FileError> {
        let path = self.folder.join(name);
        match first_free(&self.folder.join(away), "", |free| sys::rename_new(&path, free)) {
            Ok(kept) => sync_folder(&self.folder).map(|()| Some(kept)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(FileError::new("move", &path, source)),
        }
    }

    /// Puts the text away that a file has taken the place of, where whoever did that was killed before it could.
    fn finish_ready(&self) -> Result<(), FileError> {
        let Some(Staged { staged, name }) = self.lock.announced_staged() else {
            return Ok(());
        };
        let replaced = self.folder.join(REPLACED);
        let ready = self.ready(&staged, &name, OldText::Keep, &replaced);
        let path = self.folder.join(&name);
        // A link that leads nowhere any more was replaced by a person.
        let target = resolve(&path).unwrap_or(path);
        Replacement::of(target, self.notice)?.finish_ready(&self.lock, &ready)
    }

    fn ready<'r>(&self, staged: &str, name: &str, old: OldText, replaced: &'r Path) -> Ready<'r> {
        Ready {
            path: self.folder.join(staged),
            names: Staged {
                staged: staged.to_owned(),
                name: name.to_owned(),
            },
            old,
            replaced,
        }
    }
}

/// The texts that others have taken the place of in a file of this name, the oldest first; where they are.
///
/// # Errors
/// When they cannot be listed.
pub fn replaced_texts(folder: &Path, name: &str) -> Result<Vec<PathBuf>, FileError> {
    let folder = folder.join(REPLACED);
    let failed = |source| FileError::new("read", &folder, source);
    let entries = match fs::read_dir(&folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(failed)?,
    };
    let name = with_room_for_suffix(name);
    let mut numbered: Vec<(u64, PathBuf)> = Vec::new();
    for entry in entries {
        let path = entry.map_err(failed)?.path();
        let Some(rest) = path.file_name().and_then(|own| own.to_str()?.strip_prefix(name)) else {
            continue;
        };
        let number = match rest.strip_prefix('-') {
            None if rest.is_empty() => Some(1),
            None => None,
            Some(number) => number.parse().ok(),
        };
        numbered.extend(number.map(|number| (number, path.clone())));
    }
    numbered.sort();
    Ok(numbered.into_iter().map(|(_, path)| path).collect())
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
