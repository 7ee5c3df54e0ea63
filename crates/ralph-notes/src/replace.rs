//! Replaces a file whole and durably, and gives way to whoever saves to it at the same time.
//!
//! The new file is written beside the old one, synced, and swapped with it in one step, while programs that want to open
//! the old one for writing are held off. The old file is then still in hand: if it is not what was read (an editor saved
//! in between), or if somebody waits to write to it, it goes back, and the caller applies the edit to what they save. So
//! neither side's text is lost, although editors take no lock.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use ralph_model::FileStamp;

use crate::FileError;
use crate::file::{FileText, read_file};
use crate::lock::{Lock, Notice, Staged};
use crate::sys::{self, WritersHeldOff};
use crate::write::{Owner, first_free, sync_folder, write_synced};

/// A file that is about to be replaced, and the names that this takes beside it.
pub(crate) struct Replacement<'a> {
    pub(crate) target: PathBuf,
    folder: PathBuf,
    /// The new file before the swap, the old one after it.
    swap: PathBuf,
    /// The old file, for a moment, where the file system cannot swap.
    aside: PathBuf,
    notice: &'a dyn Fn(Notice<'_>),
}

/// How a replacement ended.
pub(crate) enum Replaced {
    /// The new text stands; this is its stamp.
    Done(FileStamp),
    /// Somebody saved meanwhile, and nothing was replaced: the edit has to be applied to what they saved.
    Overtaken(FileText),
}

/// A file that stands ready to take the place of another.
pub(crate) struct Ready {
    pub(crate) path: PathBuf,
    pub(crate) names: Staged,
}

/// Outcome of replacing one file with another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Put {
    /// Somebody came first, and nothing has changed.
    Not,
    /// It has the place, durably.
    Over,
}

/// What to do about somebody who saves at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Attempt {
    /// Let them go first.
    Yield,
    /// Replace their save all the same, and keep it beside the file.
    Insist,
}

/// What became of a swap.
enum Swapped {
    /// The new file stands, durably.
    In,
    /// Nothing was swapped: the target is not what was read.
    Not,
    /// The new file stood for a moment.
    AndBack,
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

    /// Removes what a killed process left, and keeps beside the file whatever of it nobody has merged.
    pub(crate) fn clear_leftovers(&self, lock: &Lock) -> Result<(), FileError> {
        for path in [&self.swap, &self.aside] {
            let Ok(metadata) = fs::symlink_metadata(path) else {
                continue;
            };
            let left = FileStamp::of(&metadata);
            let standing = fs::metadata(&self.target).map(|metadata| FileStamp::of(&metadata).inode);
            let is_standing = |inode| standing.as_ref().is_ok_and(|standing| *standing == inode);
            let known = match lock.announced() {
                // The old file, which the new one holds; the new one, which nobody was told of; a second name of what
                // stands. Where the old one still stands, nothing was swapped.
                Some(said) => said.is_old(&left) || said.is_new(&left) || is_standing(said.old_inode()),
                // Killed while it made a file that was not there before; else it is of unknown origin.
                None => standing.is_err(),
            };
            if known || is_standing(left.inode) {
                fs::remove_file(path).map_err(|source| FileError::new("remove", path, source))?;
            } else {
                self.keep(path)?;
            }
        }
        Ok(())
    }

    /// Replaces the file that `base` was read from, or makes it where there was none.
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
            // What could not be kept before must not be taken for what is announced now.
            self.clear_leftovers(lock)?;
        }
        lock.announce(Some(&base.stamp), None)?;
        let (new, written) = self.write_new(pieces, Owner::Like(&like))?;
        let swapped = lock
            .announce(Some(&base.stamp), Some(&written))
            .and_then(|()| self.wait_if_insisting(base_file, attempt))
            .and_then(|()| match WritersHeldOff::on(base_file) {
                Some(held_off) => self.swap_while(&held_off, base, &written, attempt),
                None => Ok(Swapped::Not),
            })
            .inspect_err(|_| self.discard_if(&written))?;
        match swapped {
            Swapped::In => self.settle(base, &written, &new, attempt),
            Swapped::Not | Swapped::AndBack => self.overtaken(&written),
        }
    }

    /// Puts a file that stands ready under another name in the place of the one that `base` was read from; none where that
    /// one is not what it was. They change places in one step, so whatever stood there is then under the other name, which
    /// is gone when this returns. Who saves in that very moment goes first.
    pub(crate) fn put_ready(&self, lock: &mut Lock, base: &FileText, ready: &Ready) -> Result<Put, FileError> {
        let failed = |source| FileError::new("replace", &self.target, source);
        let Some(base_file) = &base.file else {
            return Ok(Put::Not);
        };
        if base_file.metadata().map_err(failed)?.permissions().readonly() {
            let why = io::Error::new(io::ErrorKind::PermissionDenied, "the file is read-only");
            return Err(failed(why));
        }
        self.wait_if_insisting(base_file, Attempt::Insist)?;
        let written = FileStamp::of(&fs::metadata(&ready.path).map_err(failed)?);
        lock.announce_staged(&base.stamp, &written, ready.names.clone())?;
        let Some(held_off) = WritersHeldOff::on(base_file) else {
            return Ok(Put::Not);
        };
        let is_base = |path: &Path| is_still(path, &base.stamp) && !held_off.somebody_waits();
        if !is_base(&self.target) {
            return Ok(Put::Not);
        }
        match self.swap_with(&ready.path) {
            Ok(()) => {}
            // Somebody removed the file; what was there went with it.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Put::Not),
            Err(source) => return Err(failed(source)),
        }
        if !is_base(&ready.path) {
            let swapped_back = self.swap_with(&ready.path).is_ok();
            if !swapped_back || !is_still(&ready.path, &written) {
                self.keep(&ready.path)?;
            }
            return Ok(Put::Not);
        }
        fs::remove_file(&ready.path).map_err(failed)?;
        sync_folder(&self.folder)?;
        ready.path.parent().map_or(Ok(()), sync_folder)?;
        Ok(Put::Over)
    }

    /// Finishes what a killed process, or a file system that failed, left of [`put_ready`](Self::put_ready): where the two
    /// files had changed places, the old one is removed, and the name under which the new one stood ready is free.
    pub(crate) fn finish_ready(&self, lock: &Lock, ready: &Ready) -> Result<(), FileError> {
        let Some(said) = lock.announced() else { return Ok(()) };
        for path in [&ready.path, &self.aside] {
            let Ok(metadata) = fs::symlink_metadata(path) else {
                continue;
            };
            let left = FileStamp::of(&metadata);
            let is_standing = fs::metadata(&self.target).is_ok_and(|now| FileStamp::of(&now).inode == left.inode);
            if said.is_new(&left) {
                // It still stands ready.
            } else if is_standing || said.is_old(&left) {
                fs::remove_file(path).map_err(|source| FileError::new("remove", path, source))?;
            } else {
                self.keep(path)?;
            }
        }
        Ok(())
    }

    /// Takes the file that `base` was read from away; says whether it did. It goes aside first, where it is still in hand
    /// should somebody have saved to it.
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
            // Somebody has made a new file meanwhile.
            self.keep(&self.aside)?;
        }
        Ok(false)
    }

    /// Makes a file that is not there yet.
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
        // From here on it is only read: whoever has it open for writing counts as an editor in the middle of a save.
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

    /// Swaps the new file in durably while writers are held off the old one, and takes that back at once where the old one
    /// is not what was read, or somebody waits to write to it.
    fn swap_while(
        &self,
        held_off: &WritersHeldOff<'_>,
        base: &FileText,
        written: &FileStamp,
        attempt: Attempt,
    ) -> Result<Swapped, FileError> {
        let gives_way =
            |path: &Path| attempt == Attempt::Yield && (!is_still(path, &base.stamp) || held_off.somebody_waits());
        if gives_way(&self.target) {
            return Ok(Swapped::Not);
        }
        match self.swap() {
            Ok(()) => {}
            // Somebody removed the file; what was there went with it.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Swapped::Not),
            Err(source) => return Err(FileError::new("replace", &self.target, source)),
        }
        if !gives_way(&self.swap) {
            // Not durable is not done: the old file goes back.
            sync_folder(&self.folder).inspect_err(|_| self.swap_back_or_keep(written))?;
        }
        if gives_way(&self.swap) {
            self.swap_back_or_keep(written);
            return Ok(Swapped::AndBack);
        }
        Ok(Swapped::In)
    }

    /// Looks a last time at the old file: where writers cannot be held off, a program that had opened it before the swap
    /// may have written to it since.
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

    /// The answer when the new text stands. Linking and swapping change the ctime; everything else must still be as it
    /// was written, or the next reader has to look again.
    fn done(&self, new: &File, written: &FileStamp) -> Result<Replaced, FileError> {
        let now = new
            .metadata()
            .map_err(|source| FileError::new("read", &self.target, source))?;
        Ok(Replaced::Done(FileStamp {
            ctime_ns: FileStamp::of(&now).ctime_ns,
            ..*written
        }))
    }

    /// The answer when the target is not what was read any more: what it is now.
    fn overtaken(&self, written: &FileStamp) -> Result<Replaced, FileError> {
        self.discard_if(written);
        let standing = read_file(&self.target)?;
        Ok(Replaced::Overtaken(standing.unwrap_or_else(FileText::absent)))
    }

    /// Swaps the new file with the one at the target.
    fn swap(&self) -> io::Result<()> {
        self.swap_with(&self.swap)
    }

    /// Swaps a file with the one at the target.
    fn swap_with(&self, path: &Path) -> io::Result<()> {
        match sys::exchange(path, &self.target) {
            // In three steps where the file system cannot do it in one. Only a save by rename between the first and the
            // second could be missed.
            Err(error) if error.kind() == io::ErrorKind::Unsupported => {
                fs::hard_link(&self.target, &self.aside)?;
                fs::rename(path, &self.target)?;
                fs::rename(&self.aside, path)
            }
            swapped => swapped,
        }
    }

    /// Puts back what stood at the target before the swap. Where that fails, or somebody saved over the new file while it
    /// stood, one of two texts has to leave the place; it is kept beside the file, and said so.
    fn swap_back_or_keep(&self, written: &FileStamp) {
        let swapped_back = self.swap().is_ok();
        if swapped_back && is_still(&self.swap, written) {
            self.discard();
        } else {
            // Should even that fail, it stays as a leftover that the next writer keeps.
            drop(self.keep(&self.swap));
        }
    }

    /// Gives a text that nobody can merge a lasting name, and says so.
    fn keep(&self, path: &Path) -> Result<(), FileError> {
        let kept = first_free(&self.target, ".kept", |name| sys::rename_new(path, name))
            .map_err(|source| FileError::new("keep", path, source))?;
        (self.notice)(Notice::Kept(&kept));
        Ok(())
    }

    /// Removes the new file, if it is that, after a failure or when it is of no use.
    fn discard_if(&self, written: &FileStamp) {
        remove_if(&self.swap, written);
    }

    /// Removes the old file when it is not needed any more. If that fails, the next writer clears it away.
    fn discard(&self) {
        drop(fs::remove_file(&self.swap));
    }
}

/// Whether a file is still what it was.
pub(crate) fn is_still(path: &Path, then: &FileStamp) -> bool {
    fs::metadata(path).is_ok_and(|metadata| FileStamp::of(&metadata).same_content(then))
}

/// Removes a file of ours if nobody has put another one in its place. If that fails, the next writer clears it away, and
/// the failure that led here is the one to report.
fn remove_if(path: &Path, written: &FileStamp) {
    if is_still(path, written) {
        drop(fs::remove_file(path));
    }
}
