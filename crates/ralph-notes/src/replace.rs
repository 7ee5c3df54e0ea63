//! Replaces a file whole and durably, and notices when somebody saved to it at the same time.
//!
//! The new file is written beside the old one, synced, and swapped with it in one step, while programs that want to open
//! the old one for writing are held off. The old file is then still in hand: if it is not what was read (an editor saved
//! in between), or if somebody waits to write to it, it goes back, and the caller applies the edit to what they save. So
//! neither side's text is lost, although editors take no lock.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::FileError;
use crate::file::{FileText, read_file, read_open};
use crate::lock::Lock;
use crate::sys::{self, WritersHeldOff};
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
    /// kept beside it until it is merged; without `ours` nothing was written and theirs stands. `kept` is yet another save,
    /// which nobody can merge.
    Overtaken {
        theirs: FileText,
        ours: Option<FileText>,
        kept: Option<PathBuf>,
    },
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

/// What went wrong with a swap.
enum SwapError {
    /// The swap itself; as if nothing had happened.
    Swap(io::Error),
    /// Making it durable; the new file stands.
    Sync(FileError),
}

/// What to do about somebody who saves at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Attempt {
    /// Let them go first, and try again with their text.
    Yield,
    /// Write all the same, and keep theirs beside.
    Insist,
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
        let written = (move || {
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
        // From here on it is only read: whoever has it open for writing counts as an editor in the middle of a save.
        let reopened = written.and_then(|()| File::open(&self.swap));
        reopened.map_err(|source| {
            self.discard_new();
            FileError::new("write", &self.target, source)
        })
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
        attempt: Attempt,
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
        if attempt == Attempt::Insist {
            wait_for_writers(base_file, &self.target).inspect_err(|_| self.discard_new())?;
        }
        let Some(held_off) = WritersHeldOff::on(base_file) else {
            self.discard_new();
            return self.overtaken();
        };
        let swapped = self.swap_while(&held_off, base, attempt);
        // Whoever is held off has to get on before their save can be read.
        drop(held_off);
        match swapped {
            Ok(Swapped::In) => self.settle(base, &written, new),
            Ok(Swapped::Not) => {
                self.discard_new();
                self.overtaken()
            }
            Ok(Swapped::AndBack) => self.yield_to_them(&written),
            Err(SwapError::Swap(source)) => {
                self.discard_new();
                Err(FileError::new("replace", &self.target, source))
            }
            Err(SwapError::Sync(error)) => {
                // Not durable is not done: the old file goes back.
                self.swap_back(&written);
                Err(error)
            }
        }
    }

    /// Swaps the new file in durably while writers are held off the old one, and takes that back at once where the old one
    /// is not what was read, or somebody waits to write to it.
    fn swap_while(
        &self,
        held_off: &WritersHeldOff<'_>,
        base: &FileText,
        attempt: Attempt,
    ) -> Result<Swapped, SwapError> {
        let gives_way =
            |path: &Path| attempt == Attempt::Yield && (!is_still(path, &base.stamp) || held_off.somebody_waits());
        if gives_way(&self.target) {
            return Ok(Swapped::Not);
        }
        match self.swap_in() {
            Ok(()) => {}
            // Somebody removed the file; what was there went with it.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Swapped::Not),
            Err(error) => return Err(SwapError::Swap(error)),
        }
        if !gives_way(&self.swap) {
            self.sync_folder().map_err(SwapError::Sync)?;
        }
        if gives_way(&self.swap) {
            self.swap_in().map_err(SwapError::Swap)?;
            return Ok(Swapped::AndBack);
        }
        Ok(Swapped::In)
    }

    /// Looks a last time at the old file: where writers cannot be held off, a program that had opened it before the swap
    /// may have written to it since.
    fn settle(&self, base: &FileText, written: &FileStamp, new: File) -> Result<Replaced, FileError> {
        let displaced = self.displaced(base).inspect_err(|_| self.swap_back(written))?;
        // The swap changed the ctime; everything else must still be as written, or the next reader has to look again.
        let stamp = FileStamp {
            ctime_ns: stamp_of(&new, &self.target)?.ctime_ns,
            ..*written
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
            kept: None,
        })
    }

    /// Tells of a save that came in the last moment. In the unlikely case that somebody saved over the new file while it
    /// stood, that save is kept beside the file.
    fn yield_to_them(&self, written: &FileStamp) -> Result<Replaced, FileError> {
        if is_still(&self.swap, written) {
            self.discard_new();
            return self.overtaken();
        }
        let kept = self.keep(&self.swap)?;
        Ok(Replaced::Overtaken {
            theirs: self.standing()?,
            ours: None,
            kept: Some(kept),
        })
    }

    /// The answer when the target is not what was read any more: what it is now.
    fn overtaken(&self) -> Result<Replaced, FileError> {
        Ok(Replaced::Overtaken {
            theirs: self.standing()?,
            ours: None,
            kept: None,
        })
    }

    fn standing(&self) -> Result<FileText, FileError> {
        Ok(read_file(&self.target)?.unwrap_or_else(FileText::absent))
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
        if is_still(&self.target, written) && self.swap_in().is_ok() {
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

/// Whether a file is still what it was.
fn is_still(path: &Path, stamp: &FileStamp) -> bool {
    fs::metadata(path).is_ok_and(|metadata| FileStamp::of(&metadata).same_content(stamp))
}

fn exists(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok()
}
