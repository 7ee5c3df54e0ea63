//! Read-only inspection of a database: faults are reported, and not a byte changes.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use std::fs;
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;

use jiff::civil::date;
use ralph_model::{Author, Extra, FileStamp, Note, NoteId, NoteKind, Tags};
use ralph_store::{FileRecord, NoteAction, NoteChange, NoteFile, Store, StoreError, Wait};

/// Creates a database with this many recorded changes.
fn database(path: &Path, changes: usize) {
    let note = |index: usize| Note {
        id: NoteId::parse(&format!("mem-{index}-abcd"), &NoteId::PREFIXES).unwrap(),
        kind: NoteKind::Fix,
        content: "x".repeat(1000),
        tags: Tags::default(),
        created: date(2025, 1, 20),
        extra: Extra::default(),
    };
    let changes: Vec<NoteChange> = (0..changes)
        .map(|index| NoteChange {
            action: NoteAction::Added,
            note: note(index),
            author: Author::HUMAN,
        })
        .collect();
    let file = NoteFile {
        worktree: String::new(),
        path: "memories.md".to_owned(),
    };
    let record = FileRecord {
        stamp: FileStamp {
            inode: 1,
            size: 1,
            mtime_ns: 1,
            ctime_ns: 1,
        },
        head: None,
    };
    let at = "2025-01-20T12:00:00Z".parse().unwrap();
    let mut store = Store::open_or_create(path).unwrap();
    store.record_notes(&file, &record, &changes, at).unwrap();
}

/// Every file in a folder with its bytes, except the one that holds SQLite's locks.
fn tree(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut files: Vec<(String, Vec<u8>)> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| !path.to_string_lossy().ends_with("-shm"))
        .map(|path| (path.display().to_string(), fs::read(&path).unwrap()))
        .collect();
    files.sort();
    files
}

#[test]
fn read_only_open_sees_the_log_and_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("odd ?#%name.db");
    assert!(Store::open_read_only(&path).unwrap().is_none());
    assert_eq!(tree(folder.path()), []);
    drop(Store::open_or_create(&path).unwrap());
    let reader = Store::open_existing(&path, Wait::Long).unwrap().unwrap();
    // It prevents truncation of the log.
    let snapshot = reader.snapshot().unwrap();
    reader.record_counts().unwrap();
    database(&path, 3);
    drop(snapshot);
    let before = tree(folder.path());
    let health = Store::open_read_only(&path).unwrap().unwrap().health().unwrap();
    assert_eq!((health.faults.len(), health.recorded_changes), (0, 3));
    assert!(health.up_to_date && health.write_ahead && health.log_bytes > 0);
    assert_eq!(tree(folder.path()), before);
}

#[test]
fn read_only_open_does_not_create_a_log() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("odd ?#%name.db");
    // Long enough for a checkpoint.
    database(&path, 1500);
    for ending in ["-wal", "-shm"] {
        let mut beside = path.clone().into_os_string();
        beside.push(ending);
        fs::remove_file(beside).unwrap();
    }
    let before = tree(folder.path());
    let health = Store::open_read_only(&path).unwrap().unwrap().health().unwrap();
    assert_eq!((health.recorded_changes, health.log_bytes), (1500, 0));
    assert!(health.write_ahead);
    assert_eq!(tree(folder.path()), before);
}

#[test]
fn damage_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("progress.db");
    database(&path, 1500);
    let mut file = fs::OpenOptions::new().write(true).open(&path).unwrap();
    file.seek(SeekFrom::Start(5 * 4096)).unwrap();
    file.write_all(&[0x5a; 20 * 4096]).unwrap();
    let store = Store::open_read_only(&path).unwrap().unwrap();
    match store.health() {
        Ok(health) => assert!(!health.faults.is_empty()),
        Err(error) => assert!(matches!(error, StoreError::Sql { .. }), "{error}"),
    }
}

#[test]
fn read_only_store_cannot_be_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("progress.db");
    database(&path, 1);
    let mut store = Store::open_read_only(&path).unwrap().unwrap();
    let file = NoteFile {
        worktree: String::new(),
        path: "other.md".to_owned(),
    };
    let record = store
        .note_file(&NoteFile {
            path: "memories.md".to_owned(),
            ..file.clone()
        })
        .unwrap()
        .unwrap();
    let at = "2025-01-20T12:00:00Z".parse().unwrap();
    assert!(store.record_notes(&file, &record, &[], at).is_err());
}
