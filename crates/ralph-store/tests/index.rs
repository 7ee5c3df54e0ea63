//! The index as a file: whatever is done to it, it is either what its last writer left or not read at all.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use ralph_model::{Extra, FileStamp, Note, NoteId, NoteKind, NoteOrSign, Tags};
use ralph_store::index::{Index, IndexError, SourceState};
use tempfile::TempDir;

const FILE: &str = "memories.md";

fn state() -> SourceState {
    SourceState {
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

/// Makes the index anew or goes on with it, and gives it so many entries.
fn fill(path: &Path, many: i64) -> Result<Index, IndexError> {
    let writer = Index::write(path)?;
    writer.put_source(FILE, &state())?;
    writer.replace_entries(FILE, items(many))?;
    writer.commit()
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

fn entries(index: &Index) -> usize {
    index.entries_in(FILE).unwrap()
}

/// After whatever was done to it, it is not read, and the next writer makes it anew.
#[track_caller]
fn assert_made_anew(path: &Path, what: &str) {
    assert!(Index::open(path).is_none(), "{what}: it is read");
    assert_eq!(entries(&fill(path, 5).unwrap()), 5, "{what}");
    assert_eq!(entries(&Index::open(path).unwrap()), 5, "{what}");
}

#[test]
fn what_was_written_is_read_again() {
    let (_folder, path) = project();
    let index = Index::open(&path).unwrap();
    assert_eq!(entries(&index), 300);
    assert_eq!(index.source(FILE).unwrap(), Some(state()));
    assert!(index.source("other.md").unwrap().is_none());
    assert!(!beside(&path, "-journal").exists() && !beside(&path, "-wal").exists());
}

#[test]
fn what_is_not_committed_is_not_there_and_the_index_is_made_anew() {
    let (_folder, path) = project();
    let writer = Index::write(&path).unwrap();
    writer.replace_entries(FILE, items(7)).unwrap();
    drop(writer);
    assert_made_anew(&path, "dropped");
}

#[test]
fn an_index_that_was_changed_by_anybody_is_made_anew() {
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
        ("a part of the header", |_, bytes| bytes.truncate(50)),
        ("nothing", |_, bytes| bytes.clear()),
        ("the same bytes at another time", |_, _| {}),
        ("all of it zero", |_, bytes| bytes.fill(0)),
    ];
    for (what, damage) in damages {
        let (_folder, path) = project();
        let mut bytes = fs::read(&path).unwrap();
        damage(&path, &mut bytes);
        // A new file has another inode, so no times have to pass.
        fs::rename(&path, beside(&path, ".old")).unwrap();
        put(&path, &bytes);
        assert_made_anew(&path, what);
    }
}

#[test]
fn a_seal_that_does_not_fit_is_no_seal() {
    let (_folder, path) = project();
    let seal = fs::read_to_string(beside(&path, ".seal")).unwrap();
    let (format, rest) = seal.split_once(' ').unwrap();
    let older = format!("{} {rest}", format.parse::<u32>().unwrap() - 1);
    let other_boot = format!("{}x\n", seal.trim_end());
    for (what, text) in [
        ("empty", String::new()),
        ("garbage", "\u{fffd}\0\n".to_owned()),
        ("of an older format", older),
        ("of a newer format", format!("9{seal}")),
        ("of another start of the machine", other_boot),
        ("cut", seal.chars().take(9).collect()),
    ] {
        let (_folder, path) = project();
        put(&beside(&path, ".seal"), text.as_bytes());
        assert_made_anew(&path, what);
    }
    let (_folder, path) = project();
    fs::remove_file(beside(&path, ".seal")).unwrap();
    assert_made_anew(&path, "no seal");
    let (_folder, path) = project();
    fs::remove_file(&path).unwrap();
    assert_made_anew(&path, "no index");
}

#[test]
fn leftovers_of_a_journal_are_not_played_back_into_a_new_index() {
    let (_folder, path) = project();
    for ending in ["-journal", "-wal", "-shm"] {
        put(&beside(&path, ending), b"left by a crash");
    }
    fs::remove_file(beside(&path, ".seal")).unwrap();
    assert_made_anew(&path, "leftovers");
}

#[test]
fn a_database_of_another_tool_is_left_alone() {
    let (_folder, path) = project();
    let mut foreign = fs::read(&path).unwrap();
    foreign[68..72].copy_from_slice(&[0, 0, 0, 9]);
    put(&path, &foreign);
    assert!(Index::open(&path).is_none());
    assert!(matches!(Index::write(&path), Err(IndexError::Foreign { .. })));
    assert_eq!(fs::read(&path).unwrap(), foreign);
}

#[test]
fn a_folder_in_its_place_stays_and_a_link_that_leads_nowhere_goes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index.db");
    fs::create_dir(&path).unwrap();
    assert!(Index::open(&path).is_none());
    assert!(matches!(Index::write(&path), Err(IndexError::Unusable { .. })));
    assert!(path.is_dir());
    fs::remove_dir(&path).unwrap();
    symlink(folder.path().join("nowhere"), &path).unwrap();
    assert_made_anew(&path, "a link to nowhere");
    assert!(!folder.path().join("nowhere").exists());
}

#[test]
fn while_one_writes_nobody_else_does_and_nobody_reads_half_of_it() {
    let (_folder, path) = project();
    let writer = Index::write(&path).unwrap();
    writer.replace_entries(FILE, items(9)).unwrap();
    assert!(matches!(Index::write(&path), Err(IndexError::Busy { .. })));
    assert!(Index::open(&path).is_none());
    drop(writer.commit().unwrap());
    assert_eq!(entries(&Index::open(&path).unwrap()), 9);
}

#[test]
fn while_one_reads_nobody_writes_and_it_stays_as_it_is() {
    let (_folder, path) = project();
    let reader = Index::open(&path).unwrap();
    assert!(matches!(fill(&path, 3), Err(IndexError::Busy { .. })));
    assert_eq!(entries(&reader), 300);
    drop(reader);
    assert_eq!(entries(&fill(&path, 3).unwrap()), 3);
}

#[test]
fn whoever_lost_the_index_to_somebody_who_removed_it_does_not_seal_another_ones() {
    let (_folder, path) = project();
    let slow = Index::write(&path).unwrap();
    for ending in ["", ".lock"] {
        fs::remove_file(beside(&path, ending)).unwrap();
    }
    let quick = Index::write(&path).unwrap();
    quick.put_source(FILE, &state()).unwrap();
    drop(slow.commit().unwrap());
    assert!(Index::open(&path).is_none(), "what stands there is not finished");
    quick.replace_entries(FILE, items(4)).unwrap();
    drop(quick.commit().unwrap());
    assert_eq!(entries(&Index::open(&path).unwrap()), 4);
}

#[test]
fn distrust_lets_the_next_writer_make_it_anew() {
    let (_folder, path) = project();
    Index::distrust(&path);
    assert_made_anew(&path, "distrusted");
}
