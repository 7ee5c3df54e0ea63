//! The one place that opens a database.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, chown};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use crate::StoreError;
use crate::migrate::{MIGRATIONS, migrate, version};

/// What every SQLite database begins with.
const MAGIC: &[u8] = b"SQLite format 3\0";
/// How much of a file is read to tell whose it is: the header, and how the list of tables after it begins.
const HEADER_BYTES: u64 = 108;
/// Written into the header of every database of ours, so that another tool's is never taken for one.
pub(crate) const APPLICATION_ID: i32 = 0x7261_6c70;
/// The same for the search index.
pub(crate) const INDEX_APPLICATION_ID: i32 = 0x7261_6c69;
/// How long a writer waits for another one.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a reader waits that has something to note.
const BRIEF_TIMEOUT: Duration = Duration::from_millis(200);
/// How long the write-ahead log may grow before it is folded into the database. Each command is a process of its own that
/// reads the log anew, so it is kept short.
const MAX_LOG_BYTES: u64 = 800 << 10;
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

/// Whose a database file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Owner {
    Nobody,
    Ours {
        /// Whether its write-ahead log is switched on; a process that was killed while it made it may have left that out.
        write_ahead: bool,
    },
}

/// Opens the database if there is one.
pub(crate) fn open_existing(path: &Path, wait: Wait) -> Result<Option<Connection>, StoreError> {
    match owner(path)? {
        Owner::Nobody => Ok(None),
        Owner::Ours { write_ahead } => open_ours(path, wait, write_ahead).map(Some),
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
        connect(
            &uri_of_still_file(path),
            OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI,
        )?
    };
    let found = connection
        .busy_timeout(BRIEF_TIMEOUT)
        .and_then(|()| connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true))
        .and_then(|_| version(&connection));
    let known = i64::try_from(MIGRATIONS.len()).unwrap_or(i64::MAX);
    match found.map_err(MigrateError::from) {
        Ok(found) if found <= known => Ok(Some(connection)),
        Ok(found) => Err(MigrateError::Newer { found, known }.at(path)),
        Err(error) => Err(error.at(path)),
    }
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

/// Whether a database of ours is written through a write-ahead log.
pub(crate) fn has_write_ahead_log(path: &Path) -> bool {
    matches!(owner(path), Ok(Owner::Ours { write_ahead: true }))
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
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
        return connect_with(&uri_of_still_file(path), flags);
    }
    let connection = connect_with(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    connection.busy_timeout(BRIEF_TIMEOUT)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    connection.pragma_update(None, "locking_mode", "EXCLUSIVE")?;
    Ok(connection)
}

/// Whether a file is a database of ours.
pub(crate) fn is_ours(path: &Path) -> bool {
    matches!(owner(path), Ok(Owner::Ours { .. }))
}

/// Opens the database, and makes it where there is none; its folder must exist.
pub(crate) fn open_or_create(path: &Path) -> Result<Connection, StoreError> {
    let write_ahead = match owner(path)? {
        Owner::Ours { write_ahead } => write_ahead,
        Owner::Nobody => {
            create(path)?;
            true
        }
    };
    open_ours(path, Wait::Long, write_ahead)
}

fn open_ours(path: &Path, wait: Wait, write_ahead: bool) -> Result<Connection, StoreError> {
    let connection = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    // Whoever was killed while it was made may have left an empty one, once SQLite has cleared up. So here, too, the schema
    // comes before the log: else the header in the file itself would be nobody's.
    prepare(&connection, wait)
        .and_then(|()| migrate(&connection, path, MIGRATIONS))
        .and_then(|()| {
            if write_ahead {
                Ok(())
            } else {
                switch_log_on(&connection)
            }
        })
        .map_err(|error| error.at(path))?;
    Ok(connection)
}

fn switch_log_on(connection: &Connection) -> Result<(), MigrateError> {
    Ok(connection.pragma_update(None, "journal_mode", "WAL")?)
}

/// Makes an empty database with its schema, whole or not at all, while nobody else does.
fn create(path: &Path) -> Result<(), StoreError> {
    let io_error = |source| StoreError::Io {
        path: path.to_owned(),
        source,
    };
    let lock = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .open(lock_path(path))
        .map_err(io_error)?;
    lock.lock().map_err(io_error)?;
    if owner(path)? != Owner::Nobody {
        return Ok(());
    }
    let connection = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE)?;
    // The schema is written before the write-ahead log is switched on, so that the header in the file itself says whose
    // it is from the first moment.
    connection
        .pragma_update(None, "synchronous", "FULL")
        .map_err(MigrateError::from)
        .and_then(|()| migrate(&connection, path, MIGRATIONS))
        .and_then(|()| switch_log_on(&connection))
        .map_err(|error| error.at(path))?;
    hand_to_owner_of_folder(&[path, &lock_path(path)]).map_err(io_error)?;
    File::open(folder_of(path))
        .and_then(|folder| folder.sync_all())
        .map_err(io_error)
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

/// An index in memory.
pub(crate) fn index_in_memory() -> rusqlite::Result<Connection> {
    let connection = Connection::open_in_memory()?;
    plan_once(&connection)?;
    Ok(connection)
}

/// Whether a file is a database of another tool. One that is no database at all, or not there, or shorter than the header
/// of one, is nobody's.
pub(crate) fn belongs_to_another_tool(path: &Path, ours: i32) -> io::Result<bool> {
    let Some(header) = read_header(path)? else {
        return Ok(false);
    };
    let application = header.get(68..72);
    Ok(header.starts_with(MAGIC) && application.is_some_and(|application| application != ours.to_be_bytes()))
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
    connect_with(path, flags).map_err(|error| StoreError::Sql {
        path: path.to_owned(),
        reason: error.to_string(),
    })
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
    // A command that ends must not pay for folding the log in. SQLite's own way of doing it after so many pages does not
    // help: it never starts the log anew where every process is the first to open the database. See `fold_log_in`.
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

/// Folds the write-ahead log into the database and empties it, when it has become long and nobody else reads it right now.
pub(crate) fn fold_log_in(connection: &Connection, path: &Path) -> rusqlite::Result<()> {
    if std::fs::metadata(log_path(path)).is_ok_and(|log| log.len() > MAX_LOG_BYTES) {
        connection.busy_timeout(Duration::ZERO)?;
        let folded = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
        connection.busy_timeout(BUSY_TIMEOUT)?;
        return folded;
    }
    Ok(())
}

/// Reads from the file's header whose it is, without SQLite: opening another tool's database could already change it.
fn owner(path: &Path) -> Result<Owner, StoreError> {
    let io_error = |source| StoreError::Io {
        path: path.to_owned(),
        source,
    };
    let Some(header) = read_header(path).map_err(io_error)? else {
        return Ok(Owner::Nobody);
    };
    let application = header.get(68..72);
    if !header.starts_with(MAGIC) {
        Err(StoreError::NotADatabase { path: path.to_owned() })
    } else if application == Some(&APPLICATION_ID.to_be_bytes()) {
        // The version of the format for writing; 2 is the one with a write-ahead log.
        let write_ahead = header.get(18) == Some(&2);
        Ok(Owner::Ours { write_ahead })
    } else if holds_nothing(&header) && !has_unfolded_beside(path) {
        Ok(Owner::Nobody)
    } else {
        Err(StoreError::Foreign { path: path.to_owned() })
    }
}

/// Whether the beginning of a database says that nobody has put anything into it: no number of a program, no version and no
/// table. Whoever was killed while a database was made may leave one.
fn holds_nothing(header: &[u8]) -> bool {
    let is_zero = |bytes: Option<&[u8]>| bytes.is_some_and(|bytes| bytes.iter().all(|byte| *byte == 0));
    // The page after the header is the list of tables: 13 is one that is not spread over others, then comes how many it has.
    let is_one_page = header.get(100) == Some(&13);
    is_zero(header.get(60..64)) && is_zero(header.get(68..72)) && is_one_page && is_zero(header.get(103..105))
}

/// Whether something lies beside a database that belongs into it, and that may be all that it holds.
fn has_unfolded_beside(path: &Path) -> bool {
    let is_there = |ending: &str| std::fs::metadata(path_beside(path, ending)).is_ok_and(|file| file.len() > 0);
    is_there("-wal") || is_there("-journal")
}

/// The first bytes of a database; none of a file that is not there or empty.
fn read_header(path: &Path) -> io::Result<Option<Vec<u8>>> {
    // Before it is opened: whoever opens a pipe waits for somebody to write.
    let kind = match std::fs::metadata(path) {
        Ok(metadata) => metadata.file_type(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    if !kind.is_file() && !kind.is_dir() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a file"));
    }
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut header = Vec::new();
    file.take(HEADER_BYTES).read_to_end(&mut header)?;
    Ok((!header.is_empty()).then_some(header))
}

/// An error before it is known which file it concerns.
#[derive(Debug)]
pub(crate) enum MigrateError {
    Sql(rusqlite::Error),
    Io(io::Error),
    Newer { found: i64, known: i64 },
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

impl MigrateError {
    pub(crate) fn at(self, path: &Path) -> StoreError {
        let path = path.to_owned();
        match self {
            Self::Sql(error) => StoreError::Sql {
                path,
                reason: error.to_string(),
            },
            Self::Io(source) => StoreError::Io { path, source },
            Self::Newer { found, known } => StoreError::Newer { path, found, known },
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
            match open_or_create(&path) {
                Ok(connection) => {
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
    fn a_database_that_is_still_in_its_log_is_somebodys() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("progress.db");
        let open = connect_for_test(&path);
        open.execute_batch("PRAGMA journal_mode = WAL; CREATE TABLE a (x)")
            .unwrap();
        assert!(matches!(open_or_create(&path), Err(StoreError::Foreign { .. })));
    }

    #[test]
    fn a_statement_is_not_prepared_anew_for_every_number() {
        let connection = index_in_memory().unwrap();
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
