//! The one place that opens a database.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, chown};
use std::path::{Path, PathBuf};
use std::time::Duration;

use ralph_process::open_lock_file;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use crate::StoreError;
use crate::error::{is_busy, is_full};
use crate::file_system::FileSystem;
use crate::guard::Guard;
use crate::migrate::{MIGRATIONS, check_version, migrate};
use crate::owner::{Owner, owner};
use crate::place::PlaceRef;

/// Written into the header of each of our databases, to tell it from another tool's.
pub(crate) const APPLICATION_ID: i32 = 0x7261_6c70;
pub(crate) const OWNER_ONLY: u32 = 0o600;
/// How long a writer waits for another writer.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a reader waits that also wants to record something.
const BRIEF_TIMEOUT: Duration = Duration::from_millis(200);
/// Maximum size of the write-ahead log, unless another connection prevents truncation.
pub(crate) const MAX_LOG_BYTES: u64 = 800 << 10;
/// Page cache of a connection, in KiB; SQLite reads a negative number as KiB instead of pages. A run asks for the same
/// pages in every iteration, more than fit into SQLite's default cache.
const CACHE: &str = "-8192";
/// Number of prepared statements that a connection caches.
const KEPT_STATEMENTS: usize = 128;

/// How long to wait for another process that is writing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    /// Up to `BUSY_TIMEOUT`: the write must not be lost.
    Long,
    /// Only briefly: the caller can go on without it.
    Brief,
}

impl Wait {
    fn time(self) -> Duration {
        match self {
            Self::Long => BUSY_TIMEOUT,
            Self::Brief => BRIEF_TIMEOUT,
        }
    }
}

/// A connection and the guard of its files.
pub(crate) type Guarded = (Connection, Guard);

/// Opens the database if it exists.
pub(crate) fn open_existing(place: PlaceRef<'_>, wait: Wait) -> Result<Option<Guarded>, StoreError> {
    match owner(place.path)? {
        Owner::Unowned => Ok(None),
        Owner::Ours => open_ours(place, wait).map(Some),
    }
}

/// Opens the database read-only, if it exists. Neither the file nor its write-ahead log changes, whatever their state.
pub(crate) fn open_read_only(path: &Path) -> Result<Option<Connection>, StoreError> {
    if owner(path)? == Owner::Unowned {
        return Ok(None);
    }
    let connection = if log_path(path).exists() {
        connect(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?
    } else {
        // Without a log the file holds everything, and SQLite must not create a log.
        connect_immutable(path).map_err(|error| MigrateError::from(error).at(path))?
    };
    connection
        .busy_timeout(BRIEF_TIMEOUT)
        .and_then(|()| connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true))
        .map_err(MigrateError::from)
        .and_then(|_| check_version(&connection, MIGRATIONS))
        .map_err(|error| error.at(path))?;
    Ok(Some(connection))
}

/// Opens a file without its log and without locks, so nothing in it or beside it changes. Concurrent writes may be
/// missing or partially visible.
pub(crate) fn connect_immutable(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
    connect_with(&immutable_uri(path), flags)
}

/// The URI with which SQLite opens a file that it may assume does not change.
fn immutable_uri(path: &Path) -> PathBuf {
    let mut uri = String::from("file:");
    for byte in path.as_os_str().as_bytes() {
        match byte {
            b'/' | b'-' | b'.' | b'_' | b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' => uri.push(char::from(*byte)),
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri.push_str("?immutable=1");
    uri.into()
}

pub(crate) fn log_path(path: &Path) -> PathBuf {
    path_beside(path, "-wal")
}

/// The path of a database with a suffix appended.
pub(crate) fn path_beside(path: &Path, ending: &str) -> PathBuf {
    let mut beside = path.to_owned().into_os_string();
    beside.push(ending);
    beside.into()
}

/// How another tool's database is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ForeignAccess {
    /// Read it; not a byte of it or of the files beside it changes.
    Read,
    /// Replace it; no other process can use it meanwhile.
    Exclusive,
}

/// Opens another tool's database. A log means that another process may be using it, and its contents belong to the
/// database; in that case, and before replacing it, the database is locked exclusively. SQLite then keeps the log's
/// index in memory and creates no file for it.
pub(crate) fn connect_to_foreign(path: &Path, access: ForeignAccess) -> rusqlite::Result<Connection> {
    if access == ForeignAccess::Read && !log_path(path).exists() {
        return connect_immutable(path);
    }
    let connection = connect_with(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    connection.busy_timeout(BRIEF_TIMEOUT)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    connection.pragma_update(None, "locking_mode", "EXCLUSIVE")?;
    Ok(connection)
}

/// Opens the database, or creates it; its folder must exist.
pub(crate) fn open_or_create(place: PlaceRef<'_>) -> Result<Guarded, StoreError> {
    if owner(place.path)? == Owner::Unowned {
        create(place.path, FileSystem::of(folder_of(place.path)))?;
    }
    open_ours(place, Wait::Long)
}

/// The journal mode stays as it is: it was chosen at creation, by the file system.
fn open_ours(place: PlaceRef<'_>, wait: Wait) -> Result<Guarded, StoreError> {
    let connection = connect(place.path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    prepare(&connection, wait)
        .and_then(|()| migrate(&connection, place, MIGRATIONS))
        .map_err(|error| error.at(place.path))?;
    let guard = Guard::of(&connection, place.path)?;
    Ok((connection, guard))
}

/// Whether a connection that has read the database writes through a write-ahead log.
pub(crate) fn has_log(connection: &Connection) -> rusqlite::Result<bool> {
    connection.query_row("PRAGMA journal_mode", [], |row| Ok(row.get_ref(0)?.as_str()? == "wal"))
}

/// Whether a file's header says WAL mode. SQLite does not report that for a file opened as immutable.
pub(crate) fn header_says_wal(path: &Path) -> rusqlite::Result<bool> {
    let mut connection = connect_immutable(path)?;
    // The write format version; 2 is WAL.
    Ok(connection.serialize("main")?.get(18) == Some(&2))
}

/// Chooses the journal mode of a new database. A write-ahead log needs shared memory, which users of a network file
/// system do not have.
fn choose_journal(connection: &Connection, file_system: FileSystem) -> rusqlite::Result<()> {
    match file_system {
        FileSystem::Local => connection.pragma_update(None, "journal_mode", "WAL"),
        FileSystem::Network => Ok(()),
    }
}

/// Creates an empty database with its schema, atomically and under a lock.
fn create(path: &Path, file_system: FileSystem) -> Result<(), StoreError> {
    let io_error = |source| StoreError::Io {
        path: path.to_owned(),
        source,
    };
    let lock_error = |source| StoreError::Io {
        path: lock_path(path),
        source,
    };
    let lock = open_lock_file(&lock_path(path), OWNER_ONLY).map_err(lock_error)?;
    lock.lock().map_err(lock_error)?;
    if owner(path)? != Owner::Unowned {
        return Ok(());
    }
    create_private(path).map_err(io_error)?;
    let connection = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE)?;
    // The schema is written before WAL mode is switched on, so that the header in the file itself identifies the owner
    // from the start.
    connection
        .pragma_update(None, "synchronous", "FULL")
        .map_err(MigrateError::from)
        .and_then(|()| migrate(&connection, path.into(), MIGRATIONS))
        .and_then(|()| Ok(choose_journal(&connection, file_system)?))
        .map_err(|error| error.at(path))?;
    chown_to_folder_owner(&[path, &lock_path(path)]).map_err(io_error)?;
    File::open(folder_of(path))
        .and_then(|folder| folder.sync_all())
        .map_err(io_error)
}

/// Creates an empty file that only its owner can read, unless it exists. SQLite gives its mode to the files beside the
/// database.
fn create_private(path: &Path) -> io::Result<()> {
    let created = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(OWNER_ONLY)
        .open(path);
    match created {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}

/// Opens an empty file to copy a database into. It is synced once it is complete, and worthless before.
pub(crate) fn open_copy_target(path: &Path) -> rusqlite::Result<Connection> {
    let connection = connect_with(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    connection.execute_batch("PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF;")?;
    Ok(connection)
}

/// Switches an unused database to a rollback journal.
pub(crate) fn use_rollback_journal(path: &Path) -> Result<(), StoreError> {
    let connection = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    let changed = connection.pragma_update(None, "journal_mode", "DELETE");
    changed.map_err(|error| MigrateError::from(error).at(path))
}

/// Gives a restored database an identity of its own, since what was derived from its successor does not fit it.
pub(crate) fn renew_epoch(path: &Path) -> Result<(), StoreError> {
    let connection = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    let renewed = connection.execute("UPDATE epoch SET value = random()", []);
    renewed.map(drop).map_err(|error| MigrateError::from(error).at(path))
}

/// Locks a database that is about to be replaced. None where it is missing, or too damaged to be used by any process.
pub(crate) fn lock_for_replacement(path: &Path) -> Result<Option<Connection>, StoreError> {
    if !std::fs::metadata(path).is_ok_and(|file| file.len() > 0) {
        return Ok(None);
    }
    let held = connect_to_foreign(path, ForeignAccess::Exclusive).and_then(|connection| {
        connection.execute_batch("BEGIN EXCLUSIVE")?;
        Ok(connection)
    });
    match held {
        Ok(connection) => Ok(Some(connection)),
        Err(error) if is_busy(&error) => Err(StoreError::Busy { path: path.to_owned() }),
        Err(_) => Ok(None),
    }
}

pub(crate) fn in_memory() -> rusqlite::Result<Connection> {
    let connection = Connection::open_in_memory()?;
    keep_query_plans(&connection)?;
    Ok(connection)
}

/// Files that root creates in another user's project are handed to that user, who could not write them otherwise.
/// SQLite does the same with the files beside the database.
///
/// # Errors
/// When a file or its folder cannot be read, or its owner cannot be changed.
pub fn chown_to_folder_owner(files: &[&Path]) -> io::Result<()> {
    for file in files {
        let owner = std::fs::metadata(folder_of(file))?;
        let made = std::fs::metadata(file)?;
        if made.uid() == 0 && owner.uid() != 0 {
            chown(file, Some(owner.uid()), Some(owner.gid()))?;
        }
    }
    Ok(())
}

pub(crate) fn folder_of(file: &Path) -> &Path {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    folder.unwrap_or(Path::new("."))
}

fn lock_path(path: &Path) -> PathBuf {
    path_beside(path, ".lock")
}

fn connect(path: &Path, flags: OpenFlags) -> Result<Connection, StoreError> {
    connect_with(path, flags).map_err(|error| MigrateError::from(error).at(path))
}

#[expect(clippy::disallowed_methods, reason = "this is the one place that opens a database")]
fn connect_with(path: &Path, flags: OpenFlags) -> rusqlite::Result<Connection> {
    let connection = Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    keep_query_plans(&connection)?;
    Ok(connection)
}

/// Keeps prepared statements. SQLite would re-prepare some of them for each bound number, hoping for a better plan; and
/// a run uses more of them than the default cache holds.
fn keep_query_plans(connection: &Connection) -> rusqlite::Result<()> {
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.set_prepared_statement_cache_capacity(KEPT_STATEMENTS);
    Ok(())
}

fn prepare(connection: &Connection, wait: Wait) -> Result<(), MigrateError> {
    connection.busy_timeout(wait.time())?;
    // SQLite's own checkpoints do not truncate the log; see `checkpoint`. Deleting the log on close would change its
    // inode.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    connection.execute_batch("PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA wal_autocheckpoint = 0;")?;
    connection.pragma_update(None, "cache_size", CACHE)?;
    Ok(())
}

/// How durable a commit is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Durability {
    /// It is on disk before it returns.
    Synced,
    /// Every process sees it, and it survives this process, but a power failure may lose it until the next synced
    /// commit.
    Unsynced,
}

pub(crate) fn set_durability(connection: &Connection, durability: Durability) -> rusqlite::Result<()> {
    let word = match durability {
        Durability::Synced => "FULL",
        Durability::Unsynced => "NORMAL",
    };
    connection.pragma_update(None, "synchronous", word)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Checkpointed {
    /// The log is empty, or there is none.
    Done,
    /// Another connection uses the log.
    Busy,
}

/// Writes the log into the database and truncates it, unless another connection is using it. A passive checkpoint is
/// not enough: if the log were damaged, its old frames would hide newer pages of the database.
pub(crate) fn checkpoint(connection: &Connection, path: &Path, wait: Wait) -> rusqlite::Result<Checkpointed> {
    if std::fs::metadata(log_path(path)).map_or(0, |log| log.len()) == 0 {
        return Ok(Checkpointed::Done);
    }
    connection.busy_timeout(Duration::ZERO)?;
    let busy = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, bool>(0));
    connection.busy_timeout(wait.time())?;
    match busy {
        Ok(false) => Ok(Checkpointed::Done),
        Ok(true) => Ok(Checkpointed::Busy),
        Err(error) if is_busy(&error) => Ok(Checkpointed::Busy),
        // Committed data is safe in the log; the next writer tries again.
        Err(error) if is_full(&error) => Ok(Checkpointed::Done),
        Err(error) => Err(error),
    }
}

/// An error before the file it concerns is known.
#[derive(Debug)]
pub(crate) enum MigrateError {
    Sql(rusqlite::Error),
    Io(io::Error),
    Older { found: i64 },
    Newer { found: i64, known: i64 },
    NoBackupFolder,
    Backup(StoreError),
}

impl From<rusqlite::Error> for MigrateError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sql(error)
    }
}

impl From<io::Error> for MigrateError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<StoreError> for MigrateError {
    fn from(error: StoreError) -> Self {
        Self::Backup(error)
    }
}

impl MigrateError {
    pub(crate) fn at(self, path: &Path) -> StoreError {
        let path = path.to_owned();
        match self {
            Self::Sql(error) => StoreError::of_sql(path, error),
            Self::Io(source) => StoreError::Io { path, source },
            Self::Older { found } => StoreError::Older { path, found },
            Self::Newer { found, known } => StoreError::Newer { path, found, known },
            Self::NoBackupFolder => StoreError::NoBackupFolder { path },
            Self::Backup(error) => error,
        }
    }
}

#[cfg(test)]
pub(crate) fn connect_for_test(path: &Path) -> Connection {
    connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE).unwrap()
}

#[cfg(test)]
mod tests {
    use rusqlite::StatementStatus;

    use super::*;
    use crate::owner::is_ours;

    #[test]
    fn only_an_empty_database_may_be_taken() {
        for (sql, is_taken) in [
            ("PRAGMA journal_mode = WAL", true),
            ("VACUUM", true),
            ("CREATE TABLE a (x); DROP TABLE a", true),
            ("PRAGMA user_version = 3", false),
            ("PRAGMA application_id = 7; VACUUM", false),
            ("CREATE TABLE a (x)", false),
        ] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("progress.db");
            connect_for_test(&path).execute_batch(sql).unwrap();
            match open_or_create((&path).into()) {
                Ok((connection, _)) => {
                    assert!(is_taken, "{sql}");
                    assert!(
                        is_ours(&path) && crate::migrate::is_up_to_date(&connection).unwrap(),
                        "{sql}"
                    );
                }
                Err(error) => assert!(
                    !is_taken && matches!(error, StoreError::Foreign { .. }),
                    "{sql}: {error}"
                ),
            }
        }
    }

    #[test]
    fn file_system_at_creation_decides_the_journal_mode() {
        let journal = |connection: &Connection| {
            connection
                .query_row("PRAGMA journal_mode", [], |row| row.get::<_, String>(0))
                .unwrap()
        };
        for (file_system, expected) in [(FileSystem::Local, "wal"), (FileSystem::Network, "delete")] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("progress.db");
            create(&path, file_system).unwrap();
            for _ in 0..2 {
                assert_eq!(journal(&open_or_create((&path).into()).unwrap().0), expected);
            }
        }
    }

    #[test]
    fn database_with_data_only_in_its_log_is_foreign() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("progress.db");
        let open = connect_for_test(&path);
        open.execute_batch("PRAGMA journal_mode = WAL; CREATE TABLE a (x)")
            .unwrap();
        assert!(matches!(
            open_or_create((&path).into()),
            Err(StoreError::Foreign { .. })
        ));
    }

    #[test]
    fn statement_is_not_reprepared_for_each_number() {
        let connection = in_memory().unwrap();
        connection
            .execute_batch(
                "CREATE TABLE entries (number INTEGER PRIMARY KEY, id TEXT);
                 CREATE TABLE texts (entry INTEGER PRIMARY KEY, content TEXT);",
            )
            .unwrap();
        let sql = "SELECT id, content FROM entries CROSS JOIN texts ON entry = number WHERE number = ?1";
        let mut statement = connection.prepare(sql).unwrap();
        for number in 0..5 {
            assert!(!statement.exists([number]).unwrap());
        }
        assert_eq!(statement.get_status(StatementStatus::RePrepare), 0);
    }
}
