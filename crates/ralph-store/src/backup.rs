//! Backups of the fact store: whole copies in a folder outside the project, made with SQLite's backup API, and how one of
//! them takes the database's place. Where the folder is, and when a backup is made, is decided elsewhere.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use ralph_process::open_lock_file;
use rusqlite::Connection;
use rusqlite::backup::{Backup as Copying, StepResult};

use crate::file_system::FileSystem;
use crate::open::{self, MigrateError, folder_of, hand_to_owner_of_folder, path_beside};
use crate::progress::faults;
use crate::{RecordCounts, Store, StoreError};

/// How many backups are kept.
const KEPT: usize = 7;
/// How old the last backup is when the next one is due.
const DUE_AFTER: SignedDuration = SignedDuration::from_hours(24);
/// How often a copy that another process keeps waiting is tried, and how long each wait is.
const COPY_TRIES: u32 = 200;
const COPY_WAIT: Duration = Duration::from_millis(50);

/// The name of a backup is the time between these two, so names sort by time.
const PREFIX: &str = "progress-";
const SUFFIX: &str = ".db";
const TIME: &str = "%Y%m%dT%H%M%SZ";
/// A backup before it is whole.
const UNFINISHED: &str = "progress.db.unfinished";
const LOCK: &str = ".lock";

/// A backup.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Backup {
    /// Its file.
    pub path: PathBuf,
    /// When it was made.
    pub made_at: Timestamp,
}

impl Backup {
    /// The name of its file.
    #[must_use]
    pub fn name(&self) -> String {
        let name = self.path.file_name().unwrap_or_default();
        name.to_string_lossy().into_owned()
    }

    /// How much it has on record.
    ///
    /// # Errors
    /// When it is damaged, or cannot be read.
    pub fn record_counts(&self) -> Result<RecordCounts, StoreError> {
        match Store::open_to_look(&self.path)? {
            Some(store) => store.record_counts(),
            None => Err(damaged(&self.path, &["it is empty".to_owned()])),
        }
    }

    /// Checks that it is whole and that this version can read it.
    ///
    /// # Errors
    /// When it is not.
    pub fn verify(&self) -> Result<(), StoreError> {
        verify(&self.path)
    }

    fn at(path: PathBuf) -> Option<Self> {
        let name = path.file_name()?.to_str()?;
        let time = name.strip_prefix(PREFIX)?.strip_suffix(SUFFIX)?;
        let made_at = DateTime::strptime(TIME, time).ok()?.to_zoned(TimeZone::UTC).ok()?;
        Some(Self {
            path,
            made_at: made_at.timestamp(),
        })
    }
}

/// The backups of one fact store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Backups {
    folder: PathBuf,
}

impl Backups {
    /// The backups in a folder, which need not exist.
    #[must_use]
    pub fn in_folder(folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
        }
    }

    /// All of them, the oldest first.
    ///
    /// # Errors
    /// When the folder cannot be read.
    pub fn list(&self) -> Result<Vec<Backup>, StoreError> {
        let entries = match fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(self.failed(error)),
        };
        let mut found = Vec::new();
        for entry in entries {
            found.extend(Backup::at(entry.map_err(|error| self.failed(error))?.path()));
        }
        found.sort_by_key(|backup| backup.made_at);
        Ok(found)
    }

    /// The newest one.
    ///
    /// # Errors
    /// When the folder cannot be read.
    pub fn newest(&self) -> Result<Option<Backup>, StoreError> {
        Ok(self.list()?.pop())
    }

    /// Whether none is younger than a day. One of the future was made by a wrong clock and does not count.
    fn is_due(&self, now: Timestamp) -> Result<bool, StoreError> {
        let is_recent = |backup: &Backup| backup.made_at <= now && now.duration_since(backup.made_at) < DUE_AFTER;
        Ok(!self.list()?.iter().any(is_recent))
    }

    /// Backs a database up before its schema changes. The backup is as old as the last change of the database.
    pub(crate) fn make_before_migration(&self, connection: &Connection, path: &Path) -> Result<(), StoreError> {
        let lock = self.lock_file()?;
        lock.lock().map_err(|error| self.failed(error))?;
        let changed = [path.to_owned(), open::log_path(path)]
            .iter()
            .filter_map(|file| fs::metadata(file).and_then(|file| file.modified()).ok())
            .max();
        let changed = changed.and_then(|time| Timestamp::try_from(time).ok());
        self.make(connection, changed.unwrap_or(Timestamp::UNIX_EPOCH))
            .map(drop)
    }

    /// Makes a backup, checks it, and removes the oldest beyond those that are kept. The lock must be held.
    fn make(&self, connection: &Connection, now: Timestamp) -> Result<Backup, StoreError> {
        let mut made_at = now;
        let path = loop {
            let path = self.folder.join(format!("{PREFIX}{}{SUFFIX}", made_at.strftime(TIME)));
            if !path.exists() {
                break path;
            }
            made_at = made_at.saturating_add(SignedDuration::from_secs(1)).unwrap_or(made_at);
        };
        keep_copy(connection, &path)?;
        let made = Backup { path, made_at };
        self.remove_oldest(&made)?;
        Ok(made)
    }

    fn remove_oldest(&self, made: &Backup) -> Result<(), StoreError> {
        let mut all = self.list()?;
        all.retain(|backup| backup.path != made.path);
        let surplus = (all.len() + 1).saturating_sub(KEPT);
        for backup in all.into_iter().take(surplus) {
            fs::remove_file(&backup.path).map_err(|error| self.failed(error))?;
        }
        Ok(())
    }

    /// The lock that keeps two processes from making backups at once; the folder is created for it.
    fn lock_file(&self) -> Result<File, StoreError> {
        let opened = create_private_folder(&self.folder).and_then(|()| {
            let path = self.folder.join(LOCK);
            let lock = open_lock_file(&path, 0o600)?;
            hand_to_owner_of_folder(&[&path])?;
            Ok(lock)
        });
        opened.map_err(|error| self.failed(error))
    }

    fn failed(&self, source: io::Error) -> StoreError {
        StoreError::Io {
            path: self.folder.clone(),
            source,
        }
    }

    /// Puts a backup in the place of a database that no other process uses. What was there is kept beside it; the answer is
    /// its new name, if there was anything. Of a database that is missing that may be its write-ahead log.
    ///
    /// # Errors
    /// When the backup is damaged, another process uses the database, or a file cannot be written. Until the last step the
    /// database is what it was.
    pub fn restore(backup: &Backup, database: &Path, now: Timestamp) -> Result<Option<PathBuf>, StoreError> {
        let failed = |source| StoreError::Io {
            path: database.to_owned(),
            source,
        };
        verify(&backup.path)?;
        let incoming = path_beside(database, ".restoring");
        let replaced: Result<_, StoreError> = (|| {
            copy_file(&backup.path, &incoming).map_err(failed)?;
            if FileSystem::of(folder_of(database)) == FileSystem::Network {
                open::use_rollback_journal(&incoming)?;
            }
            verify(&incoming)?;
            // Nobody else can open the old one, and leave a log beside the new one, until that is in place.
            let _held = open::hold_for_replacement(database)?;
            let kept = keep_aside(database, now).map_err(failed)?;
            fs::rename(&incoming, database)
                .and_then(|()| File::open(folder_of(database))?.sync_all())
                .map_err(failed)?;
            Ok(kept)
        })();
        if replaced.is_err() {
            // The next attempt removes what cannot be removed now.
            drop(fs::remove_file(&incoming));
        }
        let kept = replaced?;
        verify_in_place(database)?;
        Ok(kept)
    }
}

impl Store {
    /// Makes a backup if the last one is older than a day; none where another process is making one.
    ///
    /// # Errors
    /// When the copy cannot be written, or is damaged as the database is. Older backups are kept then.
    pub fn back_up_if_due(&self, backups: &Backups, now: Timestamp) -> Result<Option<Backup>, StoreError> {
        let lock = backups.lock_file()?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => return Err(backups.failed(error)),
        }
        if !backups.is_due(now)? {
            return Ok(None);
        }
        backups.make(self.connection(), now).map(Some)
    }
}

/// Copies a whole database to a name that is free, durably, and only if the copy is whole.
pub(crate) fn keep_copy(connection: &Connection, target: &Path) -> Result<(), StoreError> {
    let unfinished = folder_of(target).join(UNFINISHED);
    let named = || {
        hand_to_owner_of_folder(&[&unfinished])?;
        File::open(&unfinished)?.sync_all()?;
        fs::rename(&unfinished, target)?;
        File::open(folder_of(target))?.sync_all()
    };
    let kept = copy(connection, &unfinished)
        .and_then(|()| verify(&unfinished))
        .and_then(|()| {
            named().map_err(|source| StoreError::Io {
                path: target.to_owned(),
                source,
            })
        });
    if kept.is_err() {
        // The next copy removes what cannot be removed now.
        drop(fs::remove_file(&unfinished));
    }
    kept
}

/// Copies a whole database into a new file that only its owner can read. The copy is not synced.
fn copy(connection: &Connection, target: &Path) -> Result<(), StoreError> {
    let created = remove_if_there(target).and_then(|()| {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(0o600).open(target)
    });
    created.map_err(|source| StoreError::Io {
        path: target.to_owned(),
        source,
    })?;
    let copied = open::for_copy(target).and_then(|mut copy| {
        let copying = Copying::new(connection, &mut copy)?;
        for _ in 0..COPY_TRIES {
            // All at once: one snapshot, however many others write.
            if copying.step(-1)? == StepResult::Done {
                return Ok(());
            }
            std::thread::sleep(COPY_WAIT);
        }
        Err(rusqlite::Error::SqliteFailure(
            rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_BUSY),
            None,
        ))
    });
    copied.map_err(|error| MigrateError::from(error).at(target))
}

/// Checks that a backup is whole and that this version can read it.
fn verify(path: &Path) -> Result<(), StoreError> {
    let Some(connection) = open::open_to_look(path)? else {
        return Err(damaged(path, &["it is empty".to_owned()]));
    };
    match faults(&connection) {
        Ok((faults, _)) if faults.is_empty() => Ok(()),
        Ok((faults, _)) => Err(damaged(path, &faults)),
        Err(error) => Err(MigrateError::from(error).at(path)),
    }
}

/// Checks a restored database as every later command opens it.
fn verify_in_place(database: &Path) -> Result<(), StoreError> {
    let store = Store::open_existing(database, crate::Wait::Long)?;
    let health = store.map(|store| store.health()).transpose()?;
    match health.map(|health| health.faults) {
        Some(faults) if faults.is_empty() => Ok(()),
        Some(faults) => Err(damaged(database, &faults)),
        None => Err(damaged(database, &["it is empty".to_owned()])),
    }
}

fn damaged(path: &Path, faults: &[String]) -> StoreError {
    StoreError::Damaged {
        path: path.to_owned(),
        what: faults.join("; "),
    }
}

/// Gives a database and its log or journal a name beside it, and clears the way for another one. A log that stayed would be
/// applied to whatever takes the database's place.
fn keep_aside(database: &Path, now: Timestamp) -> io::Result<Option<PathBuf>> {
    let stem = format!(".replaced-{}", now.strftime(TIME));
    let names = std::iter::once(stem.clone()).chain((2_u32..).map(|number| format!("{stem}-{number}")));
    let mut names = names.map(|ending| path_beside(database, &ending));
    let is_free = |path: &PathBuf| {
        ["", "-wal", "-journal"]
            .iter()
            .all(|end| !path_beside(path, end).exists())
    };
    let kept = names.find(is_free).unwrap_or_default();
    let moved: Vec<&str> = ["-wal", "-journal", ""]
        .into_iter()
        .filter(|ending| fs::symlink_metadata(path_beside(database, ending)).is_ok())
        .collect();
    // With a second name for each of them first, nothing is apart at any time; where there are no links, they move.
    let has_links = moved
        .iter()
        .all(|ending| fs::hard_link(path_beside(database, ending), path_beside(&kept, ending)).is_ok());
    if has_links {
        File::open(folder_of(database))?.sync_all()?;
    }
    for ending in &moved {
        let old = path_beside(database, ending);
        if !has_links {
            fs::rename(&old, path_beside(&kept, ending))?;
        } else if !ending.is_empty() {
            fs::remove_file(&old)?;
        }
    }
    remove_if_there(&path_beside(database, "-shm"))?;
    File::open(folder_of(database))?.sync_all()?;
    Ok(moved.last().map(|ending| path_beside(&kept, ending)))
}

/// Copies a file that no SQLite connection of this process has open, durably.
fn copy_file(from: &Path, to: &Path) -> io::Result<()> {
    remove_if_there(to)?;
    let mut source = File::open(from)?;
    let mut target = OpenOptions::new().write(true).create_new(true).mode(0o600).open(to)?;
    io::copy(&mut source, &mut target)?;
    target.sync_all()?;
    hand_to_owner_of_folder(&[to])
}

/// Creates a folder and the missing ones above it so that only their owner can enter them.
fn create_private_folder(folder: &Path) -> io::Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    create_private_folder(folder_of(folder))?;
    match fs::DirBuilder::new().mode(0o700).create(folder) {
        Err(_) if folder.is_dir() => return Ok(()),
        created => created?,
    }
    hand_to_owner_of_folder(&[folder])?;
    File::open(folder_of(folder))?.sync_all()
}

pub(crate) fn remove_if_there(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        done => done,
    }
}
