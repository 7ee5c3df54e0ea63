//! Reads and updates files that people, editors, and other processes change at the same time.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ralph_model::FileStamp;

use crate::lock::{Lock, lock_path};
use crate::replace::{Attempt, Replaced, Replacement};
use crate::write::create_folder;
use crate::{Patches, Patience, sys};

/// The largest file that is read as notes.
const MAX_FILE_BYTES: u64 = 1 << 30;
/// How often an edit yields to a concurrent save and is reapplied to the saved text. An editor never causes two in a
/// row; a tool that saves every few milliseconds sometimes causes five.
const YIELDING_TRIES: usize = 100;
/// How often an edit is tried in total. The last tries do not yield.
const MAX_TRIES: usize = YIELDING_TRIES + 3;
/// How often a read is retried because the file changed meanwhile.
const READ_TRIES: usize = 100;
/// How long a reader waits for a program that has the file open for writing.
const READER_WAIT: Duration = Duration::from_millis(200);
/// Maximum length of a chain of symbolic links.
const MAX_LINKS: usize = 40;

/// A failed file operation, with the path and the cause.
#[derive(Debug, thiserror::Error)]
#[error("cannot {action} {}: {source}", path.display())]
pub struct FileError {
    action: &'static str,
    path: PathBuf,
    source: io::Error,
}

impl FileError {
    pub(crate) fn new(action: &'static str, path: &Path, source: io::Error) -> Self {
        Self {
            action,
            path: path.to_owned(),
            source,
        }
    }

    /// The error for a file that another program keeps open for writing.
    pub(crate) fn being_written(path: &Path) -> Self {
        let why = "another program keeps it open for writing; close it there and try again";
        Self::new("change", path, io::Error::new(io::ErrorKind::ResourceBusy, why))
    }

    /// The error for a path outside the project.
    #[must_use]
    pub fn outside(path: &Path, leads_to: &Path) -> Self {
        let why = format!("it leads outside the project, to {}", leads_to.display());
        Self::new("use", path, io::Error::other(why))
    }

    #[must_use]
    pub fn reason(&self) -> &io::Error {
        &self.source
    }

    #[must_use]
    pub fn kind(&self) -> io::ErrorKind {
        self.source.kind()
    }
}

#[derive(Debug)]
pub struct FileText {
    pub bytes: Vec<u8>,
    /// The stamp when it was read.
    pub stamp: FileStamp,
    /// The open file, which stays readable after its name is replaced; `None` if the file does not exist.
    pub(crate) file: Option<File>,
}

impl FileText {
    pub(crate) fn absent() -> Self {
        Self {
            bytes: Vec::new(),
            stamp: FileStamp {
                inode: 0,
                size: 0,
                mtime_ns: 0,
                ctime_ns: 0,
            },
            file: None,
        }
    }
}

#[derive(Debug)]
pub struct Updated {
    /// The text that the edit was applied to.
    pub before: Vec<u8>,
    /// The stamp of the file as first read; `None` if it did not exist.
    pub read: Option<FileStamp>,
    /// The stamp of the written file; `None` if nothing changed.
    pub written: Option<FileStamp>,
    /// Whether another program saved at the same time, so that `before` is not what was first read.
    pub overtaken: bool,
}

/// Reads a file; `None` if it does not exist. Waits briefly for a save in progress.
///
/// # Errors
/// If the path cannot be read, is a folder, or is too large.
pub fn read_file(path: &Path) -> Result<Option<FileText>, FileError> {
    let failed = |source| FileError::new("read", path, source);
    // Do not block on a pipe.
    let opened = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path);
    let mut file = match opened {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(failed(source)),
    };
    let mut metadata = file.metadata().map_err(failed)?;
    if metadata.is_dir() {
        return Err(failed(io::ErrorKind::IsADirectory.into()));
    }
    if !metadata.is_file() {
        return Err(failed(io::Error::new(io::ErrorKind::InvalidInput, "it is not a file")));
    }
    let mut patient = true;
    for _ in 0..READ_TRIES {
        if metadata.len() > MAX_FILE_BYTES {
            return Err(failed(io::ErrorKind::FileTooLarge.into()));
        }
        let mut bytes = Vec::with_capacity(usize::try_from(metadata.len()).unwrap_or_default() + 1);
        (&mut file)
            .take(MAX_FILE_BYTES)
            .read_to_end(&mut bytes)
            .map_err(failed)?;
        let before = FileStamp::of(&metadata);
        // A program that has the file open for writing may have truncated it and be about to write. Read it anyway if
        // the program does not close it in time.
        let quiet = !patient || sys::wait_for_writers_up_to(&file, Duration::ZERO);
        metadata = file.metadata().map_err(failed)?;
        if quiet && FileStamp::of(&metadata).same_content(&before) {
            let stamp = FileStamp::of(&metadata);
            let file = Some(file);
            return Ok(Some(FileText { bytes, stamp, file }));
        }
        patient = sys::wait_for_writers_up_to(&file, READER_WAIT);
        metadata = file.metadata().map_err(failed)?;
        file.seek(SeekFrom::Start(0)).map_err(failed)?;
    }
    Err(failed(io::Error::new(
        io::ErrorKind::ResourceBusy,
        "it changes faster than it can be read",
    )))
}

/// Resolves symbolic links in a path, including links to files that do not exist yet.
///
/// # Errors
/// If the links form a loop or cannot be read.
pub fn resolve(path: &Path) -> Result<PathBuf, FileError> {
    let mut path = path.to_owned();
    for _ in 0..MAX_LINKS {
        match fs::read_link(&path) {
            Ok(link) => path = path.parent().unwrap_or(Path::new("")).join(link),
            Err(error) if matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::NotFound) => {
                return Ok(path);
            }
            Err(source) => return Err(FileError::new("follow", &path, source)),
        }
    }
    Err(FileError::new(
        "follow",
        &path,
        io::Error::other("too many symbolic links"),
    ))
}

/// A file whose lock is held until this value is dropped.
pub struct LockedFile<'a> {
    replacement: Replacement<'a>,
    lock: Lock,
}

impl<'a> LockedFile<'a> {
    /// Locks a file, which need not exist. Creates its folder.
    ///
    /// # Errors
    /// If the folder cannot be created or the lock cannot be taken.
    pub fn lock(path: &Path, patience: &Patience<'a>) -> Result<Self, FileError> {
        let target = resolve(path)?;
        if let Some(folder) = target.parent() {
            create_folder(folder)?;
        }
        let replacement = Replacement::of(target, patience.notice)?;
        let lock = Lock::take(lock_path(&replacement.target), patience)?;
        replacement.clear_leftovers(&lock)?;
        Ok(Self { replacement, lock })
    }

    /// Releases the lock and deletes the lock file, for files that ralph changes rarely. Waiting processes notice and
    /// create a new lock file.
    ///
    /// # Errors
    /// If the lock file cannot be removed.
    pub fn unlock_without_trace(self) -> Result<(), FileError> {
        let path = lock_path(&self.replacement.target);
        fs::remove_file(&path).map_err(|source| FileError::new("remove", &path, source))
    }

    /// Leaves a mark that [`crate::read_mark`] returns until the file is next locked and changed. The mark may be lost,
    /// so use it only as an optimization.
    ///
    /// # Errors
    /// If the lock file cannot be written.
    pub fn write_mark(&mut self, mark: &str) -> Result<(), FileError> {
        self.lock.write_mark(mark)
    }

    /// Applies an edit and writes the result durably. The edit starts from `template` if the file does not exist. It
    /// runs again on the newer text if another program saves at the same time, so it may be called more than once.
    ///
    /// # Errors
    /// If the edit fails or the file cannot be written; the file is then unchanged.
    pub fn update<E: From<FileError>>(
        &mut self,
        template: &[u8],
        mut edit: impl FnMut(&[u8]) -> Result<Patches, E>,
    ) -> Result<Updated, E> {
        let mut current = read_file(&self.replacement.target)?.unwrap_or_else(FileText::absent);
        if let Some(file) = &current.file {
            self.refuse_if_not_writable(file)?;
        }
        let read = current.file.is_some().then_some(current.stamp);
        for attempt in 1.. {
            let before = match current.file {
                Some(_) => std::mem::take(&mut current.bytes),
                None => template.to_vec(),
            };
            let patches = edit(&before)?;
            let manner = match attempt {
                ..=YIELDING_TRIES => Attempt::Yield,
                _ => Attempt::Insist,
            };
            let replaced = if patches.is_empty() {
                None
            } else {
                let pieces = patches.pieces(&before);
                Some(self.replacement.replace(&mut self.lock, &current, pieces, manner)?)
            };
            let written = match replaced {
                Some(Replaced::Overtaken(theirs)) if attempt < MAX_TRIES => {
                    current = theirs;
                    continue;
                }
                Some(Replaced::Overtaken(_)) => break,
                Some(Replaced::Done(stamp)) => Some(stamp),
                None => None,
            };
            return Ok(Updated {
                before,
                read,
                written,
                overtaken: attempt > 1,
            });
        }
        let source = io::Error::new(io::ErrorKind::ResourceBusy, "other programs keep replacing it");
        Err(FileError::new("change", &self.replacement.target, source).into())
    }

    /// Deletes the file if it still holds these bytes; returns whether it did. A missing file counts as deleted.
    ///
    /// # Errors
    /// If the file cannot be deleted; it is then unchanged.
    pub fn remove(&mut self, expected: &[u8]) -> Result<bool, FileError> {
        let Some(current) = read_file(&self.replacement.target)? else {
            return Ok(true);
        };
        if current.bytes != expected {
            return Ok(false);
        }
        if let Some(file) = &current.file {
            self.refuse_if_not_writable(file)?;
        }
        self.replacement.remove(&mut self.lock, &current)
    }

    /// A swap would silently replace a read-only file. A program that keeps the old file open for writing would go on
    /// writing to a deleted file.
    fn refuse_if_not_writable(&self, file: &File) -> Result<(), FileError> {
        let target = &self.replacement.target;
        let failed = |source| FileError::new("write", target, source);
        if file.metadata().map_err(failed)?.permissions().readonly() {
            return Err(failed(io::Error::new(
                io::ErrorKind::PermissionDenied,
                "the file is read-only",
            )));
        }
        OpenOptions::new().write(true).open(target).map(drop).map_err(failed)?;
        if sys::wait_for_writers(file) {
            Ok(())
        } else {
            Err(FileError::being_written(target))
        }
    }
}
