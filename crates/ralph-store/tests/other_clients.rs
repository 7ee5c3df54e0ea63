//! The database used alongside other SQLite clients in their own processes, and while its files are deleted or
//! replaced.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
#![expect(clippy::print_stderr, reason = "a client that is not installed is named")]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use ralph_model::{NewTask, SplitMix64};
use ralph_store::{Change, ForeignDatabase, LogReset, Store, StoreError, Wait};

/// The Python client: one statement in its own connection.
const PYTHON: &str = "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); \
                      c.execute('SELECT count(*) FROM tasks').fetchone(); c.close()";

/// An open database.
struct Bench {
    folder: tempfile::TempDir,
    store: Store,
    bits: SplitMix64,
}

impl Bench {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open_or_create(&folder.path().join("progress.db")).unwrap();
        let bits = SplitMix64::new(1);
        Self { folder, store, bits }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("progress.db")
    }

    fn beside(&self, ending: &str) -> PathBuf {
        self.folder.path().join(format!("progress.db{ending}"))
    }

    fn add_task(&mut self) -> Result<(), ralph_store::TaskError> {
        let at = "2025-01-20T12:00:00Z".parse().unwrap();
        self.store
            .add_task(&NewTask::titled("Parse the colours"), &mut self.bits, at)
            .map(drop)
    }
}

/// The number of tasks that a new connection sees.
fn tasks(path: &Path) -> usize {
    let store = Store::open_existing(path, Wait::Long).unwrap().unwrap();
    store.tasks(&ralph_store::TaskFilter::default()).unwrap().len()
}

/// Lets another program read and close the database; returns whether one is installed.
fn visit(path: &Path) -> bool {
    #[expect(clippy::disallowed_methods, reason = "a client that is not ours")]
    let command = |program: &str| std::process::Command::new(program);
    let python = command("python3").args(["-c", PYTHON]).arg(path).status();
    let shell = command("sqlite3").arg(path).arg("SELECT count(*) FROM tasks").output();
    let visited = [
        ("python3", python.map(|status| status.success())),
        ("sqlite3", shell.map(|output| output.status.success())),
    ]
    .map(|(program, ended)| match ended {
        Ok(well) => {
            assert!(well, "{program} failed");
            true
        }
        Err(error) => {
            eprintln!("SKIPPED: {program} as an SQLite client: {error}");
            false
        }
    });
    visited.contains(&true)
}

#[test]
fn reading_never_lets_another_client_delete_the_log() {
    let mut bench = Bench::new();
    let path = bench.path();
    let copy = bench.folder.path().join("copy.db");
    type Access = fn(&Path, &Path);
    let accesses: [(&str, Access); 9] = [
        ("nothing", |_, _| {}),
        ("exists", |path, _| assert!(Store::exists(path))),
        ("open_existing", |path, _| {
            drop(Store::open_existing(path, Wait::Long).unwrap());
        }),
        ("open_read_only", |path, _| drop(Store::open_read_only(path).unwrap())),
        ("open_for_reading", |path, _| {
            drop(Store::open_for_reading(path, Wait::Brief).unwrap());
        }),
        ("open_or_create", |path, _| drop(Store::open_or_create(path).unwrap())),
        ("health", |path, _| {
            let store = Store::open_read_only(path).unwrap().unwrap();
            assert!(store.health().unwrap().write_ahead);
        }),
        ("copy_to_try", |path, copy| {
            drop(Store::copy_to_try(path, copy).unwrap());
            Store::remove_unused(copy).unwrap();
        }),
        ("as another tool's and as an index", |path, _| {
            assert!(ForeignDatabase::open(path).is_err());
            assert!(ralph_store::belongs_to_another_tool(path, 1).unwrap());
        }),
    ];
    for (number, (name, access)) in accesses.into_iter().enumerate() {
        access(&path, &copy);
        if !visit(&path) {
            return;
        }
        bench
            .store
            .check_files()
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        bench.add_task().unwrap();
        assert_eq!(tasks(&path), number + 1, "{name}");
    }
}

#[test]
fn connections_of_threads_keep_each_others_locks() {
    let mut bench = Bench::new();
    let path = bench.path();
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    assert!(Store::exists(&path));
                    drop(Store::open_existing(&path, Wait::Long).unwrap());
                }
            });
        }
        for number in 1..=10 {
            let visited = visit(&path);
            let added = bench.add_task();
            if !visited || added.is_err() || number == 10 {
                over.store(true, Ordering::Relaxed);
            }
            added.unwrap();
        }
    });
    assert_eq!(tasks(&path), 10);
}

#[test]
fn file_changes_are_detected_at_the_next_commit() {
    type Harm = fn(&Bench);
    let cases: [(&str, Harm, &str, Change); 6] = [
        (
            "the database is deleted",
            |bench| fs::remove_file(bench.path()).unwrap(),
            "",
            Change::Deleted,
        ),
        (
            "its log is deleted",
            |bench| fs::remove_file(bench.beside("-wal")).unwrap(),
            "-wal",
            Change::Deleted,
        ),
        (
            "the log's index is deleted",
            |bench| fs::remove_file(bench.beside("-shm")).unwrap(),
            "-shm",
            Change::Deleted,
        ),
        (
            "the folder is deleted",
            |bench| fs::remove_dir_all(bench.folder.path()).unwrap(),
            "",
            Change::Deleted,
        ),
        (
            "another database has its name",
            |bench| {
                let other = bench.beside("-other");
                drop(Store::open_or_create(&other).unwrap());
                fs::rename(other, bench.path()).unwrap();
            },
            "",
            Change::Replaced,
        ),
        (
            "another file has the log's name",
            |bench| {
                fs::remove_file(bench.beside("-wal")).unwrap();
                fs::File::create(bench.beside("-wal")).unwrap();
                // Otherwise the new file might get the inode of the old one.
                fs::File::create(bench.beside("-wal2")).unwrap();
                fs::rename(bench.beside("-wal2"), bench.beside("-wal")).unwrap();
            },
            "-wal",
            Change::Replaced,
        ),
    ];
    for (name, harm, ending, expected) in cases {
        let mut bench = Bench::new();
        bench.add_task().unwrap();
        harm(&bench);
        let error = bench.add_task().unwrap_err();
        let ralph_store::TaskError::Store(StoreError::Replaced { file, change, .. }) = &error else {
            panic!("{name}: {error}");
        };
        let file = file.file_name().unwrap().to_str().unwrap();
        assert_eq!(
            (file, *change),
            (format!("progress.db{ending}").as_str(), expected),
            "{name}"
        );
        assert!(bench.store.check_files().is_err(), "{name}");
    }
}

#[test]
fn normal_use_by_other_clients_is_not_a_file_change() {
    let mut bench = Bench::new();
    bench.add_task().unwrap();
    let other = Store::open_existing(&bench.path(), Wait::Long).unwrap().unwrap();
    assert_eq!(other.reset_log().unwrap(), LogReset::Done);
    assert_eq!(fs::metadata(bench.beside("-wal")).unwrap().len(), 0);
    drop(other);
    visit(&bench.path());
    bench.add_task().unwrap();
    assert_eq!(tasks(&bench.path()), 2);
}

#[test]
fn reader_prevents_log_reset_without_an_error() {
    let mut bench = Bench::new();
    bench.add_task().unwrap();
    let reader = Store::open_existing(&bench.path(), Wait::Long).unwrap().unwrap();
    let snapshot = reader.snapshot().unwrap();
    assert_eq!(tasks(&bench.path()), 1);
    reader.tasks(&ralph_store::TaskFilter::default()).unwrap();
    bench.add_task().unwrap();
    assert_eq!(bench.store.reset_log().unwrap(), LogReset::InUse);
    assert!(fs::metadata(bench.beside("-wal")).unwrap().len() > 0);
    drop(snapshot);
    assert_eq!(bench.store.reset_log().unwrap(), LogReset::Done);
}

#[test]
fn database_locked_by_another_process_is_busy() {
    let bench = Bench::new();
    let holder = Store::open_existing(&bench.path(), Wait::Long).unwrap().unwrap();
    let mut brief = Store::open_existing(&bench.path(), Wait::Brief).unwrap().unwrap();
    let at = "2025-01-20T12:00:00Z".parse().unwrap();
    let mut bits = SplitMix64::new(2);
    #[expect(clippy::disallowed_methods, reason = "a client that keeps a lock")]
    let locker = rusqlite::Connection::open(bench.path()).unwrap();
    locker.execute_batch("BEGIN IMMEDIATE").unwrap();
    let refused = brief
        .add_task(&NewTask::titled("Parse the colours"), &mut bits, at)
        .unwrap_err();
    assert!(
        matches!(refused, ralph_store::TaskError::Store(StoreError::Busy { .. })),
        "{refused}"
    );
    drop(holder);
}
