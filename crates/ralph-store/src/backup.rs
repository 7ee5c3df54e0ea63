//! Backups of the fact store: full copies in a folder outside the project, made with SQLite's backup API, and restoring
//! one of them. The caller decides where the folder is and when to back up.

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
use crate::open::{self, MigrateError, chown_to_folder_owner, folder_of, path_beside};
use crate::progress::{Depth, faults};
use crate::{RecordCounts, Store, StoreError};

const KEPT: usize = 7;
/// Age of the last backup at which the next one is due.
const DUE_AFTER: SignedDuration = SignedDuration::from_hours(24);
/// Number of tries, and the wait between them, for a copy that another process blocks.
const COPY_TRIES: u32 = 200;
const COPY_WAIT: Duration = Duration::from_millis(50);

/// A backup's name is its time between these two, so names sort by time.
const PREFIX: &str = "progress-";
const SUFFIX: &str = ".db";
const TIME: &str = "%Y%m%dT%H%M%SZ";
/// An incomplete backup.
const UNFINISHED: &str = "progress.db.unfinished";
const LOCK: &str = ".lock";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Backup {
    pub path: PathBuf,
    pub made_at: Timestamp,
}

impl Backup {
    #[must_use]
    pub fn name(&self) -> String {
        let name = self.path.file_name().unwrap_or_default();
        name.to_string_lossy().into_owned()
    }

    /// Counts the records in it.
    ///
    /// # Errors
    /// When it is damaged or cannot be read.
    pub fn record_counts(&self) -> Result<RecordCounts, StoreError> {
        match Store::open_read_only(&self.path)? {
            Some(store) => store.record_counts(),
            None => Err(damaged(&self.path, &["it is empty".to_owned()])),
        }
    }

    /// Checks that it is complete and that this version can read it.
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

    /// All backups, oldest first.
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

    /// The newest backup.
    ///
    /// # Errors
    /// When the folder cannot be read.
    pub fn newest(&self) -> Result<Option<Backup>, StoreError> {
        Ok(self.list()?.pop())
    }

    /// Whether there is no backup from the last day. A backup from the future comes from a wrong clock and does not
    /// count.
    fn is_due(&self, now: Timestamp) -> Result<bool, StoreError> {
        let is_recent = |backup: &Backup| backup.made_at <= now && now.duration_since(backup.made_at) < DUE_AFTER;
        Ok(!self.list()?.iter().any(is_recent))
    }

    /// Backs up a database before its schema changes. The backup is dated by the last change of the database.
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

    /// Makes and checks a backup, then removes the oldest surplus ones. The caller must hold the lock.
    fn make(&self, connection: &Connection, now: Timestamp) -> Result<Backup, StoreError> {
        let mut made_at = now;
        let path = loop {
            let path = self.folder.join(format!("{PREFIX}{}{SUFFIX}", made_at.strftime(TIME)));
            if !path.exists() {
                break path;
            }
            made_at = made_at.saturating_add(SignedDuration::from_secs(1)).unwrap_or(made_at);
        };
        durable_copy(connection, &path)?;
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

    /// The lock that keeps two processes from backing up at once; creates the folder if needed.
    fn lock_file(&self) -> Result<File, StoreError> {
        let opened = create_private_folder(&self.folder).and_then(|()| {
            let path = self.folder.join(LOCK);
            let lock = open_lock_file(&path, 0o600)?;
            chown_to_folder_owner(&[&path])?;
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

    /// Replaces a database that no other process uses by a backup. The old files are kept beside it; returns their new
    /// name, if there were any. For a missing database that may be just its write-ahead log.
    ///
    /// # Errors
    /// When the backup is damaged, another process uses the database, or a file cannot be written. The database is
    /// unchanged until the last step.
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
            open::renew_epoch(&incoming)?;
            verify(&incoming)?;
            // No other process can open the old database, and leave a log beside the new one, until the new one is in
            // place.
            let _held = open::lock_for_replacement(database)?;
            let kept = move_aside(database, now).map_err(failed)?;
            fs::rename(&incoming, database)
                .and_then(|()| File::open(folder_of(database))?.sync_all())
                .map_err(failed)?;
            Ok(kept)
        })();
        if replaced.is_err() {
            // What cannot be removed now is removed by the next attempt.
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
    /// When the copy cannot be written, or is damaged because the database is. Older backups are then kept.
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

/// Copies a database durably to an unused path, and only if the copy passes its check.
pub(crate) fn durable_copy(connection: &Connection, target: &Path) -> Result<(), StoreError> {
    let unfinished = folder_of(target).join(UNFINISHED);
    let named = || {
        chown_to_folder_owner(&[&unfinished])?;
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
        // What cannot be removed now is removed by the next copy.
        drop(fs::remove_file(&unfinished));
    }
    kept
}

/// Copies a database into a new file that only its owner can read. The copy is not synced.
fn copy(connection: &Connection, target: &Path) -> Result<(), StoreError> {
    let created = remove_if_exists(target).and_then(|()| {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(0o600).open(target)
    });
    created.map_err(|source| StoreError::Io {
        path: target.to_owned(),
        source,
    })?;
    let copied = open::open_copy_target(target).and_then(|mut copy| {
        let copying = Copying::new(connection, &mut copy)?;
        for _ in 0..COPY_TRIES {
            // All pages at once: one snapshot despite concurrent writers.
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

/// Checks that a backup is complete and that this version can read it.
fn verify(path: &Path) -> Result<(), StoreError> {
    let Some(connection) = open::open_read_only(path)? else {
        return Err(damaged(path, &["it is empty".to_owned()]));
    };
    match faults(&connection, Depth::Quick) {
        Ok(faults) if faults.is_empty() => Ok(()),
        Ok(faults) => Err(damaged(path, &faults)),
        Err(error) => Err(MigrateError::from(error).at(path)),
    }
}

/// Checks a restored database by opening it as later commands do.
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

/// Renames a database and its log or journal to make room for another one. A log left behind would be applied to the
/// new database.
fn move_aside(database: &Path, now: Timestamp) -> io::Result<Option<PathBuf>> {
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
    // All get a hard link first, so that they are never apart; without hard links they are renamed one by one.
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
    remove_if_exists(&path_beside(database, "-shm"))?;
    File::open(folder_of(database))?.sync_all()?;
    Ok(moved.last().map(|ending| path_beside(&kept, ending)))
}

/// Copies a file durably. No SQLite connection of this process may have it open.
fn copy_file(from: &Path, to: &Path) -> io::Result<()> {
    remove_if_exists(to)?;
    let mut source = File::open(from)?;
    let mut target = OpenOptions::new().write(true).create_new(true).mode(0o600).open(to)?;
    io::copy(&mut source, &mut target)?;
    target.sync_all()?;
    chown_to_folder_owner(&[to])
}

/// Creates a folder and its missing parents, accessible only by their owner.
fn create_private_folder(folder: &Path) -> io::Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    create_private_folder(folder_of(folder))?;
    match fs::DirBuilder::new().mode(0o700).create(folder) {
        Err(_) if folder.is_dir() => return Ok(()),
        created => created?,
    }
    chown_to_folder_owner(&[folder])?;
    File::open(folder_of(folder))?.sync_all()
}

/// Removes a file; a missing one is no error.
///
/// # Errors
/// When it cannot be removed.
pub fn remove_if_exists(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        done => done,
    }
}
