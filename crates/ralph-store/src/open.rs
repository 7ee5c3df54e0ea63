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

/// Written into the header of every database of ours, so that another tool's is never taken for one.
pub(crate) const APPLICATION_ID: i32 = 0x7261_6c70;
/// The same for the search index.
pub(crate) const INDEX_APPLICATION_ID: i32 = 0x7261_6c69;
/// The mode of databases.
pub(crate) const OWNER_ONLY: u32 = 0o600;
/// How long a writer waits for another one.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a reader waits that has something to note.
const BRIEF_TIMEOUT: Duration = Duration::from_millis(200);
/// How long the write-ahead log becomes at most unless another connection keeps it from being emptied.
pub(crate) const MAX_LOG_BYTES: u64 = 800 << 10;
/// How much of a database a connection keeps in memory, in KiB, as SQLite writes it: less than nothing, so that it is no number
/// of pages. A run asks for the same pages in every iteration, and they are more than SQLite would keep by itself.
const CACHE: &str = "-8192";
/// How many prepared statements a connection keeps.
const KEPT_STATEMENTS: usize = 128;

/// How long to wait for another process that writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    /// As long as it takes within reason: something has to be recorded.
    Long,
    /// A moment: without an answer it goes on.
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

/// A connection, and what guards its files.
pub(crate) type Guarded = (Connection, Guard);

/// Opens the database if there is one.
pub(crate) fn open_existing(place: PlaceRef<'_>, wait: Wait) -> Result<Option<Guarded>, StoreError> {
    match owner(place.path)? {
        Owner::Nobody => Ok(None),
        Owner::Ours => open_ours(place, wait).map(Some),
    }
}

/// Opens the database to look at it, if there is one. Neither it nor its write-ahead log is changed, whatever state they
/// are in.
pub(crate) fn open_to_look(path: &Path) -> Result<Option<Connection>, StoreError> {
    if owner(path)? == Owner::Nobody {
        return Ok(None);
    }
    let connection = if log_path(path).exists() {
        connect(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?
    } else {
        // Without a log all of it is in the file, and SQLite must be kept from making one.
        connect_to_still_file(path).map_err(|error| MigrateError::from(error).at(path))?
    };
    connection
        .busy_timeout(BRIEF_TIMEOUT)
        .and_then(|()| connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true))
        .map_err(MigrateError::from)
        .and_then(|_| check_version(&connection, MIGRATIONS))
        .map_err(|error| error.at(path))?;
    Ok(Some(connection))
}

/// Opens a file as it is, without its log and without locks: nothing of it or beside it changes. What others write
/// meanwhile may be missing or in part there.
pub(crate) fn connect_to_still_file(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
    connect_with(&uri_of_still_file(path), flags)
}

/// The name by which SQLite opens a file without expecting that anybody changes it.
fn uri_of_still_file(path: &Path) -> PathBuf {
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

/// The write-ahead log of a database.
pub(crate) fn log_path(path: &Path) -> PathBuf {
    path_beside(path, "-wal")
}

/// A file beside a database whose name is the database's and an ending.
pub(crate) fn path_beside(path: &Path, ending: &str) -> PathBuf {
    let mut beside = path.to_owned().into_os_string();
    beside.push(ending);
    beside.into()
}

/// How another tool's database is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ForeignAccess {
    /// To look at it: not a byte of it, or of what lies beside it, changes.
    Look,
    /// To take its place: nobody else can use it meanwhile.
    Hold,
}

/// Opens another tool's database. With a log beside it somebody may use it, and all of the log belongs to it: then, and to
/// take its place, the whole of it is locked. SQLite keeps the index of the log in memory then, and makes no file for it.
pub(crate) fn connect_to_foreign(path: &Path, access: ForeignAccess) -> rusqlite::Result<Connection> {
    if access == ForeignAccess::Look && !log_path(path).exists() {
        return connect_to_still_file(path);
    }
    let connection = connect_with(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    connection.busy_timeout(BRIEF_TIMEOUT)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    connection.pragma_update(None, "locking_mode", "EXCLUSIVE")?;
    Ok(connection)
}

/// Opens the database, and makes it where there is none; its folder must exist.
pub(crate) fn open_or_create(place: PlaceRef<'_>) -> Result<Guarded, StoreError> {
    if owner(place.path)? == Owner::Nobody {
        create(place.path, FileSystem::of(folder_of(place.path)))?;
    }
    open_ours(place, Wait::Long)
}

/// The journal stays as it is: it was chosen when the database was made, by the file system that it was made on.
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

/// Whether a file's header names a write-ahead log. SQLite does not say so of a file that is opened as it is.
pub(crate) fn header_names_log(path: &Path) -> rusqlite::Result<bool> {
    let mut connection = connect_to_still_file(path)?;
    // The version of the format for writing; 2 is the one with a write-ahead log.
    Ok(connection.serialize("main")?.get(18) == Some(&2))
}

/// Chooses the journal of a new database. A write-ahead log needs memory that all its users share, which users of a network
/// file system do not.
fn choose_journal(connection: &Connection, file_system: FileSystem) -> rusqlite::Result<()> {
    match file_system {
        FileSystem::Local => connection.pragma_update(None, "journal_mode", "WAL"),
        FileSystem::Network => Ok(()),
    }
}

/// Makes an empty database with its schema, whole or not at all, while nobody else does.
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
    if owner(path)? != Owner::Nobody {
        return Ok(());
    }
    create_for_owner(path).map_err(io_error)?;
    let connection = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE)?;
    // The schema is written before the write-ahead log is switched on, so that the header in the file itself says whose
    // it is from the first moment.
    connection
        .pragma_update(None, "synchronous", "FULL")
        .map_err(MigrateError::from)
        .and_then(|()| migrate(&connection, path.into(), MIGRATIONS))
        .and_then(|()| Ok(choose_journal(&connection, file_system)?))
        .map_err(|error| error.at(path))?;
    hand_to_owner_of_folder(&[path, &lock_path(path)]).map_err(io_error)?;
    File::open(folder_of(path))
        .and_then(|folder| folder.sync_all())
        .map_err(io_error)
}

/// Makes an empty file that only its owner can read, where there is none. SQLite gives the files beside a database its mode.
fn create_for_owner(path: &Path) -> io::Result<()> {
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

/// Opens an empty file to copy a database into. It is synced when it is whole, and worth nothing before.
pub(crate) fn for_copy(path: &Path) -> rusqlite::Result<Connection> {
    let connection = connect_with(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    connection.execute_batch("PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF;")?;
    Ok(connection)
}

/// Makes a database that nobody uses one with a rollback journal.
pub(crate) fn use_rollback_journal(path: &Path) -> Result<(), StoreError> {
    let connection = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    let changed = connection.pragma_update(None, "journal_mode", "DELETE");
    changed.map_err(|error| MigrateError::from(error).at(path))
}

/// Keeps everybody else away from a database that is about to be replaced. None where it is missing, or too damaged for
/// anybody to use.
pub(crate) fn hold_for_replacement(path: &Path) -> Result<Option<Connection>, StoreError> {
    if !std::fs::metadata(path).is_ok_and(|file| file.len() > 0) {
        return Ok(None);
    }
    let held = connect_to_foreign(path, ForeignAccess::Hold).and_then(|connection| {
        connection.execute_batch("BEGIN EXCLUSIVE")?;
        Ok(connection)
    });
    match held {
        Ok(connection) => Ok(Some(connection)),
        Err(error) if is_busy(&error) => Err(StoreError::Busy { path: path.to_owned() }),
        Err(_) => Ok(None),
    }
}

/// Opens an index whose seal is intact, to read it.
pub(crate) fn index_for_reading(path: &Path) -> rusqlite::Result<Connection> {
    let connection = connect_with(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    connection.busy_timeout(BRIEF_TIMEOUT)?;
    Ok(connection)
}

/// Opens an index to write it. Whose it is stands in its header from the first moment. There is no journal on disk and no
/// syncing: an index that was not written to its end is made anew.
pub(crate) fn index_for_writing(path: &Path) -> rusqlite::Result<Connection> {
    // Where it cannot be made, SQLite says why.
    drop(create_for_owner(path));
    let connection = connect_with(path, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE)?;
    connection.busy_timeout(BRIEF_TIMEOUT)?;
    connection.execute_batch("PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF;")?;
    connection.pragma_update(None, "cache_size", CACHE)?;
    let application: i32 = connection.query_row("PRAGMA application_id", [], |row| row.get(0))?;
    if application != INDEX_APPLICATION_ID {
        connection.pragma_update(None, "application_id", INDEX_APPLICATION_ID)?;
    }
    Ok(connection)
}

/// A database in memory.
pub(crate) fn in_memory() -> rusqlite::Result<Connection> {
    let connection = Connection::open_in_memory()?;
    plan_once(&connection)?;
    Ok(connection)
}

/// What root makes in another user's project belongs to that user, who could not write to it else. SQLite does the same
/// with the files beside the database.
pub(crate) fn hand_to_owner_of_folder(files: &[&Path]) -> io::Result<()> {
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
    plan_once(&connection)?;
    Ok(connection)
}

/// Keeps statements as they were prepared. SQLite would prepare some of them anew for every number that they are given, in
/// the hope of a better plan; and a run has more of them than are kept otherwise.
fn plan_once(connection: &Connection) -> rusqlite::Result<()> {
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.set_prepared_statement_cache_capacity(KEPT_STATEMENTS);
    Ok(())
}

fn prepare(connection: &Connection, wait: Wait) -> Result<(), MigrateError> {
    connection.busy_timeout(wait.time())?;
    // SQLite's own checkpoints do not empty the log; see `checkpoint`. A close that deletes the log would change its inode.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    connection.execute_batch("PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA wal_autocheckpoint = 0;")?;
    connection.pragma_update(None, "cache_size", CACHE)?;
    Ok(())
}

/// How safe a commit is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Commit {
    /// It is on disk before it is done.
    OnDisk,
    /// Every process sees it. It survives this one, but a power failure may take it back, until the next commit that is on
    /// disk takes it along.
    Seen,
}

/// Says how safe commits are from here on.
pub(crate) fn set_commit(connection: &Connection, commit: Commit) -> rusqlite::Result<()> {
    let word = match commit {
        Commit::OnDisk => "FULL",
        Commit::Seen => "NORMAL",
    };
    connection.pragma_update(None, "synchronous", word)
}

/// How a checkpoint ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Checkpointed {
    /// The log is empty, or there is none.
    Done,
    /// Another connection uses the log.
    Busy,
}

/// Writes the log into the database and empties it, unless another connection uses it right now. A passive checkpoint is not
/// enough: with the log damaged, its old frames would hide newer pages of the database.
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
        // What was committed is safe in the log; the next writer tries again.
        Err(error) if is_full(&error) => Ok(Checkpointed::Done),
        Err(error) => Err(error),
    }
}

/// An error before it is known which file it concerns.
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
    fn a_database_without_anything_in_it_is_nobodys_and_any_other_is_somebodys() {
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
    fn the_file_system_of_a_new_database_decides_on_its_journal_for_good() {
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
    fn a_database_that_is_still_in_its_log_is_somebodys() {
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
    fn a_statement_is_not_prepared_anew_for_every_number() {
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
