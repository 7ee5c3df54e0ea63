//! Replaces a file whole and durably, and notices when somebody saved to it at the same time.
//!
//! The new file is written beside the old one, synced, and swapped with it in one step. The old file is then still in
//! hand: if it is not what was read (an editor saved in between, in place or by rename), its text is given back to the
//! caller, who applies the edit to that. So neither side's text is lost, although editors take no lock.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::file::{FileText, read_file, read_open};
use crate::lock::Lock;
use crate::{FileError, sys};
use ralph_model::FileStamp;

/// How long a program may keep the file open for writing before a change is refused.
const WRITER_WAIT: Duration = Duration::from_secs(5);
/// How often to look whether it has closed it.
const WRITER_POLL: Duration = Duration::from_millis(1);

/// The names that a replacement uses beside its file.
#[derive(Debug)]
pub(crate) struct Names {
    pub(crate) target: PathBuf,
    folder: PathBuf,
    /// The new file before the swap, the old one after it.
    swap: PathBuf,
    /// A save by somebody else that is not merged yet.
    theirs: PathBuf,
}

/// How a replacement ended.
pub(crate) enum Replaced {
    /// The new text stands; this is its stamp.
    Done(FileStamp),
    /// Somebody saved meanwhile, and the edit has to be applied to their text. `ours` stands at the target, and theirs is
    /// kept beside it until it is merged; without `ours` nothing was written and theirs stands.
    Overtaken { theirs: FileText, ours: Option<FileText> },
}

impl Names {
    pub(crate) fn beside(target: PathBuf) -> Result<Self, FileError> {
        let (Some(folder), Some(name)) = (target.parent(), target.file_name()) else {
            return Err(FileError::new("write", &target, io::ErrorKind::InvalidFilename.into()));
        };
        let name = name.to_string_lossy();
        Ok(Self {
            swap: folder.join(format!(".{name}.ralph-new")),
            theirs: folder.join(format!(".{name}.ralph-theirs")),
            folder: folder.to_owned(),
            target,
        })
    }

    pub(crate) fn lock_path(&self) -> PathBuf {
        let mut path = self.target.clone().into_os_string();
        path.push(".lock");
        path.into()
    }

    /// Removes what a killed process left, and keeps beside the file whatever of it nobody has merged.
    pub(crate) fn clear_leftovers(&self, lock: &mut Lock) -> Result<Option<PathBuf>, FileError> {
        if exists(&self.theirs) {
            return self.keep(&self.theirs).map(Some);
        }
        let Ok(left) = fs::metadata(&self.swap) else {
            return Ok(None);
        };
        let left = FileStamp::of(&left);
        let standing = fs::metadata(&self.target).map(|metadata| FileStamp::of(&metadata)).ok();
        let known = match lock.announced() {
            // Never swapped, and so never acknowledged; or swapped, and this is the old file, which the new one holds.
            Some(base) => standing.is_some_and(|stamp| stamp.inode == base.inode) || base.is(&left),
            // Killed before the swap was announced.
            None => true,
        };
        if known {
            self.remove(&self.swap)?;
            return Ok(None);
        }
        self.keep(&self.swap).map(Some)
    }

    /// Forgets a save of somebody else that has been merged.
    pub(crate) fn forget_theirs(&self) -> Result<(), FileError> {
        if exists(&self.theirs) {
            self.remove(&self.theirs)?;
        }
        Ok(())
    }

    /// Gives a save of somebody else that could not be merged a lasting name.
    pub(crate) fn keep_theirs(&self) -> Result<Option<PathBuf>, FileError> {
        exists(&self.theirs).then(|| self.keep(&self.theirs)).transpose()
    }

    fn keep(&self, from: &Path) -> Result<PathBuf, FileError> {
        let mut number = 1;
        loop {
            let mut name = self.target.clone().into_os_string();
            name.push(format!(".kept-{number}"));
            let kept = PathBuf::from(name);
            match fs::hard_link(from, &kept) {
                Ok(()) => {
                    self.remove(from)?;
                    return Ok(kept);
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
                Err(error) => return Err(FileError::new("keep", from, error)),
            }
        }
    }

    fn remove(&self, path: &Path) -> Result<(), FileError> {
        fs::remove_file(path).map_err(|source| FileError::new("remove", path, source))
    }

    fn sync_folder(&self) -> Result<(), FileError> {
        sync_folder(&self.folder)
    }

    /// Writes the new text beside the file, with its mode and owner, and syncs it.
    fn write_new<'a>(
        &self,
        pieces: impl Iterator<Item = &'a [u8]>,
        like: Option<&fs::Metadata>,
    ) -> Result<File, FileError> {
        let failed = |source| FileError::new("write", &self.swap, source);
        let mode = like.map_or(0o666, |metadata| metadata.permissions().mode() & 0o7777);
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .mode(mode)
            .open(&self.swap)
            .map_err(failed)?;
        let written = (|| {
            if let Some(like) = like {
                let mine = file.metadata()?;
                if (mine.uid(), mine.gid()) != (like.uid(), like.gid()) {
                    fchown(&file, Some(like.uid()), Some(like.gid()))?;
                }
                file.set_permissions(Permissions::from_mode(mode))?;
            }
            for piece in pieces {
                file.write_all(piece)?;
            }
            file.sync_all()
        })();
        match written {
            Ok(()) => Ok(file),
            Err(source) => {
                self.discard_new();
                Err(FileError::new("write", &self.target, source))
            }
        }
    }

    /// Removes the new file after a failure. If that fails too, the next writer clears it away as a leftover, and the
    /// first failure is the one to report.
    fn discard_new(&self) {
        drop(fs::remove_file(&self.swap));
    }

    /// Makes a file that is not there yet.
    fn create<'a>(&self, lock: &mut Lock, pieces: impl Iterator<Item = &'a [u8]>) -> Result<Replaced, FileError> {
        lock.announce(None)?;
        let file = self.write_new(pieces, None)?;
        // A link, unlike a rename, never takes the place of a file that somebody made meanwhile.
        let linked = fs::hard_link(&self.swap, &self.target);
        self.discard_new();
        match linked {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return self.overtaken(),
            Err(source) => return Err(FileError::new("create", &self.target, source)),
        }
        if let Err(error) = self.sync_folder() {
            drop(fs::remove_file(&self.target));
            return Err(error);
        }
        stamp_of(&file, &self.target).map(Replaced::Done)
    }

    /// Replaces the file that `base` was read from.
    pub(crate) fn replace<'a>(
        &self,
        lock: &mut Lock,
        base: &FileText,
        pieces: impl Iterator<Item = &'a [u8]>,
    ) -> Result<Replaced, FileError> {
        let Some(base_file) = &base.file else {
            return self.create(lock, pieces);
        };
        let like = base_file
            .metadata()
            .map_err(|source| FileError::new("read", &self.target, source))?;
        lock.announce(Some(&base.stamp))?;
        let new = self.write_new(pieces, Some(&like))?;
        let written = stamp_of(&new, &self.swap)?;
        match self.swap_in() {
            Ok(()) => {}
            // Somebody removed the file; what was there went with it.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.discard_new();
                return self.overtaken();
            }
            Err(source) => {
                self.discard_new();
                return Err(FileError::new("replace", &self.target, source));
            }
        }
        // Not durable is not done: on any failure the old file goes back.
        let displaced = self
            .sync_folder()
            .and_then(|()| self.displaced(base))
            .inspect_err(|_| self.swap_back(&written))?;
        // The swap changed the ctime; everything else must still be as written, or the next reader has to look again.
        let stamp = FileStamp {
            ctime_ns: stamp_of(&new, &self.target)?.ctime_ns,
            ..written
        };
        let Some(theirs) = displaced else {
            self.discard_new();
            return Ok(Replaced::Done(stamp));
        };
        fs::rename(&self.swap, &self.theirs).map_err(|source| FileError::new("keep", &self.swap, source))?;
        Ok(Replaced::Overtaken {
            ours: Some(FileText {
                bytes: Vec::new(),
                stamp,
                file: Some(new),
            }),
            theirs,
        })
    }

    /// The answer when the target is not what was read any more: what it is now.
    fn overtaken(&self) -> Result<Replaced, FileError> {
        Ok(Replaced::Overtaken {
            ours: None,
            theirs: read_file(&self.target)?.unwrap_or_else(FileText::absent),
        })
    }

    /// Swaps the new file with the one at the target.
    fn swap_in(&self) -> io::Result<()> {
        match sys::exchange(&self.swap, &self.target) {
            // In three steps where the file system cannot do it in one. Only a save by rename between the first and the
            // second could be missed.
            Err(error) if error.kind() == io::ErrorKind::Unsupported => {
                fs::hard_link(&self.target, &self.theirs)?;
                fs::rename(&self.swap, &self.target)?;
                fs::rename(&self.theirs, &self.swap)
            }
            swapped => swapped,
        }
    }

    /// Puts the old file back after a failure, unless somebody has saved over the new one. Should it fail too, both texts
    /// are there, the old one as a leftover that the next writer deals with; the first failure is the one to report.
    fn swap_back(&self, written: &FileStamp) {
        let untouched = fs::metadata(&self.target).is_ok_and(|metadata| FileStamp::of(&metadata).same_content(written));
        if untouched && self.swap_in().is_ok() {
            self.discard_new();
        }
    }

    /// What stood at the target when the new file was swapped in, if it is not what was read.
    fn displaced(&self, base: &FileText) -> Result<Option<FileText>, FileError> {
        let failed = |source| FileError::new("read", &self.swap, source);
        let file = File::open(&self.swap).map_err(failed)?;
        wait_for_writers(&file, &self.target)?;
        let stamp = FileStamp::of(&file.metadata().map_err(failed)?);
        if stamp.same_content(&base.stamp) {
            return Ok(None);
        }
        read_open(file, &self.swap).map(Some)
    }
}

/// Waits until no program has the file open for writing.
pub(crate) fn wait_for_writers(file: &File, path: &Path) -> Result<(), FileError> {
    let begin = Instant::now();
    while sys::is_being_written(file) {
        if begin.elapsed() > WRITER_WAIT {
            return Err(FileError::new(
                "change",
                path,
                io::Error::new(
                    io::ErrorKind::ResourceBusy,
                    "another program keeps it open for writing; close it there and try again",
                ),
            ));
        }
        std::thread::sleep(WRITER_POLL);
    }
    Ok(())
}

/// Makes the names in a folder durable.
pub(crate) fn sync_folder(folder: &Path) -> Result<(), FileError> {
    let folder = if folder.as_os_str().is_empty() {
        Path::new(".")
    } else {
        folder
    };
    File::open(folder)
        .and_then(|file| file.sync_all())
        .map_err(|source| FileError::new("sync", folder, source))
}

fn stamp_of(file: &File, path: &Path) -> Result<FileStamp, FileError> {
    file.metadata()
        .map(|metadata| FileStamp::of(&metadata))
        .map_err(|source| FileError::new("read", path, source))
}

fn exists(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok()
}
