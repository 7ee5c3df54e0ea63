//! The index follows the files: however it came about, it answers like one that is made from them anew.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
#![expect(dead_code, reason = "not every test needs all of the support")]

mod history;
mod support;

use std::fs::{File, FileTimes};

use ralph_memory::capture::{Draft, SecretPolicy};
use ralph_memory::catalogue::{Catalogue, CatalogueError};
use ralph_memory::recall::{Newest, Superseded, Wanted};
use ralph_model::{Extra, FileStamp, NoteKind, Shelf, SplitMix64, Tags};
use ralph_store::index::{Index, IndexError};
use support::Files;

const ONE: &str = "## Fixes\n\n### mem-1700000000-aaaa\n> docker one\n<!-- tags:  | created: 2024-01-01 -->\n";

fn contents(catalogue: &Catalogue) -> Result<Vec<String>, IndexError> {
    let newest = Newest {
        shelf: Shelf::Memories,
        kind: None,
        wanted: &Wanted::default(),
        superseded: Superseded::Shown,
    };
    let notes = catalogue.newest(&newest, usize::MAX)?;
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
    files.notebook(Shelf::Memories).add(&[draft], &mut entropy).unwrap();
}

#[test]
fn a_text_of_the_same_size_is_seen_with_the_old_time_put_back() {
    let files = Files::with_index().trusting_times();
    files.write(Shelf::Memories, ONE.as_bytes());
    assert_eq!(contents(&files.catalogue()).unwrap(), ["docker one"]);
    let path = files.path(Shelf::Memories);
    let old = std::fs::metadata(&path).unwrap();
    // The clock of the file system goes in steps; the change has to be of a later one than the reading.
    while FileStamp::of(&std::fs::metadata(&path).unwrap()).ctime_ns == FileStamp::of(&old).ctime_ns {
        files.write(Shelf::Memories, ONE.replace("one", "two").as_bytes());
        let times = FileTimes::new().set_modified(old.modified().unwrap());
        File::options()
            .write(true)
            .open(&path)
            .unwrap()
            .set_times(times)
            .unwrap();
    }
    assert_eq!(std::fs::metadata(&path).unwrap().len(), old.len());
    assert_eq!(contents(&files.catalogue()).unwrap(), ["docker two"]);
}

/// Within one step of the file system's clock a file may change without its stamp: what is taken along then must not be
/// put on top of an index of the old text.
#[test]
fn a_change_of_our_own_does_not_follow_a_text_that_was_never_indexed() {
    let files = Files::with_index();
    files.write(Shelf::Memories, ONE.as_bytes());
    drop(files.catalogue());
    files.write(Shelf::Memories, ONE.replace("one", "two").as_bytes());
    let writer = Index::write(&files.index()).unwrap();
    let name = Shelf::Memories.file_name();
    let mut state = writer.source(name).unwrap().unwrap();
    state.stamp = FileStamp::of(&std::fs::metadata(files.path(Shelf::Memories)).unwrap());
    writer.put_source(name, &state).unwrap();
    drop(writer.commit().unwrap());
    add(&files, "docker three");
    assert_eq!(
        contents(&files.catalogue()).unwrap(),
        contents(&files.made_anew()).unwrap()
    );
}

#[test]
fn a_change_of_our_own_is_taken_along_and_the_index_stays() {
    let files = Files::with_index();
    files.write(Shelf::Memories, ONE.as_bytes());
    drop(files.catalogue());
    let before = Index::open(&files.index()).unwrap().source("memories.md").unwrap();
    add(&files, "docker three");
    let after = Index::open(&files.index()).unwrap().source("memories.md").unwrap();
    assert_ne!(before, after, "it was written along");
    let written = FileStamp::of(&std::fs::metadata(files.path(Shelf::Memories)).unwrap());
    assert_eq!(after.unwrap().stamp, written);
    assert_eq!(contents(&files.catalogue()).unwrap(), ["docker three", "docker one"]);
}

#[test]
fn a_shelf_that_cannot_be_read_is_no_matter_of_the_others() {
    for files in [Files::new(), Files::with_index()] {
        files.write(Shelf::Memories, ONE.as_bytes());
        drop(files.catalogue());
        std::fs::create_dir(files.path(Shelf::Guardrails)).unwrap();
        for _ in 0..2 {
            let asked = Catalogue::ask(&files.place(), &[Shelf::Memories], contents);
            assert_eq!(asked.unwrap(), ["docker one"]);
            let refused = Catalogue::ask(&files.place(), &[Shelf::Memories, Shelf::Guardrails], |_| Ok(()));
            assert!(matches!(refused, Err(CatalogueError::File(_))), "{refused:?}");
        }
    }
}

#[test]
fn an_index_that_is_locked_for_long_is_done_without() {
    let files = Files::with_index();
    files.write(Shelf::Memories, ONE.as_bytes());
    drop(files.catalogue());
    let writer = Index::write(&files.index()).unwrap();
    let catalogue = files.catalogue();
    assert_eq!(contents(&catalogue).unwrap(), ["docker one"]);
    assert!(catalogue.degraded().is_some());
    drop(writer);
    assert!(files.catalogue().degraded().is_none(), "afterwards it is made anew");
}

/// Puts a seal on the index as it is now, as if its last writer had left it so.
fn seal(files: &Files) {
    let path = files.index().with_extension("db.seal");
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
fn damage_behind_an_intact_seal_is_answered_from_the_files_and_mended() {
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
        files.write(Shelf::Memories, ONE.as_bytes());
        drop(files.catalogue());
        let mut bytes = std::fs::read(files.index()).unwrap();
        damage(&mut bytes);
        save(&files.index(), &bytes);
        seal(&files);
        // Whoever finds it may answer from memory, or not meet the damage at all; the last one has an index again.
        for _ in 0..3 {
            let asked = Catalogue::ask(&files.place(), &[Shelf::Memories], contents);
            assert_eq!(asked.unwrap(), ["docker one"], "{what}");
        }
        assert!(files.catalogue().degraded().is_none(), "{what}");
    }
}
