//! The index follows the files: after any history it answers like a freshly built one.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
#![expect(dead_code, reason = "not every test needs all of the support")]

mod history;
mod support;

use std::fs::{File, FileTimes};

use ralph_memory::capture::{Draft, SecretPolicy};
use ralph_memory::recall::{Newest, NoteFilter, Superseded, newest_notes};
use ralph_model::{Extra, FileStamp, NoteFileKind, NoteKind, SplitMix64, Tags};
use ralph_search::{Index, IndexError, SearchIndex, SourceError, Sources};
use support::Files;

const ONE: &str = "## Fixes\n\n### mem-1700000000-aaaa\n> docker one\n<!-- tags:  | created: 2024-01-01 -->\n";

fn contents(search_index: &SearchIndex) -> Result<Vec<String>, IndexError> {
    let newest = Newest {
        file_kind: NoteFileKind::Memories,
        kind: None,
        wanted: &NoteFilter::default(),
        superseded: Superseded::Shown,
    };
    let notes = newest_notes(search_index, &newest, usize::MAX)?;
    Ok(notes.iter().map(|item| item.content().to_owned()).collect())
}

fn add(files: &Files, text: &str) {
    let draft = Draft {
        kind: NoteKind::Fix,
        content: text.to_owned(),
        tags: Tags::default(),
        extra: Extra::default(),
        secrets: SecretPolicy::Allow,
        at: None,
    };
    let mut entropy = SplitMix64::new(7);
    files
        .note_repository(NoteFileKind::Memories)
        .add(&[draft], &mut entropy)
        .unwrap();
}

#[test]
fn same_size_change_with_old_mtime_is_noticed() {
    let files = Files::with_index().trusting_times();
    files.write(NoteFileKind::Memories, ONE.as_bytes());
    assert_eq!(contents(&files.search_index()).unwrap(), ["docker one"]);
    let path = files.path(NoteFileKind::Memories);
    let old = std::fs::metadata(&path).unwrap();
    // The file system's clock is coarse; the change must be in a later tick than the read.
    while FileStamp::of(&std::fs::metadata(&path).unwrap()).ctime_ns == FileStamp::of(&old).ctime_ns {
        files.write(NoteFileKind::Memories, ONE.replace("one", "two").as_bytes());
        let times = FileTimes::new().set_modified(old.modified().unwrap());
        File::options()
            .write(true)
            .open(&path)
            .unwrap()
            .set_times(times)
            .unwrap();
    }
    assert_eq!(std::fs::metadata(&path).unwrap().len(), old.len());
    assert_eq!(contents(&files.search_index()).unwrap(), ["docker two"]);
}

/// Within one tick of the file system's clock, a file may change without a new stamp: our own change must not be
/// applied to an index of the old text.
#[test]
fn own_change_does_not_apply_to_unindexed_text() {
    let files = Files::with_index();
    files.write(NoteFileKind::Memories, ONE.as_bytes());
    drop(files.search_index());
    files.write(NoteFileKind::Memories, ONE.replace("one", "two").as_bytes());
    // The file has the stamp that the index knows, as if it had changed within one tick.
    let stamp = FileStamp::of(&std::fs::metadata(files.path(NoteFileKind::Memories)).unwrap());
    let index = sqlite(&files);
    index
        .execute(
            "UPDATE files SET inode = ?1, size = ?2, mtime_ns = ?3, ctime_ns = ?4",
            (
                stamp.inode.cast_signed(),
                stamp.size.cast_signed(),
                stamp.mtime_ns,
                stamp.ctime_ns,
            ),
        )
        .unwrap();
    drop(index);
    write_stamp(&files);
    add(&files, "docker three");
    assert_eq!(
        contents(&files.search_index()).unwrap(),
        contents(&files.new_index()).unwrap()
    );
}

#[test]
fn own_change_updates_the_existing_index() {
    let files = Files::with_index();
    files.write(NoteFileKind::Memories, ONE.as_bytes());
    drop(files.search_index());
    add(&files, "docker three");
    let written = FileStamp::of(&std::fs::metadata(files.path(NoteFileKind::Memories)).unwrap());
    let indexed: i64 = sqlite(&files)
        .query_row("SELECT ctime_ns FROM files WHERE name = 'memories.md'", [], |row| {
            row.get(0)
        })
        .unwrap();
    assert_eq!(indexed, written.ctime_ns, "it was written along");
    assert_eq!(contents(&files.search_index()).unwrap(), ["docker three", "docker one"]);
}

#[test]
fn unreadable_file_does_not_affect_others() {
    for files in [Files::new(), Files::with_index()] {
        files.write(NoteFileKind::Memories, ONE.as_bytes());
        drop(files.search_index());
        std::fs::create_dir(files.path(NoteFileKind::Guardrails)).unwrap();
        for _ in 0..2 {
            let asked = SearchIndex::ask(&files.place(), (&[NoteFileKind::Memories], Sources::NOTES), contents);
            assert_eq!(asked.unwrap(), ["docker one"]);
            let refused = SearchIndex::ask(
                &files.place(),
                (&[NoteFileKind::Memories, NoteFileKind::Guardrails], Sources::NOTES),
                |_| Ok(()),
            );
            assert!(matches!(refused, Err(SourceError::File(_))), "{refused:?}");
        }
    }
}

#[test]
fn locked_index_is_bypassed() {
    let files = Files::with_index();
    files.write(NoteFileKind::Memories, ONE.as_bytes());
    drop(files.search_index());
    let writer = Index::write(&files.index()).unwrap();
    let search_index = files.search_index();
    assert_eq!(contents(&search_index).unwrap(), ["docker one"]);
    assert!(search_index.degraded().is_some());
    drop(writer);
    assert!(files.search_index().degraded().is_none(), "it is rebuilt afterwards");
}

#[expect(clippy::disallowed_methods, reason = "the test changes what our code would not")]
fn sqlite(files: &Files) -> rusqlite::Connection {
    rusqlite::Connection::open(files.index()).unwrap()
}

/// Writes a valid stamp for the index as it is now, as if its last writer had left it so.
fn write_stamp(files: &Files) {
    let path = files.index().with_extension("db.stamp");
    let old = std::fs::read_to_string(&path).unwrap();
    let words: Vec<&str> = old.split_whitespace().collect();
    let (format, boot) = (words[0], words[5]);
    let stamp = FileStamp::of(&std::fs::metadata(files.index()).unwrap());
    let FileStamp {
        inode,
        size,
        mtime_ns,
        ctime_ns,
    } = stamp;
    save(
        &path,
        format!("{format} {inode} {size} {mtime_ns} {ctime_ns} {boot}\n").as_bytes(),
    );
}

fn save(path: &std::path::Path, bytes: &[u8]) {
    #[expect(clippy::disallowed_methods, reason = "a file of the test's own")]
    std::fs::write(path, bytes).unwrap();
}

#[test]
fn damage_with_a_valid_stamp_is_repaired() {
    type Damage = fn(&mut Vec<u8>);
    let damages: [(&str, Damage); 4] = [
        ("pages are empty", |bytes| bytes[4096..].fill(0)),
        ("it is no database", |bytes| bytes[..100].fill(0xa5)),
        ("it ends early", |bytes| bytes.truncate(8192)),
        ("its last page is empty", |bytes| {
            let last = bytes.len() - 4096;
            bytes[last..].fill(0);
        }),
    ];
    for (what, damage) in damages {
        let files = Files::with_index();
        files.write(NoteFileKind::Memories, ONE.as_bytes());
        drop(files.search_index());
        let mut bytes = std::fs::read(files.index()).unwrap();
        damage(&mut bytes);
        save(&files.index(), &bytes);
        write_stamp(&files);
        // The first reader may answer from memory or miss the damage; in the end there is an index again.
        for _ in 0..3 {
            let asked = SearchIndex::ask(&files.place(), (&[NoteFileKind::Memories], Sources::NOTES), contents);
            assert_eq!(asked.unwrap(), ["docker one"], "{what}");
        }
        assert!(files.search_index().degraded().is_none(), "{what}");
    }
}
