//! Reading and changing a file that people, editors and other processes change too.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::lock::Lock;
use crate::replace::{Attempt, Names, Replaced, sync_folder, wait_for_writers};
use crate::sys;
use crate::{Patches, Patience};
use ralph_model::FileStamp;

/// The largest file that is read as notes.
pub const MAX_FILE_BYTES: u64 = 1 << 30;
/// How often an edit gives way to somebody who saves at the same time, and is applied to what they saved. A person's
/// editor never makes it give way twice; a tool that saves every few milliseconds does, now and then five times in a row.
const YIELDING_TRIES: usize = 100;
/// How often it then insists, and merges what they saved into what it wrote.
const INSISTING_TRIES: usize = 3;
/// How often a file is read again because somebody wrote to it meanwhile.
const READ_TRIES: usize = 100;
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

    /// The kind of the system's error.
    #[must_use]
    pub fn kind(&self) -> io::ErrorKind {
        self.source.kind()
    }
}

/// Why an update did not happen: the file, or the edit itself.
#[derive(Debug)]
pub enum UpdateError<E> {
    /// The file could not be read or written.
    File(FileError),
    /// The edit refused.
    Edit(E),
}

impl<E> From<FileError> for UpdateError<E> {
    fn from(error: FileError) -> Self {
        Self::File(error)
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

/// Reads a file; `None` when there is none.
///
/// # Errors
/// When it cannot be read, is a folder, or is too large to be notes.
pub fn read_file(path: &Path) -> Result<Option<FileText>, FileError> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(FileError::new("read", path, source)),
    };
    read_open(file, path).map(Some)
}

/// Reads a file whole, and not while it is being written.
pub(crate) fn read_open(mut file: File, path: &Path) -> Result<FileText, FileError> {
    let failed = |source| FileError::new("read", path, source);
    let mut metadata = file.metadata().map_err(failed)?;
    if metadata.is_dir() {
        return Err(failed(io::ErrorKind::IsADirectory.into()));
    }
    for _ in 0..READ_TRIES {
        if metadata.len() > MAX_FILE_BYTES {
            return Err(failed(io::ErrorKind::FileTooLarge.into()));
        }
        let mut bytes = Vec::with_capacity(usize::try_from(metadata.len()).unwrap_or_default() + 1);
        file.read_to_end(&mut bytes).map_err(failed)?;
        let before = FileStamp::of(&metadata);
        let quiet = !sys::is_being_written(&file);
        metadata = file.metadata().map_err(failed)?;
        if quiet && FileStamp::of(&metadata).same_content(&before) {
            return Ok(FileText {
                bytes,
                stamp: FileStamp::of(&metadata),
                file: Some(file),
            });
        }
        // Somebody wrote to it while it was read, or has emptied it and is about to: what was read may be half a text.
        wait_for_writers(&file, path)?;
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

/// Makes a folder and its parents where they are missing, durably.
///
/// # Errors
/// When one cannot be made.
pub fn create_folder(folder: &Path) -> Result<(), FileError> {
    if folder.as_os_str().is_empty() || folder.is_dir() {
        return Ok(());
    }
    if let Some(parent) = folder.parent() {
        create_folder(parent)?;
    }
    match fs::create_dir(folder) {
        Ok(()) => sync_folder(folder.parent().unwrap_or(Path::new(""))),
        Err(_) if folder.is_dir() => Ok(()),
        Err(source) => Err(FileError::new("create", folder, source)),
    }
}

/// Writes a file that must not be there yet, durably.
///
/// # Errors
/// `AlreadyExists` when it is there; else what the file system says.
pub fn write_new_file(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    let written = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(path)
        .and_then(|mut file| {
            file.write_all(bytes)?;
            file.sync_all()
        });
    written.map_err(|source| FileError::new("create", path, source))?;
    sync_folder(path.parent().unwrap_or(Path::new("")))
}

/// A file whose lock is held until this value is dropped.
#[derive(Debug)]
pub struct LockedFile {
    names: Names,
    lock: Lock,
    kept: Vec<PathBuf>,
}

impl LockedFile {
    /// Takes the lock of a file, which need not exist; its folder is made.
    ///
    /// # Errors
    /// When the folder or the lock cannot be had.
    pub fn lock(path: &Path, patience: &Patience<'_>) -> Result<Self, FileError> {
        let target = resolve(path)?;
        if let Some(folder) = target.parent() {
            create_folder(folder)?;
        }
        let names = Names::beside(target)?;
        let mut lock = Lock::take(names.lock_path(), patience)?;
        let kept = names.clear_leftovers(&mut lock)?;
        Ok(Self {
            names,
            lock,
            kept: kept.into_iter().collect(),
        })
    }

    /// Lets go of the lock and removes its file: for files that ralph changes only now and then, beside which a lock file
    /// would be a nuisance. Whoever waits for it notices and makes a new one.
    ///
    /// # Errors
    /// When the lock file cannot be removed.
    pub fn unlock_without_trace(self) -> Result<(), FileError> {
        let path = self.names.lock_path();
        fs::remove_file(&path).map_err(|source| FileError::new("remove", &path, source))
    }

    /// Copies of other people's saves that could not be merged and were kept beside the file.
    #[must_use]
    pub fn kept(&self) -> &[PathBuf] {
        &self.kept
    }

    /// Reads the file as it is now; `None` when there is none.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn read(&self) -> Result<Option<FileText>, FileError> {
        read_file(&self.names.target)
    }

    /// Applies an edit and writes the result durably. The edit starts from `template` where there is no file, and is
    /// applied again to the newer text when somebody saves at the same time, so it must not count on being called once.
    ///
    /// # Errors
    /// What the edit refuses, or what the file system says; the file is then as it was.
    pub fn update<E>(
        &mut self,
        template: &[u8],
        mut edit: impl FnMut(&[u8]) -> Result<Patches, E>,
    ) -> Result<Updated, UpdateError<E>> {
        let mut standing = self.read()?.unwrap_or_else(FileText::absent);
        if standing.file.is_some() {
            self.refuse_read_only()?;
        }
        let read = standing.file.is_some().then_some(standing.stamp);
        let mut theirs: Option<FileText> = None;
        let mut done: Option<Updated> = None;
        for attempt in 1..=YIELDING_TRIES + INSISTING_TRIES {
            let source = theirs.as_mut().unwrap_or(&mut standing);
            let before = match source.file {
                Some(_) => std::mem::take(&mut source.bytes),
                None => template.to_vec(),
            };
            let patches = edit(&before).map_err(UpdateError::Edit)?;
            let overtaken = attempt > 1;
            if patches.is_empty() && theirs.is_none() {
                return Ok(Updated {
                    before,
                    read,
                    written: None,
                    overtaken,
                });
            }
            let manner = if attempt <= YIELDING_TRIES {
                Attempt::Yield
            } else {
                Attempt::Insist
            };
            let replaced = self
                .names
                .replace(&mut self.lock, &standing, patches.pieces(&before), manner)?;
            let finished = |stamp| Updated {
                before,
                read,
                written: Some(stamp),
                overtaken,
            };
            match replaced {
                Replaced::Done(stamp) => {
                    self.names.forget_theirs()?;
                    return Ok(finished(stamp));
                }
                Replaced::Overtaken {
                    theirs: saved,
                    ours,
                    kept,
                } => {
                    self.kept.extend(kept);
                    match ours {
                        Some(ours) => {
                            done = Some(finished(ours.stamp));
                            standing = ours;
                            theirs = Some(saved);
                        }
                        None => {
                            standing = saved;
                            theirs = None;
                        }
                    }
                }
            }
        }
        // Ours stands; theirs gets a name of its own, and a person decides.
        self.kept.extend(self.names.keep_theirs()?);
        done.ok_or_else(|| {
            let source = io::Error::new(io::ErrorKind::ResourceBusy, "other programs keep replacing it");
            UpdateError::File(FileError::new("change", &self.names.target, source))
        })
    }

    /// A rename would replace a read-only file without asking, so ask.
    fn refuse_read_only(&self) -> Result<(), FileError> {
        let target = &self.names.target;
        let failed = |source| FileError::new("write", target, source);
        if fs::metadata(target).map_err(failed)?.permissions().readonly() {
            return Err(failed(io::Error::new(
                io::ErrorKind::PermissionDenied,
                "the file is read-only",
            )));
        }
        OpenOptions::new().write(true).open(target).map(drop).map_err(failed)
    }
}
