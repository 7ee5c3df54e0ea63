//! Replaces a file whole and durably, and yields to programs that save to it at the same time.
//!
//! The new file is written beside the old one, synced, and swapped with it atomically, while programs that want to open
//! the old one for writing are held off. Afterwards we still have the old file: if it is not what was read (an editor
//! saved in between), or if a program waits to write to it, it is swapped back, and the caller applies the edit to the
//! newly saved text. So neither text is lost, although editors take no lock.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use ralph_model::FileStamp;

use crate::FileError;
use crate::file::{FileText, read_file};
use crate::lock::{Lock, Notice, Staged};
use crate::sys::{self, WritersHeldOff};
use crate::write::{Owner, first_free, sync_folder, write_synced};

/// A file that is about to be replaced, with the temporary names beside it.
pub(crate) struct Replacement<'a> {
    pub(crate) target: PathBuf,
    folder: PathBuf,
    /// The new file before the swap, the old one after it.
    swap: PathBuf,
    /// Holds the old file briefly if the file system cannot swap.
    aside: PathBuf,
    notice: &'a dyn Fn(Notice<'_>),
}

pub(crate) enum Replaced {
    /// The new text is in place; this is its stamp.
    Done(FileStamp),
    /// Another program saved meanwhile and nothing was replaced; the edit has to be reapplied to its text.
    Overtaken(FileText),
}

/// A staged file that is ready to replace another.
pub(crate) struct Ready {
    pub(crate) path: PathBuf,
    pub(crate) names: Staged,
}

/// Outcome of replacing one file with another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlaceOutcome {
    /// Another program saved first; nothing changed.
    Unchanged,
    /// The file was replaced, durably.
    Replaced,
}

/// What to do about a concurrent save.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Attempt {
    Yield,
    /// Replace the other program's save anyway, and keep it beside the file.
    Insist,
}

enum Swapped {
    /// The new file is in place, durably.
    Done,
    /// Nothing was swapped: the target is not what was read.
    Skipped,
    /// The new file was in place briefly and was swapped back.
    Reverted,
}

impl<'a> Replacement<'a> {
    pub(crate) fn of(target: PathBuf, notice: &'a dyn Fn(Notice<'_>)) -> Result<Self, FileError> {
        let (Some(folder), Some(name)) = (target.parent(), target.file_name()) else {
            return Err(FileError::new("write", &target, io::ErrorKind::InvalidFilename.into()));
        };
        let name = name.to_string_lossy();
        Ok(Self {
            swap: folder.join(format!(".{name}.ralph-new")),
            aside: folder.join(format!(".{name}.ralph-old")),
            folder: folder.to_owned(),
            target,
            notice,
        })
    }

    /// Cleans up after a killed process. Text that was not merged is kept beside the file.
    pub(crate) fn clear_leftovers(&self, lock: &Lock) -> Result<(), FileError> {
        for path in [&self.swap, &self.aside] {
            let Ok(metadata) = fs::symlink_metadata(path) else {
                continue;
            };
            let left = FileStamp::of(&metadata);
            let current = fs::metadata(&self.target).map(|metadata| FileStamp::of(&metadata).inode);
            let is_current = |inode| current.as_ref().is_ok_and(|current| *current == inode);
            let known = match lock.announced() {
                // The old file, whose text the new one includes; the new one, if nothing was reported yet; or another
                // name of the current file. If the old file is still in place, nothing was swapped.
                Some(announced) => {
                    announced.is_old(&left) || announced.is_new(&left) || is_current(announced.old_inode())
                }
                // Killed while creating a file; otherwise the origin is unknown.
                None => current.is_err(),
            };
            if known || is_current(left.inode) {
                fs::remove_file(path).map_err(|source| FileError::new("remove", path, source))?;
            } else {
                self.keep(path)?;
            }
        }
        Ok(())
    }

    /// Replaces the file that `base` was read from, or creates it.
    pub(crate) fn replace<'b>(
        &self,
        lock: &mut Lock,
        base: &FileText,
        pieces: impl Iterator<Item = &'b [u8]>,
        attempt: Attempt,
    ) -> Result<Replaced, FileError> {
        let Some(base_file) = &base.file else {
            return self.create(lock, pieces);
        };
        let like = base_file
            .metadata()
            .map_err(|source| FileError::new("read", &self.target, source))?;
        if fs::symlink_metadata(&self.swap).is_ok() {
            // A leftover that could not be kept must not match the next announcement.
            self.clear_leftovers(lock)?;
        }
        lock.announce(Some(&base.stamp), None)?;
        let (new, written) = self.write_new(pieces, Owner::Like(&like))?;
        let swapped = lock
            .announce(Some(&base.stamp), Some(&written))
            .and_then(|()| self.wait_if_insisting(base_file, attempt))
            .and_then(|()| match WritersHeldOff::on(base_file) {
                Some(held_off) => self.swap_while(&held_off, base, &written, attempt),
                None => Ok(Swapped::Skipped),
            })
            .inspect_err(|_| self.discard_if(&written))?;
        match swapped {
            Swapped::Done => self.settle(base, &written, &new, attempt),
            Swapped::Skipped | Swapped::Reverted => self.overtaken(&written),
        }
    }

    /// Replaces the file that `base` was read from with a staged file, unless it changed since. The two are swapped
    /// atomically, so the old file gets the staging name and is removed before this returns. Yields to a concurrent
    /// save.
    pub(crate) fn replace_with_staged(
        &self,
        lock: &mut Lock,
        base: &FileText,
        ready: &Ready,
    ) -> Result<PlaceOutcome, FileError> {
        let failed = |source| FileError::new("replace", &self.target, source);
        let Some(base_file) = &base.file else {
            return Ok(PlaceOutcome::Unchanged);
        };
        if base_file.metadata().map_err(failed)?.permissions().readonly() {
            let why = io::Error::new(io::ErrorKind::PermissionDenied, "the file is read-only");
            return Err(failed(why));
        }
        self.wait_if_insisting(base_file, Attempt::Insist)?;
        let written = FileStamp::of(&fs::metadata(&ready.path).map_err(failed)?);
        lock.announce_staged(&base.stamp, &written, ready.names.clone())?;
        let Some(held_off) = WritersHeldOff::on(base_file) else {
            return Ok(PlaceOutcome::Unchanged);
        };
        let is_base = |path: &Path| is_still(path, &base.stamp) && !held_off.writer_is_waiting();
        if !is_base(&self.target) {
            return Ok(PlaceOutcome::Unchanged);
        }
        match self.swap_with(&ready.path) {
            Ok(()) => {}
            // The file was removed meanwhile, and its text with it.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(PlaceOutcome::Unchanged),
            Err(source) => return Err(failed(source)),
        }
        if !is_base(&ready.path) {
            let swapped_back = self.swap_with(&ready.path).is_ok();
            if !swapped_back || !is_still(&ready.path, &written) {
                self.keep(&ready.path)?;
            }
            return Ok(PlaceOutcome::Unchanged);
        }
        fs::remove_file(&ready.path).map_err(failed)?;
        sync_folder(&self.folder)?;
        ready.path.parent().map_or(Ok(()), sync_folder)?;
        Ok(PlaceOutcome::Replaced)
    }

    /// Completes an interrupted [`replace_with_staged`](Self::replace_with_staged): if the two files were swapped,
    /// removes the old one and frees the staging name.
    pub(crate) fn finish_staged(&self, lock: &Lock, ready: &Ready) -> Result<(), FileError> {
        let Some(announced) = lock.announced() else {
            return Ok(());
        };
        for path in [&ready.path, &self.aside] {
            let Ok(metadata) = fs::symlink_metadata(path) else {
                continue;
            };
            let left = FileStamp::of(&metadata);
            let is_current = fs::metadata(&self.target).is_ok_and(|now| FileStamp::of(&now).inode == left.inode);
            if announced.is_new(&left) {
                // The file is still staged.
            } else if is_current || announced.is_old(&left) {
                fs::remove_file(path).map_err(|source| FileError::new("remove", path, source))?;
            } else {
                self.keep(path)?;
            }
        }
        Ok(())
    }

    /// Deletes the file that `base` was read from; returns whether it did. It is moved aside first, so that a
    /// concurrent save is not lost.
    pub(crate) fn remove(&self, lock: &mut Lock, base: &FileText) -> Result<bool, FileError> {
        let failed = |source| FileError::new("remove", &self.target, source);
        lock.announce(Some(&base.stamp), None)?;
        match sys::rename_new(&self.target, &self.aside) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(true),
            Err(source) => return Err(failed(source)),
        }
        let quiet = File::open(&self.aside).is_ok_and(|file| sys::wait_for_writers(&file));
        if quiet && is_still(&self.aside, &base.stamp) {
            fs::remove_file(&self.aside).map_err(failed)?;
            sync_folder(&self.folder)?;
            return Ok(true);
        }
        if sys::rename_new(&self.aside, &self.target).is_err() {
            // Another program created a new file meanwhile.
            self.keep(&self.aside)?;
        }
        Ok(false)
    }

    fn create<'b>(&self, lock: &mut Lock, pieces: impl Iterator<Item = &'b [u8]>) -> Result<Replaced, FileError> {
        lock.announce(None, None)?;
        let (file, written) = self.write_new(pieces, Owner::OfFolder)?;
        match sys::rename_new(&self.swap, &self.target) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return self.overtaken(&written),
            Err(source) => {
                self.discard_if(&written);
                return Err(FileError::new("create", &self.target, source));
            }
        }
        sync_folder(&self.folder).inspect_err(|_| remove_if(&self.target, &written))?;
        self.done(&file, &written)
    }

    fn write_new<'b>(
        &self,
        pieces: impl Iterator<Item = &'b [u8]>,
        owner: Owner<'_>,
    ) -> Result<(File, FileStamp), FileError> {
        let failed = |source| FileError::new("write", &self.target, source);
        write_synced(&self.swap, pieces, owner).map_err(failed)?;
        // Only reads from here on: a file open for writing counts as a save in progress.
        let file = File::open(&self.swap).map_err(failed)?;
        let written = FileStamp::of(&file.metadata().map_err(failed)?);
        Ok((file, written))
    }

    fn wait_if_insisting(&self, base: &File, attempt: Attempt) -> Result<(), FileError> {
        match attempt {
            Attempt::Yield => Ok(()),
            Attempt::Insist => sys::wait_for_writers(base)
                .then_some(())
                .ok_or_else(|| FileError::being_written(&self.target)),
        }
    }

    /// Swaps the new file in durably while writers are held off. Swaps it back at once if the old file is not what was
    /// read, or if a program waits to write to it.
    fn swap_while(
        &self,
        held_off: &WritersHeldOff<'_>,
        base: &FileText,
        written: &FileStamp,
        attempt: Attempt,
    ) -> Result<Swapped, FileError> {
        let gives_way =
            |path: &Path| attempt == Attempt::Yield && (!is_still(path, &base.stamp) || held_off.writer_is_waiting());
        if gives_way(&self.target) {
            return Ok(Swapped::Skipped);
        }
        match self.swap() {
            Ok(()) => {}
            // The file was removed meanwhile, and its text with it.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Swapped::Skipped),
            Err(source) => return Err(FileError::new("replace", &self.target, source)),
        }
        if !gives_way(&self.swap) {
            // If the swap cannot be made durable, undo it.
            sync_folder(&self.folder).inspect_err(|_| self.swap_back_or_keep(written))?;
        }
        if gives_way(&self.swap) {
            self.swap_back_or_keep(written);
            return Ok(Swapped::Reverted);
        }
        Ok(Swapped::Done)
    }

    /// Checks the old file once more: where writers cannot be held off, a program that opened it before the swap may
    /// have written to it since.
    fn settle(
        &self,
        base: &FileText,
        written: &FileStamp,
        new: &File,
        attempt: Attempt,
    ) -> Result<Replaced, FileError> {
        let unchanged = File::open(&self.swap).is_ok_and(|old| {
            let quiet = sys::wait_for_writers(&old);
            quiet
                && old
                    .metadata()
                    .is_ok_and(|old| FileStamp::of(&old).same_content(&base.stamp))
        });
        match (unchanged, attempt) {
            (true, _) => self.discard(),
            (false, Attempt::Insist) => self.keep(&self.swap)?,
            (false, Attempt::Yield) => {
                self.swap_back_or_keep(written);
                return self.overtaken(written);
            }
        }
        self.done(new, written)
    }

    /// Returns the stamp of the new file. Linking and swapping change only the ctime; any other change means that the
    /// next reader has to read the file again.
    fn done(&self, new: &File, written: &FileStamp) -> Result<Replaced, FileError> {
        let now = new
            .metadata()
            .map_err(|source| FileError::new("read", &self.target, source))?;
        Ok(Replaced::Done(FileStamp {
            ctime_ns: FileStamp::of(&now).ctime_ns,
            ..*written
        }))
    }

    /// Returns the current text, because the target is not what was read.
    fn overtaken(&self, written: &FileStamp) -> Result<Replaced, FileError> {
        self.discard_if(written);
        let current = read_file(&self.target)?;
        Ok(Replaced::Overtaken(current.unwrap_or_else(FileText::absent)))
    }

    fn swap(&self) -> io::Result<()> {
        self.swap_with(&self.swap)
    }

    fn swap_with(&self, path: &Path) -> io::Result<()> {
        match sys::exchange(path, &self.target) {
            // Three steps if the file system cannot swap. Only a save by rename between the first and the second could
            // be missed.
            Err(error) if error.kind() == io::ErrorKind::Unsupported => {
                fs::hard_link(&self.target, &self.aside)?;
                fs::rename(path, &self.target)?;
                fs::rename(&self.aside, path)
            }
            swapped => swapped,
        }
    }

    /// Restores what was in place before the swap. If that fails, or another program saved over the new file meanwhile,
    /// one of the two texts is kept beside the file and reported.
    fn swap_back_or_keep(&self, written: &FileStamp) {
        let swapped_back = self.swap().is_ok();
        if swapped_back && is_still(&self.swap, written) {
            self.discard();
        } else {
            // If this fails too, the file stays as a leftover that the next writer keeps.
            drop(self.keep(&self.swap));
        }
    }

    /// Gives a text that cannot be merged a permanent name and reports it.
    fn keep(&self, path: &Path) -> Result<(), FileError> {
        let kept = first_free(&self.target, ".kept", |name| sys::rename_new(path, name))
            .map_err(|source| FileError::new("keep", path, source))?;
        (self.notice)(Notice::Kept(&kept));
        Ok(())
    }

    /// Removes the new file after a failure or when it is not needed.
    fn discard_if(&self, written: &FileStamp) {
        remove_if(&self.swap, written);
    }

    /// Removes the old file. If that fails, the next writer cleans it up.
    fn discard(&self) {
        drop(fs::remove_file(&self.swap));
    }
}

pub(crate) fn is_still(path: &Path, then: &FileStamp) -> bool {
    fs::metadata(path).is_ok_and(|metadata| FileStamp::of(&metadata).same_content(then))
}

/// Removes our own file unless another has replaced it. Failures are ignored: the next writer cleans up, and the caller
/// reports the original error.
fn remove_if(path: &Path, written: &FileStamp) {
    if is_still(path, written) {
        drop(fs::remove_file(path));
    }
}
