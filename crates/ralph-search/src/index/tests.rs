//! The index file is either intact or not read at all.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use ralph_model::{Extra, FileStamp, Note, NoteId, NoteKind, NoteOrSign, Tags};
use tempfile::TempDir;

use super::{FileState, Index, IndexError, Update};
use crate::DocKind;

const FILE: &str = "memories.md";
const KIND: DocKind = DocKind::Memory;

fn state() -> FileState {
    FileState {
        stamp: FileStamp {
            inode: u64::MAX,
            size: 1,
            mtime_ns: -1,
            ctime_ns: 2,
        },
        digest: u128::MAX - 7,
        indexed_ns: 3,
        problems: String::new(),
    }
}

fn items(many: i64) -> impl Iterator<Item = NoteOrSign> {
    (0..many).map(|number| {
        NoteOrSign::Note(Note {
            id: NoteId::new("mem", 1_700_000_000 + number, 0),
            kind: NoteKind::Fix,
            content: format!("note {number} about docker and number{number}"),
            tags: Tags::default(),
            created: "2024-01-01".parse().unwrap(),
            extra: Extra::default(),
        })
    })
}

/// Opens or rebuilds the index and writes `many` entries.
fn fill(path: &Path, many: i64) -> Result<Index, IndexError> {
    let writer = Index::write(path)?;
    writer.put_file(KIND, FILE, &state())?;
    replace(&writer, many)?;
    writer.commit()
}

fn replace(index: &Index, many: i64) -> Result<(), IndexError> {
    let mut update = Update::of(index)?;
    update.replace_notes(KIND, items(many))?;
    update.finish()
}

fn project() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index.db");
    drop(fill(&path, 300).unwrap());
    (folder, path)
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    path.with_file_name(format!("index.db{ending}"))
}

fn put(path: &Path, bytes: &[u8]) {
    #[expect(clippy::disallowed_methods, reason = "a file of the test's own")]
    fs::write(path, bytes).unwrap();
}

fn entries(index: &Index) -> u64 {
    index.totals(&[KIND]).unwrap().docs
}

/// Checks that the index is not read, and that the next writer rebuilds it.
#[track_caller]
fn assert_rebuilt(path: &Path, what: &str) {
    assert!(Index::open(path).is_none(), "{what}: it is read");
    assert_eq!(entries(&fill(path, 5).unwrap()), 5, "{what}");
    assert_eq!(entries(&Index::open(path).unwrap()), 5, "{what}");
}

#[test]
fn written_entries_can_be_read() {
    let (_folder, path) = project();
    let index = Index::open(&path).unwrap();
    assert_eq!(entries(&index), 300);
    assert_eq!(index.file(KIND, FILE).unwrap(), Some(state()));
    assert!(index.file(KIND, "other.md").unwrap().is_none());
    assert!(!beside(&path, "-journal").exists() && !beside(&path, "-wal").exists());
}

#[test]
fn uncommitted_index_is_rebuilt() {
    let (_folder, path) = project();
    let writer = Index::write(&path).unwrap();
    replace(&writer, 7).unwrap();
    drop(writer);
    assert_rebuilt(&path, "dropped");
}

#[test]
fn changed_index_is_rebuilt() {
    type Damage = fn(&Path, &mut Vec<u8>);
    let damages: [(&str, Damage); 9] = [
        ("a byte in the middle", |_, bytes| {
            let middle = bytes.len() / 2;
            bytes[middle] ^= 0xff;
        }),
        ("zeroed pages", |_, bytes| bytes[4096..8192].fill(0)),
        ("garbage for a header", |_, bytes| bytes[..100].fill(0xa5)),
        ("junk at the end", |_, bytes| bytes.extend([7; 999])),
        ("half of it", |_, bytes| bytes.truncate(bytes.len() / 2)),
        ("part of the header", |_, bytes| bytes.truncate(50)),
        ("nothing", |_, bytes| bytes.clear()),
        ("the same bytes at another time", |_, _| {}),
        ("all of it zero", |_, bytes| bytes.fill(0)),
    ];
    for (what, damage) in damages {
        let (_folder, path) = project();
        let mut bytes = fs::read(&path).unwrap();
        damage(&path, &mut bytes);
        // A new file has another inode, so the test need not wait for a new time.
        fs::rename(&path, beside(&path, ".old")).unwrap();
        put(&path, &bytes);
        assert_rebuilt(&path, what);
    }
}

#[test]
fn mismatched_stamp_is_rejected() {
    let (_folder, path) = project();
    let stamp = fs::read_to_string(beside(&path, ".stamp")).unwrap();
    let (format, rest) = stamp.split_once(' ').unwrap();
    let older = format!("{} {rest}", format.parse::<u32>().unwrap() - 1);
    let other_boot = format!("{}x\n", stamp.trim_end());
    for (what, text) in [
        ("empty", String::new()),
        ("garbage", "\u{fffd}\0\n".to_owned()),
        ("of an older format", older),
        ("of a newer format", format!("9{stamp}")),
        ("of another boot", other_boot),
        ("cut", stamp.chars().take(9).collect()),
    ] {
        let (_folder, path) = project();
        put(&beside(&path, ".stamp"), text.as_bytes());
        assert_rebuilt(&path, what);
    }
    let (_folder, path) = project();
    fs::remove_file(beside(&path, ".stamp")).unwrap();
    assert_rebuilt(&path, "no stamp");
    let (_folder, path) = project();
    fs::remove_file(&path).unwrap();
    assert_rebuilt(&path, "no index");
}

#[test]
fn leftover_journal_is_not_replayed() {
    let (_folder, path) = project();
    for ending in ["-journal", "-wal", "-shm"] {
        put(&beside(&path, ending), b"left by a crash");
    }
    fs::remove_file(beside(&path, ".stamp")).unwrap();
    assert_rebuilt(&path, "leftovers");
}

#[test]
fn foreign_database_is_not_written() {
    let (_folder, path) = project();
    let mut foreign = fs::read(&path).unwrap();
    foreign[68..72].copy_from_slice(&[0, 0, 0, 9]);
    put(&path, &foreign);
    assert!(Index::open(&path).is_none());
    assert!(matches!(Index::write(&path), Err(IndexError::Foreign { .. })));
    assert_eq!(fs::read(&path).unwrap(), foreign);
}

#[test]
fn folder_in_its_place_stays_and_dangling_link_is_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index.db");
    fs::create_dir(&path).unwrap();
    assert!(Index::open(&path).is_none());
    assert!(matches!(Index::write(&path), Err(IndexError::Unusable { .. })));
    assert!(path.is_dir());
    fs::remove_dir(&path).unwrap();
    symlink(folder.path().join("nowhere"), &path).unwrap();
    assert_rebuilt(&path, "a link to nowhere");
    assert!(!folder.path().join("nowhere").exists());
}

#[test]
fn writer_excludes_writers_and_readers() {
    let (_folder, path) = project();
    let writer = Index::write(&path).unwrap();
    replace(&writer, 9).unwrap();
    assert!(matches!(Index::write(&path), Err(IndexError::Busy { .. })));
    assert!(Index::open(&path).is_none());
    drop(writer.commit().unwrap());
    assert_eq!(entries(&Index::open(&path).unwrap()), 9);
}

#[test]
fn reader_excludes_writers() {
    let (_folder, path) = project();
    let reader = Index::open(&path).unwrap();
    assert!(matches!(fill(&path, 3), Err(IndexError::Busy { .. })));
    assert_eq!(entries(&reader), 300);
    drop(reader);
    assert_eq!(entries(&fill(&path, 3).unwrap()), 3);
}

#[test]
fn writer_does_not_stamp_an_index_of_another_writer() {
    let (_folder, path) = project();
    let slow = Index::write(&path).unwrap();
    for ending in ["", ".lock"] {
        fs::remove_file(beside(&path, ending)).unwrap();
    }
    let quick = Index::write(&path).unwrap();
    quick.put_file(KIND, FILE, &state()).unwrap();
    drop(slow.commit().unwrap());
    assert!(Index::open(&path).is_none(), "the file at the path is unfinished");
    replace(&quick, 4).unwrap();
    drop(quick.commit().unwrap());
    assert_eq!(entries(&Index::open(&path).unwrap()), 4);
}

#[test]
fn invalidated_index_is_rebuilt() {
    let (_folder, path) = project();
    Index::invalidate(&path);
    assert_rebuilt(&path, "invalidated");
}
