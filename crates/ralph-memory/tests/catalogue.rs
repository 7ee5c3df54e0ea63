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
use ralph_store::index::Index;
use support::Files;

const ONE: &str = "## Fixes\n\n### mem-1700000000-aaaa\n> docker one\n<!-- tags:  | created: 2024-01-01 -->\n";

fn contents(catalogue: &Catalogue) -> Vec<String> {
    let newest = Newest {
        shelf: Shelf::Memories,
        kind: None,
        wanted: &Wanted::default(),
        superseded: Superseded::Shown,
    };
    let notes = catalogue.newest(&newest, usize::MAX).unwrap();
    notes.iter().map(|item| item.content().to_owned()).collect()
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
    assert_eq!(contents(&files.catalogue()), ["docker one"]);
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
    assert_eq!(contents(&files.catalogue()), ["docker two"]);
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
    assert_eq!(contents(&files.catalogue()), contents(&files.made_anew()));
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
    assert_eq!(contents(&files.catalogue()), ["docker three", "docker one"]);
}

#[test]
fn a_shelf_that_cannot_be_read_is_no_matter_of_the_others() {
    for files in [Files::new(), Files::with_index()] {
        files.write(Shelf::Memories, ONE.as_bytes());
        drop(files.catalogue());
        std::fs::create_dir(files.path(Shelf::Guardrails)).unwrap();
        for _ in 0..2 {
            let asked = Catalogue::ask(&files.place(), &[Shelf::Memories], |catalogue| Ok(contents(catalogue)));
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
    assert_eq!(contents(&catalogue), ["docker one"]);
    assert!(catalogue.degraded().is_some());
    drop(writer);
    assert!(files.catalogue().degraded().is_none(), "afterwards it is made anew");
}

/// A page that cannot be read although nobody changed the file: SQLite sees it, and the next command makes the index anew.
#[test]
fn damage_behind_an_intact_seal_is_answered_from_the_files_and_mended() {
    let files = Files::with_index();
    files.write(Shelf::Memories, ONE.as_bytes());
    drop(files.catalogue());
    let writer = Index::write(&files.index()).unwrap();
    let name = Shelf::Memories.file_name();
    let mut state = writer.source(name).unwrap().unwrap();
    state.problems = "7\n1 x".to_owned();
    writer.put_source(name, &state).unwrap();
    drop(writer.commit().unwrap());
    assert_eq!(
        files.catalogue().shelf(Shelf::Memories).unwrap().problems.total,
        7,
        "it is believed"
    );
    let asked = Catalogue::ask(&files.place(), &[Shelf::Memories], |catalogue| {
        if catalogue.degraded().is_none() {
            Index::open(&files.index()).unwrap().item(999).map(drop)?;
        }
        Ok(contents(catalogue))
    });
    assert_eq!(asked.unwrap(), ["docker one"]);
    assert!(Index::open(&files.index()).is_none(), "nobody trusts it any more");
    assert_eq!(files.catalogue().shelf(Shelf::Memories).unwrap().problems.total, 0);
}
