//! The lock on a file: `flock` on `<file>.lock`. The kernel queues waiters fairly.
//!
//! The lock file also records what its holder is about to replace, so that after a crash the next holder can identify
//! the leftovers. When the holder is done it leaves a mark, so that readers can tell whether the file changed since.

use std::fs::{self, File, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use crate::FileError;
use crate::write::{NEW_FILE_MODE, hand_to_owner_of_folder};
use ralph_model::FileStamp;
use ralph_process::open_lock_file;

/// How long to wait for a lock, and where to report the wait.
#[derive(Clone, Copy)]
pub struct Patience<'a> {
    /// Report the wait after this long.
    pub notice_after: Duration,
    /// Give up after this long.
    pub limit: Duration,
    pub notice: &'a dyn Fn(Notice<'_>),
}

/// Something to report to the user while a file is changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notice<'a> {
    /// Waiting for another process that holds this lock.
    Waiting(&'a Path),
    /// A concurrently saved text could not be merged and is kept here.
    Kept(&'a Path),
}

impl Patience<'_> {
    /// Does not wait: a lock that is held is an error of kind `WouldBlock`.
    #[must_use]
    pub fn none(self) -> Self {
        Self {
            limit: Duration::ZERO,
            ..self
        }
    }
}

const MAX_LOCK_TEXT: u64 = 64 << 10;
/// The start of the mark, on the second line after the announcement.
const MARK: &str = "left as ";

/// The mark that the last lock holder left; `None` while the file is being changed.
#[must_use]
pub fn read_mark(file: &Path) -> Option<String> {
    let mut text = String::new();
    let lock = File::open(lock_path(file)).ok()?;
    lock.take(MAX_LOCK_TEXT).read_to_string(&mut text).ok()?;
    let (_, rest) = text.split_once('\n')?;
    Some(rest.strip_prefix(MARK)?.strip_suffix('\n')?.to_owned())
}

#[must_use]
pub fn lock_path(file: &Path) -> PathBuf {
    let mut path = file.to_owned().into_os_string();
    path.push(".lock");
    path.into()
}

/// A lock that is held until this value is dropped.
#[derive(Debug)]
pub(crate) struct Lock {
    file: File,
    path: PathBuf,
    /// The first line of the lock file: what its holder is about to do, or last did.
    announcement: String,
}

impl Lock {
    pub(crate) fn take(path: PathBuf, patience: &Patience<'_>) -> Result<Self, FileError> {
        loop {
            let file = Self::take_file(&path, patience)?;
            // If the lock file was deleted while we waited, other processes lock a new one.
            let same = fs::metadata(&path)
                .and_then(|at_path| Ok(FileStamp::of(&at_path).inode == FileStamp::of(&file.metadata()?).inode));
            if same.unwrap_or(false) {
                let mut lock = Self {
                    file,
                    path,
                    announcement: String::new(),
                };
                lock.announcement = lock.first_line().unwrap_or_default();
                return Ok(lock);
            }
        }
    }

    fn take_file(path: &Path, patience: &Patience<'_>) -> Result<File, FileError> {
        let failed = |source| FileError::new("lock", path, source);
        let file = open_lock_file(path, NEW_FILE_MODE).map_err(failed)?;
        hand_to_owner_of_folder(&file, path).map_err(failed)?;
        match file.try_lock() {
            Ok(()) => Ok(file),
            Err(TryLockError::WouldBlock) if patience.limit.is_zero() => Err(failed(io::ErrorKind::WouldBlock.into())),
            Err(TryLockError::WouldBlock) => wait_for(file, path, patience),
            Err(TryLockError::Error(source)) => Err(failed(source)),
        }
    }

    /// Records which file is about to be replaced, and by which. This only has to survive a crash of the process, not a
    /// power cut.
    pub(crate) fn announce(&mut self, old: Option<&FileStamp>, new: Option<&FileStamp>) -> Result<(), FileError> {
        let new = new.map_or(0, |new| new.inode);
        self.announcement = old.map_or_else(
            || "nothing\n".to_owned(),
            |old| format!("{} {} {} {new}\n", old.inode, old.size, old.mtime_ns),
        );
        self.rewrite("")
    }

    /// Like [`Self::announce`], for a staged file that will replace another.
    pub(crate) fn announce_staged(&mut self, old: &FileStamp, new: &FileStamp, names: Staged) -> Result<(), FileError> {
        self.announce(Some(old), Some(new))?;
        let Staged { staged, name } = names;
        self.announcement = format!("{} {staged} {name}\n", self.announcement.trim_end());
        self.rewrite("")
    }

    /// The names in the last announcement, if it was about a staged file.
    pub(crate) fn announced_staged(&self) -> Option<Staged> {
        self.announced()?;
        let mut words = self.announcement.trim_end_matches('\n').splitn(6, ' ').skip(4);
        Some(Staged {
            staged: words.next()?.to_owned(),
            name: words.next()?.to_owned(),
        })
    }

    /// Leaves a mark for later readers below the announcement, which still identifies leftovers.
    pub(crate) fn write_mark(&mut self, mark: &str) -> Result<(), FileError> {
        self.rewrite(&format!("{MARK}{mark}\n"))
    }

    /// The last announcement, if it can be parsed.
    pub(crate) fn announced(&self) -> Option<Announced> {
        let mut numbers = self.announcement.split_ascii_whitespace();
        Some(Announced {
            old: (
                numbers.next()?.parse().ok()?,
                numbers.next()?.parse().ok()?,
                numbers.next()?.parse().ok()?,
            ),
            new_inode: numbers.next()?.parse().ok()?,
        })
    }

    fn first_line(&mut self) -> Option<String> {
        let mut text = String::new();
        (&self.file).take(MAX_LOCK_TEXT).read_to_string(&mut text).ok()?;
        let (line, _) = text.split_once('\n')?;
        Some(format!("{line}\n"))
    }

    /// Overwrites the announcement and the mark, and truncates only afterwards, so there is an announcement at every
    /// moment.
    fn rewrite(&mut self, mark: &str) -> Result<(), FileError> {
        let text = format!("{}{mark}", self.announcement);
        self.file
            .seek(SeekFrom::Start(0))
            .and_then(|_| self.file.write_all(text.as_bytes()))
            .and_then(|()| self.file.set_len(text.len() as u64))
            .map_err(|source| FileError::new("write", &self.path, source))
    }
}

/// The name of a staged file, and of the file it will replace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Staged {
    pub(crate) staged: String,
    pub(crate) name: String,
}

/// A parsed announcement.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Announced {
    /// Inode, size and mtime of the file to be replaced.
    old: (u64, u64, i64),
    /// The inode of the replacement; 0 if there is none yet.
    new_inode: u64,
}

impl Announced {
    /// Whether this is the file to be replaced, unchanged since.
    pub(crate) fn is_old(&self, stamp: &FileStamp) -> bool {
        self.old == (stamp.inode, stamp.size, stamp.mtime_ns)
    }

    /// Whether this is the replacement.
    pub(crate) fn is_new(&self, stamp: &FileStamp) -> bool {
        self.new_inode == stamp.inode
    }

    pub(crate) fn old_inode(&self) -> u64 {
        self.old.0
    }
}

/// Waits in the kernel's fair queue, on a separate thread so that the wait can be reported and limited.
fn wait_for(file: File, path: &Path, patience: &Patience<'_>) -> Result<File, FileError> {
    let (sender, receiver) = channel();
    let waiter = move || {
        let locked = loop {
            match file.lock() {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => break other,
            }
        };
        // After the limit the receiver is gone, and dropping the file releases the lock.
        drop(sender.send(locked.map(|()| file)));
    };
    std::thread::Builder::new()
        .name("lock".to_owned())
        .spawn(waiter)
        .map_err(|source| FileError::new("wait for the lock", path, source))?;
    let first = receiver.recv_timeout(patience.notice_after);
    let answer = match first {
        Err(RecvTimeoutError::Timeout) => {
            (patience.notice)(Notice::Waiting(path));
            receiver.recv_timeout(patience.limit.saturating_sub(patience.notice_after))
        }
        other => other,
    };
    match answer {
        Ok(locked) => locked.map_err(|source| FileError::new("lock", path, source)),
        Err(_) => Err(FileError::new(
            "lock",
            path,
            io::Error::new(
                io::ErrorKind::TimedOut,
                format!("another process has held it for {} seconds", patience.limit.as_secs()),
            ),
        )),
    }
}
