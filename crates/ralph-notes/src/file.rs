//! Reading and changing a file that people, editors and other processes change too.

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
/// How often an edit gives way to somebody who saves at the same time, and is applied to what they saved. A person's
/// editor never makes it give way twice; a tool that saves every few milliseconds does, now and then five times in a row.
const YIELDING_TRIES: usize = 100;
/// After how many tries, the last of which insist, an edit gives up.
const MAX_TRIES: usize = YIELDING_TRIES + 3;
/// How often a file is read again because somebody wrote to it meanwhile.
const READ_TRIES: usize = 100;
/// How long a reader waits for somebody who has the file open for writing.
const READER_WAIT: Duration = Duration::from_millis(200);
/// How many links a symbolic link may lead through.
const MAX_LINKS: usize = 40;

/// What could not be done with which file, and why.
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

    /// The error for a file that another program does not let go of.
    pub(crate) fn being_written(path: &Path) -> Self {
        let why = "another program keeps it open for writing; close it there and try again";
        Self::new("change", path, io::Error::new(io::ErrorKind::ResourceBusy, why))
    }

    /// The error for a file or folder that is outside the project.
    #[must_use]
    pub fn outside(path: &Path, leads_to: &Path) -> Self {
        let why = format!("it leads outside the project, to {}", leads_to.display());
        Self::new("use", path, io::Error::other(why))
    }

    /// What the system said.
    #[must_use]
    pub fn reason(&self) -> &io::Error {
        &self.source
    }

    /// The kind of the system's error.
    #[must_use]
    pub fn kind(&self) -> io::ErrorKind {
        self.source.kind()
    }
}

/// A file as it was read.
#[derive(Debug)]
pub struct FileText {
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// Its stamp at that moment.
    pub stamp: FileStamp,
    /// The file itself, which stays in hand when another takes its name; none for one that is not there yet.
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

/// What an update did.
#[derive(Debug)]
pub struct Updated {
    /// The text that the edit was applied to.
    pub before: Vec<u8>,
    /// The stamp of the file that was first read; none when there was no file.
    pub read: Option<FileStamp>,
    /// The stamp of the file that was written; none when nothing had to change.
    pub written: Option<FileStamp>,
    /// Whether somebody else saved at the same time, so that `before` is not what was first read.
    pub overtaken: bool,
}

/// Reads a file; `None` when there is none. A save that is under way is waited for, but not for long.
///
/// # Errors
/// When it cannot be read, is a folder, or is too large to be notes.
pub fn read_file(path: &Path) -> Result<Option<FileText>, FileError> {
    let failed = |source| FileError::new("read", path, source);
    // Without waiting: somebody may have put a pipe there.
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
        // Whoever has it open for writing may have emptied it and be about to write. Who keeps it open is no reason not
        // to read it.
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

/// Where a path really leads: through symbolic links, also to a file that is not there yet.
///
/// # Errors
/// When the links go round in circles or cannot be read.
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
    /// Takes the lock of a file, which need not exist; its folder is made.
    ///
    /// # Errors
    /// When the folder or the lock cannot be had.
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

    /// Lets go of the lock and removes its file: for files that ralph changes only now and then, beside which a lock file
    /// would be a nuisance. Whoever waits for it notices and makes a new one.
    ///
    /// # Errors
    /// When the lock file cannot be removed.
    pub fn unlock_without_trace(self) -> Result<(), FileError> {
        let path = lock_path(&self.replacement.target);
        fs::remove_file(&path).map_err(|source| FileError::new("remove", &path, source))
    }

    /// Leaves a mark that [`crate::read_mark`] gives to readers until the file is locked and changed again. It is a
    /// convenience: it may be lost, so nothing may depend on it.
    ///
    /// # Errors
    /// When the lock file cannot be written.
    pub fn leave_mark(&mut self, mark: &str) -> Result<(), FileError> {
        self.lock.leave_mark(mark)
    }

    /// Applies an edit and writes the result durably. The edit starts from `template` where there is no file, and is
    /// applied again to the newer text when somebody saves at the same time, so it must not count on being called once.
    ///
    /// # Errors
    /// What the edit refuses, or what the file system says; the file is then as it was.
    pub fn update<E: From<FileError>>(
        &mut self,
        template: &[u8],
        mut edit: impl FnMut(&[u8]) -> Result<Patches, E>,
    ) -> Result<Updated, E> {
        let mut standing = read_file(&self.replacement.target)?.unwrap_or_else(FileText::absent);
        if let Some(file) = &standing.file {
            self.refuse_if_not_writable(file)?;
        }
        let read = standing.file.is_some().then_some(standing.stamp);
        for attempt in 1.. {
            let before = match standing.file {
                Some(_) => std::mem::take(&mut standing.bytes),
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
                Some(self.replacement.replace(&mut self.lock, &standing, pieces, manner)?)
            };
            let written = match replaced {
                Some(Replaced::Overtaken(theirs)) if attempt < MAX_TRIES => {
                    standing = theirs;
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

    /// Takes the file away if it still holds these bytes; says whether it did. One that is gone already is as good.
    ///
    /// # Errors
    /// When the file system says no; the file is then as it was.
    pub fn remove(&mut self, expected: &[u8]) -> Result<bool, FileError> {
        let Some(standing) = read_file(&self.replacement.target)? else {
            return Ok(true);
        };
        if standing.bytes != expected {
            return Ok(false);
        }
        if let Some(file) = &standing.file {
            self.refuse_if_not_writable(file)?;
        }
        self.replacement.remove(&mut self.lock, &standing)
    }

    /// A swap would replace a read-only file without asking, and a file that somebody keeps open for writing would go on
    /// being written where nobody reads it.
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
